import Media

/// Parses a `moof` (ISO/IEC 14496-12 §8.8.4).
struct FragmentParser: Sendable {
    private struct Track {
        let kind: TrackKind
        let defaults: FragmentDefaults
        /// The latest decoding time, ticks.
        let latestTime: Int64
    }

    private let tracks: [UInt32: Track]

    /// - Throws: when the initial `moov` has no fragment defaults for a track.
    init(movie: Movie) throws(MP4Error) {
        var tracks: [UInt32: Track] = [:]
        for track in movie.tracks {
            guard let kind = track.kind else { continue }
            guard let defaults = track.fragmentDefaults else {
                throw .missing("trex", in: "moov", offset: movie.header.offset)
            }
            // A quarter of the range of 64 bits: no sum of a time, a shift and a fragment's durations exceeds it, for
            // any timescale.
            let ticks = min(
                FragmentLimits.seconds.clampedMultiplied(by: Int64(track.timescale.ticksPerSecond)),
                .max / 4)
            tracks[track.id] = Track(
                kind: kind, defaults: defaults,
                latestTime: ticks + min(track.mediaTimeShift, FragmentLimits.mediaTimeShift))
        }
        self.tracks = tracks
    }

    /// Parses a `moof` whose samples must lie within `media`, the content of the fragment's `mdat`.
    func parse(_ moof: BoxView, media: Range<Int64>) throws(MP4Error) -> ScannedFragment {
        let children = try moof.children()
        var fields = try children.required("mfhd", in: moof).fields
        _ = try fields.versionAndFlags()
        var fragment = ScannedFragment(
            sequenceNumber: try fields.u32(), moof: moof.offset..<moof.header.end, media: media,
            runs: [], userBoxes: [])
        var samplesLeft = FragmentLimits.samples
        for child in children {
            if child.type == "traf" {
                try parseTrack(
                    child, moofOffset: moof.offset, media: media, samplesLeft: &samplesLeft,
                    into: &fragment)
            } else if let userType = child.userType {
                var fields = child.fields
                fragment.userBoxes.append(
                    UserBox(userType: userType, payload: try fields.raw(fields.bytesLeft)))
            }
        }
        fragment.runs.sort { $0.samples[0].offset < $1.samples[0].offset }
        return fragment
    }

    private func parseTrack(
        _ traf: BoxView, moofOffset: Int64, media: Range<Int64>, samplesLeft: inout Int,
        into fragment: inout ScannedFragment
    ) throws(MP4Error) {
        let children = try traf.children()
        let header = try TrackFragmentHeader(
            parsing: try children.required("tfhd", in: traf), defaults: { tracks[$0]?.defaults })
        guard let track = tracks[header.trackID] else {
            throw traf.invalid("track_ID \(header.trackID) is unknown")
        }
        var time = try Self.parseDecodeTime(
            try children.required("tfdt", in: traf), latest: track.latestTime)
        var position = header.baseOffset ?? moofOffset
        for trun in children where trun.type == "trun" {
            let samples = try Self.parseRun(
                trun, header: header, base: header.baseOffset ?? moofOffset, media: media,
                time: &time, position: &position, samplesLeft: &samplesLeft)
            guard time <= track.latestTime + Int64(UInt32.max) else {
                throw trun.invalid("a decoding time of \(time)")
            }
            if !samples.isEmpty {
                fragment.runs.append(ScannedRun(track: track.kind, samples: samples))
            }
        }
    }

    /// `tfdt` (§8.8.12).
    private static func parseDecodeTime(
        _ tfdt: BoxView, latest: Int64
    ) throws(MP4Error) -> Int64 {
        var fields = tfdt.fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        let time = try fields.time(version: version)
        // So far below the limit of 64 bits that no sum of a fragment's durations reaches it.
        guard time <= UInt64(latest) else { throw fields.invalid("a decoding time of \(time)") }
        return Int64(time)
    }

    /// `trun` (§8.8.8).
    private static func parseRun(
        _ trun: BoxView, header: TrackFragmentHeader, base: Int64, media: Range<Int64>,
        time: inout Int64, position: inout Int64, samplesLeft: inout Int
    ) throws(MP4Error) -> [ScannedSample] {
        var fields = trun.fields
        let (_, flags) = try fields.versionAndFlags(newest: 1)
        let count = Int(try fields.u32())
        guard count <= samplesLeft else {
            throw .overLimit(
                box: trun.type, offset: trun.offset, what: "number of samples",
                value: UInt64(count), limit: UInt64(samplesLeft))
        }
        samplesLeft -= count
        if flags & 0x1 != 0 {
            let (sum, overflow) = base.addingReportingOverflow(Int64(try fields.i32()))
            guard !overflow else { throw trun.invalid("data offset") }
            position = sum
        }
        let firstFlags = flags & 0x4 != 0 ? try fields.u32() : nil
        var samples: [ScannedSample] = []
        samples.reserveCapacity(min(count, fields.bytesLeft))
        for index in 0..<count {
            let duration = flags & 0x100 != 0 ? try fields.u32() : header.duration
            let size = flags & 0x200 != 0 ? try fields.u32() : header.sizeBytes
            var sampleFlags = flags & 0x400 != 0 ? try fields.u32() : header.flags
            if index == 0, let firstFlags { sampleFlags = firstFlags }
            let offset = flags & 0x800 != 0 ? try fields.i32() : 0
            guard position >= media.lowerBound, position <= media.upperBound,
                Int64(size) <= media.upperBound - position
            else {
                throw trun.invalid("sample \(index + 1) is not in the fragment's mdat")
            }
            samples.append(
                ScannedSample(
                    offset: position, sizeBytes: size, duration: duration, dts: time,
                    compositionOffset: offset,
                    isSync: sampleFlags & FragmentSample.nonSyncBit == 0))
            position += Int64(size)
            time += Int64(duration)
        }
        return samples
    }
}

/// `tfhd` (§8.8.7), with the defaults of `trex`.
struct TrackFragmentHeader {
    let trackID: UInt32
    /// The base of data offsets; nil: the start of the `moof`.
    let baseOffset: Int64?
    let duration: UInt32
    let sizeBytes: UInt32
    let flags: UInt32

    init(
        parsing tfhd: BoxView, defaults: (UInt32) -> FragmentDefaults?
    ) throws(MP4Error) {
        var fields = tfhd.fields
        let (_, present) = try fields.versionAndFlags()
        trackID = try fields.u32()
        let defaults = defaults(trackID)
        if present & 0x1 != 0 {
            let base = try fields.u64()
            guard base < UInt64(Int64.max) / 2 else { throw fields.invalid("base \(base)") }
            baseOffset = Int64(base)
        } else {
            baseOffset = nil
        }
        if present & 0x2 != 0 { try fields.skip(4) }
        duration = present & 0x8 != 0 ? try fields.u32() : defaults?.duration ?? 0
        sizeBytes = present & 0x10 != 0 ? try fields.u32() : defaults?.sizeBytes ?? 0
        flags = present & 0x20 != 0 ? try fields.u32() : defaults?.flags ?? 0
    }
}
