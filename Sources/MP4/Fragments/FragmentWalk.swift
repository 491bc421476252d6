/// A `moof` of any writer, and where its samples are.
package struct WalkedFragment: Hashable, Sendable {
    /// The samples of one `trun`.
    package struct Run: Hashable, Sendable {
        package var trackID: UInt32
        /// File offset of the first sample; the others follow.
        package var offset: Int64
        package var sizesBytes: [UInt32]
        /// Sum of the samples' durations, ticks.
        package var duration: UInt64 = 0
        /// Samples at which decoding can start.
        package var keyframes = 0
    }

    package var moof: Range<Int64>
    package var runs: [Run]
    /// Decoding time of each track's first sample, ticks, where it is stated. Some writers describe tracks without samples.
    package var startTimes: [UInt32: UInt64]
}

/// Walks the top-level boxes of a fragmented movie of any writer, and continues after damage.
///
/// Where no box follows, the walk searches for the next whole `moof`, from the last box on: the size of that box, or its
/// content, may be wrong.
package struct FragmentWalk<Source: ByteSource> {
    package enum Step: Hashable, Sendable {
        case box(BoxHeader)
        case fragment(WalkedFragment)
        /// Bytes that are not to be trusted, up to the next whole `moof` or the end of the file. They begin with a box, whose
        /// type is nil if it is no box.
        case damage(Range<Int64>, type: FourCC?)
        /// The file ends within a box.
        case torn(BoxHeader)
        /// All bytes up to the end of the file are zero.
        case zeros(Range<Int64>)
    }

    private let source: Source
    private let defaults: [UInt32: FragmentDefaults]
    private let tracks: Set<UInt32>
    private var place: Int64 = 0
    /// Bytes of possible fragments that are still read in a search: a file may name one at each of its bytes.
    private var bytesLeft: Int64 = 256 << 20
    /// The last box, unless damage follows it.
    private var last: BoxHeader?

    /// - Parameter movie: the movie's description, for the defaults of its fragments.
    package init(_ source: Source, movie: Movie) {
        self.init(
            source, tracks: Set(movie.tracks.map(\.id)),
            defaults: Dictionary(
                movie.tracks.compactMap { track in track.fragmentDefaults.map { (track.id, $0) } }
            ) { first, _ in first })
    }

    private init(_ source: Source, tracks: Set<UInt32>, defaults: [UInt32: FragmentDefaults]) {
        self.source = source
        self.tracks = tracks
        self.defaults = defaults
    }

    /// The next box, or damage where a box should be; nil at the end of the file.
    ///
    /// - Throws: only when the source cannot be read.
    package mutating func next() throws(MP4Error) -> Step? {
        guard place < source.sizeBytes else { return nil }
        let box: BoxHeader
        do {
            box = try header(at: place)
        } catch {
            return try damage(error)
        }
        guard box.type == "moof" else {
            (last, place) = (box, box.end)
            return .box(box)
        }
        do {
            let fragment = try fragment(box)
            (last, place) = (box, box.end)
            return .fragment(fragment)
        } catch {
            if case .unreadable = error { throw error }
            // The fragment's media follow, and cannot be located without its head.
            let end = try nextFragment(from: box.payloadOffset) ?? source.sizeBytes
            return damage(place..<end, type: box.type)
        }
    }

    private mutating func damage(_ range: Range<Int64>, type: FourCC?) -> Step {
        place = range.upperBound
        last = nil
        return .damage(range, type: type)
    }

    /// The step for a place without a valid box.
    private mutating func damage(_ error: MP4Error) throws(MP4Error) -> Step {
        if case .unreadable = error { throw error }
        let torn = try tornBox(error)
        let isZero = try isZero(place..<min(place + 8, source.sizeBytes))
        // Zeros replace a box; other bytes may be content of the last box, whose size is then wrong.
        let trusted = isZero || torn != nil ? nil : last
        let from = trusted?.payloadOffset ?? place + 1
        guard let next = try nextFragment(from: from) else {
            if let torn {
                place = source.sizeBytes
                return .torn(torn)
            }
            let rest = place..<source.sizeBytes
            if isZero {
                let isEmpty = try self.isZero(rest)
                if isEmpty {
                    place = source.sizeBytes
                    return .zeros(rest)
                }
            }
            return damage(rest, type: nil)
        }
        if let trusted { return damage(trusted.offset..<next, type: trusted.type) }
        // Too short for the header of a box: the bytes count as part of the last box.
        if next - place < 8, let last { return damage(last.offset..<next, type: last.type) }
        return damage(place..<next, type: torn?.type)
    }

    /// The box at the present place if it is longer than the file.
    private func tornBox(_ error: MP4Error) throws(MP4Error) -> BoxHeader? {
        guard case .pastEnd = error else { return nil }
        do {
            return try header(at: place, limit: .max)
        } catch {
            if case .unreadable = error { throw error }
            return nil
        }
    }

    /// A box with a printable type, within the file.
    private func header(at place: Int64, limit: Int64? = nil) throws(MP4Error) -> BoxHeader {
        let size = source.sizeBytes
        let count = min(Int64(BoxHeader.maximumSizeBytes), size - place)
        let box = try BoxHeader(
            parsing: source.read(at: place, count: Int(count))[...], at: place,
            limit: limit ?? size)
        let isPrintable = [24, 16, 8, 0].allSatisfy {
            let letter = UInt8(truncatingIfNeeded: box.type.rawValue >> UInt32($0))
            return (0x20...0x7E).contains(letter) || letter == 0xA9
        }
        guard isPrintable else {
            throw .invalid(box: box.type, offset: place, reason: "no box")
        }
        return box
    }

    private func isZero(_ range: Range<Int64>) throws(MP4Error) -> Bool {
        var place = range.lowerBound
        while place < range.upperBound {
            let count = min(1 << 16, range.upperBound - place)
            guard try source.read(at: place, count: Int(count)).allSatisfy({ $0 == 0 }) else {
                return false
            }
            place += count
        }
        return true
    }

    /// The first whole `moof` that begins at or after `place`.
    private mutating func nextFragment(from place: Int64) throws(MP4Error) -> Int64? {
        let name = Array("moof".utf8)
        var place = place
        while place + 8 <= source.sizeBytes {
            let count = min(1 << 16, source.sizeBytes - place)
            let bytes = try source.read(at: place, count: Int(count))
            for index in 4..<max(4, bytes.count - 3)
            where bytes[index] == name[0] && bytes[index..<index + 4].elementsEqual(name) {
                let found = place + Int64(index) - 4
                if try isFragment(found) { return found }
            }
            guard place + count < source.sizeBytes else { break }
            place += count - 7
        }
        return nil
    }

    private mutating func isFragment(_ place: Int64) throws(MP4Error) -> Bool {
        do {
            let box = try header(at: place)
            guard box.type == "moof", box.sizeBytes <= bytesLeft else { return false }
            bytesLeft -= box.sizeBytes
            return try fragment(box).runs.contains { tracks.contains($0.trackID) }
        } catch {
            if case .unreadable = error { throw error }
            return false
        }
    }
}

