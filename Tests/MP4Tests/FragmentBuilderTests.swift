import Media
import Testing

@testable import MP4

struct FragmentBuilderTests {
    private func sample(
        _ size: UInt32 = 10, duration: UInt32 = 100, offset: Int32 = 0, isSync: Bool = false
    ) -> FragmentSample {
        FragmentSample(
            sizeBytes: size, duration: duration, compositionOffset: offset, isSync: isSync)
    }

    /// The `trun` boxes of a head, as their fields.
    private func runs(_ head: [UInt8]) throws -> [[String: BoxValue]] {
        let tree = try BoxTree(of: MemorySource(head))
        let trafs = tree.boxes[0].children.filter { $0.type == "traf" }
        return trafs.flatMap(\.children).filter { $0.type == "trun" }.map { trun in
            Dictionary(uniqueKeysWithValues: trun.fields.map { ($0.name, $0.value) })
        }
    }

    @Test
    func `equal samples need four bytes each`() throws {
        var builder = FragmentBuilder()
        builder.beginRun(track: .video, firstDTS: 0)
        builder.append(sample(isSync: true))
        for _ in 0..<99 { builder.append(sample()) }
        let head = try builder.finish(sequenceNumber: 7)
        // moof, mfhd, traf, tfhd, tfdt, trun with offset and first flags, 100 sizes, mdat's header.
        #expect(head.count == 8 + 16 + 8 + 20 + 20 + 24 + 400 + 8)
        let run = try #require(try runs(head).first)
        #expect(run["first_sample_flags"] == .unsigned(0x0200_0000))
        #expect(run["data_offset"] == .integer(Int64(head.count)))
        #expect(builder.isEmpty)
        #expect(builder.mediaSizeBytes == 0)
    }

    @Test
    func `only a negative composition offset needs version 1`() throws {
        for (offset, version) in [(Int32(5), UInt64(0)), (-5, 1)] {
            var builder = FragmentBuilder()
            builder.beginRun(track: .video, firstDTS: 0)
            builder.append(sample(offset: offset, isSync: true))
            let run = try #require(try runs(try builder.finish(sequenceNumber: 1)).first)
            #expect(run["version"] == .unsigned(version))
            #expect(
                run["entries"]
                    == .table(
                        count: 1, columns: ["sample_size", "sample_composition_time_offset"],
                        first: [[10, Int64(offset)]]))
        }
    }

    @Test
    func `a keyframe in the middle of a run has its own flags`() throws {
        var builder = FragmentBuilder()
        builder.beginRun(track: .video, firstDTS: 0)
        builder.append(sample())
        builder.append(sample(isSync: true))
        let run = try #require(try runs(try builder.finish(sequenceNumber: 1)).first)
        #expect(
            run["entries"]
                == .table(
                    count: 2, columns: ["sample_size", "sample_flags"],
                    first: [[10, 0x0101_0000], [10, 0x0200_0000]]))
    }

    @Test
    func `each run's data offset follows the order of writing`() throws {
        var builder = FragmentBuilder()
        for (track, size) in [
            (TrackKind.audio, UInt32(3)), (.video, 50), (.audio, 4), (.video, 60),
        ] {
            builder.beginRun(track: track, firstDTS: size > 10 ? Int64(size) : Int64(size) * 100)
            builder.append(sample(size, duration: 10, isSync: true))
        }
        #expect(builder.mediaSizeBytes == 117)
        let head = try builder.finish(sequenceNumber: 1)
        let places = try runs(head).map { $0["data_offset"] }
        let start = Int64(head.count)
        // Video first, as traf boxes are ordered by track.
        #expect(
            places == [
                .integer(start + 3), .integer(start + 57), .integer(start), .integer(start + 53),
            ])
        #expect(head.suffix(8) == [0, 0, 0, 125, 0x6D, 0x64, 0x61, 0x74])
    }

    @Test
    func `a run lasts until the next run of its track begins`() throws {
        var builder = FragmentBuilder()
        builder.beginRun(track: .video, firstDTS: 1_000)
        builder.append(sample())
        builder.append(sample())
        builder.beginRun(track: .video, firstDTS: 1_350)
        builder.append(sample())
        let found = try runs(try builder.finish(sequenceNumber: 1))
        #expect(
            found[0]["entries"]
                == .table(
                    count: 2, columns: ["sample_duration", "sample_size"],
                    first: [[100, 10], [250, 10]]))
    }

    @Test
    func `times that go back, stand still or are negative are refused`() throws {
        var builder = FragmentBuilder()
        builder.beginRun(track: .video, firstDTS: 1_000)
        builder.append(sample())
        builder.append(sample())
        builder.beginRun(track: .video, firstDTS: 1_100)
        builder.append(sample())
        #expect(throws: MP4Error.decodingTime(track: .video, previous: 1_100, next: 1_100)) {
            try builder.finish(sequenceNumber: 1)
        }
        #expect(builder.isEmpty)

        builder.beginRun(track: .audio, firstDTS: 0)
        builder.append(sample(duration: 0))
        #expect(throws: MP4Error.zeroDuration(track: .audio)) {
            try builder.finish(sequenceNumber: 1)
        }

        builder.beginRun(track: .audio, firstDTS: -1)
        builder.append(sample())
        #expect(throws: MP4Error.negativeDecodingTime(track: .audio, value: -1)) {
            try builder.finish(sequenceNumber: 1)
        }
    }

    @Test
    func `media beyond the range of the data offset are refused`() throws {
        var builder = FragmentBuilder()
        builder.beginRun(track: .video, firstDTS: 0)
        builder.append(sample(UInt32(Int32.max)))
        #expect(throws: MP4Error.fragmentTooLarge(sizeBytes: Int(Int32.max))) {
            try builder.finish(sequenceNumber: 1)
        }
    }
}
