/// A track's samples in decoding order, from `stbl` (ISO/IEC 14496-12 §8.5.1): one array per property.
package struct SampleTable: Sendable {
    /// Maximum number of samples of a track: 38 hours of 60 pictures per second.
    package static let maximumSamples: UInt64 = 1 << 23

    /// File offset of each sample.
    package private(set) var offsets: [Int64] = []
    package private(set) var sizesBytes: [UInt32] = []
    /// Decoding times, ticks from the track's start.
    package private(set) var dts: [Int64] = []
    /// Presentation time minus decoding time; empty without a `ctts`.
    package private(set) var compositionOffsets: [Int32] = []
    package private(set) var durations: [UInt32] = []
    /// Samples at which decoding can start; nil: all.
    package private(set) var syncSamples: [Int]?
    /// First sample of each chunk, and the total number of samples.
    package private(set) var chunkStarts: [Int] = []

    package var count: Int { sizesBytes.count }

    /// Presentation time, ticks of the track's media timeline (edits not applied).
    package func pts(_ index: Int) -> Int64 {
        compositionOffsets.isEmpty
            ? dts[index] : dts[index] + Int64(compositionOffsets[index])
    }

    /// Parses the children of `stbl`; samples must end before `fileSizeBytes`.
    init(
        parsing tables: [BoxView], of stbl: BoxView, fileSizeBytes: Int64
    ) throws(MP4Error) {
        let sizes = try Self.parseSizes(tables, of: stbl, fileSizeBytes: fileSizeBytes)
        let times = try tables.required("stts", in: stbl)
        try parseTimes(times, count: sizes.count)
        sizesBytes = sizes
        if let ctts = tables.first("ctts") { try parseCompositionOffsets(ctts) }
        if let stss = tables.first("stss") { try parseSyncSamples(stss) }
        guard let chunks = tables.first("stco") ?? tables.first("co64") else {
            throw .missing("stco", in: stbl.type, offset: stbl.offset)
        }
        try parseChunks(
            chunks, try tables.required("stsc", in: stbl), fileSizeBytes: fileSizeBytes)
    }

    /// `stsz` (§8.7.3.2) or `stz2` (§8.7.3.3).
    private static func parseSizes(
        _ tables: [BoxView], of stbl: BoxView, fileSizeBytes: Int64
    ) throws(MP4Error) -> [UInt32] {
        guard let box = tables.first("stsz") ?? tables.first("stz2") else {
            throw .missing("stsz", in: stbl.type, offset: stbl.offset)
        }
        var fields = box.fields
        _ = try fields.versionAndFlags()
        let word = try fields.u32()
        let count = UInt64(try fields.u32())
        guard count <= maximumSamples else {
            throw .overLimit(
                box: box.type, offset: box.offset, what: "number of samples", value: count,
                limit: maximumSamples)
        }
        if box.type == "stsz", word > 0 {
            guard count <= UInt64(fileSizeBytes) / UInt64(word) else {
                throw box.invalid("\(count) samples of \(word) bytes are more than the file")
            }
            return Array(repeating: word, count: Int(count))
        }
        let bits = box.type == "stsz" ? 32 : Int(word & 0xFF)
        guard [4, 8, 16, 32].contains(bits) else { throw box.invalid("fields of \(bits) bits") }
        guard Int(count) <= fields.bytesLeft * 8 / bits else {
            throw .truncated(box: box.type, offset: box.header.end)
        }
        var sizes: [UInt32] = []
        sizes.reserveCapacity(Int(count))
        while sizes.count < Int(count) {
            switch bits {
            case 32: sizes.append(try fields.u32())
            case 16: sizes.append(UInt32(try fields.u16()))
            case 8: sizes.append(UInt32(try fields.u8()))
            default:
                let pair = try fields.u8()
                sizes.append(UInt32(pair >> 4))
                if sizes.count < Int(count) { sizes.append(UInt32(pair & 15)) }
            }
        }
        return sizes
    }

    /// `stts` (§8.6.1.2).
    private mutating func parseTimes(_ stts: BoxView, count: Int) throws(MP4Error) {
        var fields = stts.fields
        _ = try fields.versionAndFlags()
        dts.reserveCapacity(count)
        durations.reserveCapacity(count)
        var time: Int64 = 0
        for _ in 0..<(try fields.entryCount(entrySizeBytes: 8)) {
            let run = Int(try fields.u32())
            let delta = try fields.u32()
            guard run <= count - dts.count else {
                throw stts.invalid("times of more than \(count) samples")
            }
            for _ in 0..<run {
                dts.append(time)
                durations.append(delta)
                // At most 2²³ samples of 2³² ticks: far from overflow.
                time += Int64(delta)
            }
        }
        guard dts.count == count else {
            throw stts.invalid("times of \(dts.count) samples, sizes of \(count)")
        }
    }

    /// `ctts` (§8.6.1.3). Version 0 is unsigned in the standard; writers put negative numbers there too.
    private mutating func parseCompositionOffsets(_ ctts: BoxView) throws(MP4Error) {
        var fields = ctts.fields
        _ = try fields.versionAndFlags(newest: 1)
        compositionOffsets.reserveCapacity(count)
        for _ in 0..<(try fields.entryCount(entrySizeBytes: 8)) {
            let run = Int(try fields.u32())
            let offset = try fields.i32()
            guard run <= count - compositionOffsets.count else {
                throw ctts.invalid("offsets of more than \(count) samples")
            }
            for _ in 0..<run { compositionOffsets.append(offset) }
        }
        guard compositionOffsets.count == count else {
            throw ctts.invalid("offsets of \(compositionOffsets.count) samples, not \(count)")
        }
    }

    /// `stss` (§8.6.2).
    private mutating func parseSyncSamples(_ stss: BoxView) throws(MP4Error) {
        var fields = stss.fields
        _ = try fields.versionAndFlags()
        let entries = try fields.entryCount(entrySizeBytes: 4)
        var samples: [Int] = []
        samples.reserveCapacity(entries)
        for _ in 0..<entries {
            let number = Int(try fields.u32())
            guard number > (samples.last ?? -1) + 1, number <= count else {
                throw stss.invalid("sample \(number) out of order or range")
            }
            samples.append(number - 1)
        }
        syncSamples = samples
    }

    /// `stco` or `co64` (§8.7.5) with `stsc` (§8.7.4).
    private mutating func parseChunks(
        _ chunks: BoxView, _ stsc: BoxView, fileSizeBytes: Int64
    ) throws(MP4Error) {
        var places = chunks.fields
        _ = try places.versionAndFlags()
        let isWide = chunks.type == "co64"
        let chunkCount = try places.entryCount(entrySizeBytes: isWide ? 8 : 4)
        var runs = stsc.fields
        _ = try runs.versionAndFlags()
        var runsLeft = try runs.entryCount(entrySizeBytes: 12)
        var samplesPerChunk = 0
        var nextFirst = 0
        var nextSamples = 0

        /// Reads the next entry of `stsc`; chunk numbers start at one.
        func advance() throws(MP4Error) {
            samplesPerChunk = nextSamples
            guard runsLeft > 0 else {
                nextFirst = .max
                return
            }
            runsLeft -= 1
            let first = Int(try runs.u32())
            guard first > nextFirst else { throw stsc.invalid("chunk \(first) out of order") }
            nextFirst = first
            nextSamples = Int(try runs.u32())
            _ = try runs.u32()
            guard nextSamples > 0 else { throw stsc.invalid("chunks without samples") }
        }

        try advance()
        guard chunkCount == 0 || nextFirst == 1 else {
            throw stsc.invalid("the first chunk has no entry")
        }
        offsets.reserveCapacity(count)
        chunkStarts.reserveCapacity(chunkCount + 1)
        for chunk in 0..<chunkCount {
            if chunk + 1 == nextFirst { try advance() }
            let place = isWide ? try places.u64() : UInt64(try places.u32())
            guard place <= UInt64(fileSizeBytes) else {
                throw chunks.invalid("chunk \(chunk + 1) begins at \(place), past the file")
            }
            guard samplesPerChunk <= count - offsets.count else {
                throw stsc.invalid("places of more than \(count) samples")
            }
            chunkStarts.append(offsets.count)
            var position = Int64(place)
            for _ in 0..<samplesPerChunk {
                let end = position + Int64(sizesBytes[offsets.count])
                guard end <= fileSizeBytes else {
                    throw chunks.invalid("sample \(offsets.count + 1) ends past the file")
                }
                offsets.append(position)
                position = end
            }
        }
        chunkStarts.append(offsets.count)
        guard offsets.count == count else {
            throw stsc.invalid("places of \(offsets.count) samples, sizes of \(count)")
        }
    }
}
