import Testing

@testable import MP4

/// Foreign tables that our writer does not produce.
struct SampleTableTests {
    private func table(
        fileSizeBytes: Int64 = 1_000, _ write: (inout BoxWriter) -> Void
    ) throws -> SampleTable {
        var writer = BoxWriter()
        writer.box("stbl", write)
        let stbl = try BoxView(writer.bytes, at: 0)
        return try SampleTable(
            parsing: stbl.children(), of: stbl, fileSizeBytes: fileSizeBytes)
    }

    private func words(
        _ type: FourCC, version: UInt8 = 0, _ values: [UInt32], to writer: inout BoxWriter
    ) {
        writer.fullBox(type, version: version) { for value in values { $0.u32(value) } }
    }

    @Test
    func `compact sizes of 4, 8 and 16 bits are understood`() throws {
        for (bits, raw) in [(4, [0x12, 0x30]), (8, [1, 2, 3]), (16, [0, 1, 0, 2, 0, 3])] {
            let samples = try table { writer in
                writer.fullBox("stz2") { writer in
                    writer.u32(UInt32(bits))
                    writer.u32(3)
                    writer.raw(raw.map { UInt8($0) })
                }
                words("stts", [1, 3, 10], to: &writer)
                words("stsc", [1, 1, 3, 1], to: &writer)
                words("stco", [1, 100], to: &writer)
            }
            #expect(samples.sizesBytes == [1, 2, 3])
            #expect(samples.offsets == [100, 101, 103])
        }
    }

    @Test
    func `chunks of different lengths and negative offsets find their samples`() throws {
        let samples = try table { writer in
            words("stsz", [10, 5], to: &writer)
            words("stts", [2, 1, 7, 4, 9], to: &writer)
            words("ctts", version: 1, [2, 4, 0, 1, UInt32(bitPattern: -3)], to: &writer)
            words("stsc", [2, 1, 1, 1, 3, 3, 1], to: &writer)
            writer.fullBox("co64") { writer in
                writer.u32(3)
                for place: UInt64 in [500, 200, 300] { writer.u64(place) }
            }
            words("stss", [2, 1, 4], to: &writer)
        }
        #expect(samples.offsets == [500, 200, 300, 310, 320])
        #expect(samples.chunkStarts == [0, 1, 2, 5])
        #expect(samples.dts == [0, 7, 16, 25, 34])
        #expect(samples.pts(4) == 31)
        #expect(samples.syncSamples == [0, 3])
    }

    @Test
    func `tables that contradict each other are refused`() throws {
        let good: [(FourCC, [UInt32])] = [
            ("stsz", [10, 3]), ("stts", [1, 3, 1]), ("stsc", [1, 1, 3, 1]), ("stco", [1, 100]),
            ("ctts", [1, 3, 0]), ("stss", [1, 1]),
        ]
        let bad: [(FourCC, [UInt32])] = [
            ("stsz", [10, 4]), ("stsz", [0xFFFF_FFFF, 3]), ("stsz", [0, 3, 1]),
            ("stts", [1, 2, 1]), ("stts", [1, 4, 1]), ("stts", [2, 3, 1]),
            ("stsc", [1, 1, 2, 1]), ("stsc", [1, 2, 3, 1]), ("stsc", [1, 1, 0, 1]), ("stsc", [0]),
            ("stco", [1, 1_001]), ("stco", [1, 971]), ("stco", [2, 1, 1]), ("stco", [0]),
            ("ctts", [1, 2, 0]), ("ctts", [1, 4, 0]), ("stss", [1, 0]), ("stss", [2, 2, 2]),
            ("stss", [1, 4]),
        ]
        func samples(replacing type: FourCC?, by values: [UInt32]) throws -> SampleTable {
            try table { writer in
                for (name, usual) in good {
                    words(name, name == type ? values : usual, to: &writer)
                }
            }
        }
        #expect(try samples(replacing: nil, by: []).count == 3)
        for (type, values) in bad {
            #expect(throws: MP4Error.self, "\(type) \(values)") {
                try samples(replacing: type, by: values)
            }
        }
        for (missing, _) in good.prefix(4) {
            #expect(throws: MP4Error.self, "no \(missing)") {
                try table { writer in
                    for (name, values) in good where name != missing {
                        words(name, values, to: &writer)
                    }
                }
            }
        }
    }
}