extension FragmentWalk {
    /// Maximum number of samples of a fragment: half a minute of PCM, whose samples are single frames.
    private static var samples: Int { 1 << 22 }

    private func fragment(_ box: BoxHeader) throws(MP4Error) -> WalkedFragment {
        guard box.sizeBytes <= FragmentLimits.moofSizeBytes else {
            throw .overLimit(
                box: box.type, offset: box.offset, what: "size", value: UInt64(box.sizeBytes),
                limit: UInt64(FragmentLimits.moofSizeBytes))
        }
        let moof = try BoxView(
            source.read(at: box.offset, count: Int(box.sizeBytes)), at: box.offset)
        let children = try moof.children()
        _ = try children.required("mfhd", in: moof)
        var fragment = WalkedFragment(moof: box.offset..<box.end, runs: [], startTimes: [:])
        var end = box.offset
        var samplesLeft = Self.samples
        for traf in children where traf.type == "traf" {
            let boxes = try traf.children()
            let tfhd = try boxes.required("tfhd", in: traf)
            let head = try TrackFragmentHeader(parsing: tfhd, defaults: { defaults[$0] })
            var fields = tfhd.fields
            // §8.8.7: default-base-is-moof; without it, the data follow those of the track before.
            let isMoof = try fields.versionAndFlags().flags & 0x2_0000 != 0
            let base = head.baseOffset ?? (isMoof ? box.offset : end)
            var place = base
            for trun in boxes where trun.type == "trun" {
                let run = try self.run(
                    trun, head, base: base, place: place, samplesLeft: &samplesLeft)
                place = run.offset + run.sizesBytes.reduce(0) { $0 + Int64($1) }
                if !run.sizesBytes.isEmpty { fragment.runs.append(run) }
            }
            end = place
            let isEmpty = !fragment.runs.contains { $0.trackID == head.trackID }
            if let tfdt = boxes.first("tfdt"), !isEmpty,
                fragment.startTimes[head.trackID] == nil
            {
                var fields = tfdt.fields
                let (version, _) = try fields.versionAndFlags(newest: 1)
                fragment.startTimes[head.trackID] = try fields.time(version: version)
            }
        }
        return fragment
    }

    /// `trun` (§8.8.8).
    private func run(
        _ trun: BoxView, _ head: TrackFragmentHeader, base: Int64, place: Int64,
        samplesLeft: inout Int
    ) throws(MP4Error) -> WalkedFragment.Run {
        var fields = trun.fields
        let (_, flags) = try fields.versionAndFlags(newest: 1)
        let count = Int(try fields.u32())
        guard count <= samplesLeft else {
            throw .overLimit(
                box: trun.type, offset: trun.offset, what: "number of samples",
                value: UInt64(count), limit: UInt64(samplesLeft))
        }
        samplesLeft -= count
        var run = WalkedFragment.Run(trackID: head.trackID, offset: place, sizesBytes: [])
        if flags & 0x1 != 0 {
            let (sum, isOverflow) = base.addingReportingOverflow(Int64(try fields.i32()))
            guard !isOverflow, sum >= 0 else { throw trun.invalid("data offset") }
            run.offset = sum
        }
        // 2²² samples of 2³² bytes: no sum overflows.
        guard run.offset < .max / 4 else {
            throw trun.invalid("data offset")
        }
        let firstFlags = flags & 0x4 != 0 ? try fields.u32() : nil
        run.sizesBytes.reserveCapacity(count)
        for index in 0..<count {
            run.duration += UInt64(flags & 0x100 != 0 ? try fields.u32() : head.duration)
            run.sizesBytes.append(flags & 0x200 != 0 ? try fields.u32() : head.sizeBytes)
            var own = flags & 0x400 != 0 ? try fields.u32() : head.flags
            if index == 0, let firstFlags { own = firstFlags }
            if own & FragmentSample.nonSyncBit == 0 { run.keyframes += 1 }
            if flags & 0x800 != 0 { try fields.skip(4) }
        }
        return run
    }
}
