package import Media

/// A parsed `moov`: the initial one of a growing recording, the final one, or a foreign file's.
package struct Movie: Sendable {
    /// Maximum `moov`: some ten hours of a busy camera.
    static let maximumSizeBytes: Int64 = 128 << 20
    /// Maximum number of tracks.
    static let maximumTracks = 64

    package var header: BoxHeader
    package var timescale: Timescale
    /// Ticks of ``timescale``.
    package var duration: UInt64
    /// Seconds since 1970, UTC.
    package var createdUnixSeconds: Int64
    /// Whether it has `mvex`: samples may be in fragments.
    package var isFragmented: Bool
    package var tracks: [MovieTrack]
    /// Its `uuid` boxes.
    package var userBoxes: [UserBox]
    /// In an initial `moov`: the start of the file. Nil in recordings without a timecode track.
    package var timecode: RecordedTimecode?

    package func track(_ kind: TrackKind) -> MovieTrack? {
        tracks.first { $0.kind == kind }
    }

    /// Finds and parses the `moov` at the top level of a file.
    package static func read(from source: some ByteSource) throws(MP4Error) -> Movie {
        var boxes = BoxReader(source)
        while let box = try boxes.next() {
            if box.type == "moov" { return try Movie(reading: box, from: source) }
        }
        throw .missing("moov", in: "file", offset: 0)
    }

    /// Parses the `moov` with this header.
    package init(reading header: BoxHeader, from source: some ByteSource) throws(MP4Error) {
        guard header.sizeBytes <= Self.maximumSizeBytes else {
            throw .overLimit(
                box: header.type, offset: header.offset, what: "size",
                value: UInt64(header.sizeBytes), limit: UInt64(Self.maximumSizeBytes))
        }
        let bytes = try source.read(at: header.offset, count: Int(header.sizeBytes))
        try self.init(
            parsing: BoxView(bytes, at: header.offset), fileSizeBytes: source.sizeBytes)
    }

    /// Parses a `moov` whose samples must end before `fileSizeBytes`.
    init(parsing moov: BoxView, fileSizeBytes: Int64) throws(MP4Error) {
        let children = try moov.children()
        var fields = try children.required("mvhd", in: moov).fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        let created = try fields.time(version: version)
        _ = try fields.time(version: version)
        let ticks = try fields.u32()
        guard ticks > 0 else { throw fields.invalid("a timescale of zero") }
        timescale = Timescale(ticks)
        duration = try fields.time(version: version)
        createdUnixSeconds = Int64(clamping: created) - secondsFrom1904To1970
        header = moov.header

        var defaults: [UInt32: FragmentDefaults] = [:]
        let mvex = children.first("mvex")
        isFragmented = mvex != nil
        for trex in try mvex?.children() ?? [] where trex.type == "trex" {
            let (id, values) = try FragmentDefaults.parse(trex)
            defaults[id] = values
        }
        userBoxes = []
        for child in children {
            guard let userType = child.userType else { continue }
            if userType == Timecode.userType { timecode = try RecordedTimecode(parsing: child) }
            var payload = child.fields
            userBoxes.append(
                UserBox(userType: userType, payload: try payload.raw(payload.bytesLeft)))
        }
        tracks = []
        for trak in children where trak.type == "trak" {
            guard tracks.count < Self.maximumTracks else {
                throw .overLimit(
                    box: moov.type, offset: moov.offset, what: "number of tracks",
                    value: UInt64(Self.maximumTracks) + 1, limit: UInt64(Self.maximumTracks))
            }
            var track = try MovieTrack(parsing: trak, fileSizeBytes: fileSizeBytes)
            guard !tracks.contains(where: { $0.id == track.id }) else {
                throw trak.invalid("track_ID \(track.id) twice")
            }
            track.fragmentDefaults = defaults[track.id]
            tracks.append(track)
        }
    }
}

/// The defaults of `trex` for fragments (ISO/IEC 14496-12 §8.8.3).
package struct FragmentDefaults: Hashable, Sendable {
    package var duration: UInt32
    package var sizeBytes: UInt32
    package var flags: UInt32

    static func parse(_ trex: BoxView) throws(MP4Error) -> (UInt32, FragmentDefaults) {
        var fields = trex.fields
        _ = try fields.versionAndFlags()
        let id = try fields.u32()
        _ = try fields.u32()
        return (
            id,
            FragmentDefaults(
                duration: try fields.u32(), sizeBytes: try fields.u32(), flags: try fields.u32())
        )
    }
}

/// A track of a movie.
package struct MovieTrack: Sendable {
    /// `track_ID`, not zero.
    package var id: UInt32
    /// `hdlr`: `vide`, `soun`, …
    package var handler: FourCC
    package var timescale: Timescale
    /// Ticks of ``timescale``: of the samples, or from `mdhd` without samples.
    package var duration: UInt64
    /// Ticks of the movie's timescale, from `tkhd`.
    package var presentedDuration: UInt64
    package var edits: [Edit]
    package var entries: [SampleEntry]
    package var samples: SampleTable
    /// Defaults from the movie's `trex` for this track; nil without one.
    package var fragmentDefaults: FragmentDefaults?

    /// Video or audio; nil for other tracks.
    package var kind: TrackKind? {
        switch handler {
        case "vide": .video
        case "soun": .audio
        default: nil
        }
    }

    /// The format of its samples; nil for codecs that recordings do not have.
    package var format: TrackFormat? {
        guard case .video(var format) = entries.first?.format else { return entries.first?.format }
        format.orientation = orientation
        return .video(format)
    }

    /// The display orientation in `tkhd`; upright for any other transformation.
    package var orientation: PictureOrientation

    /// In an initial `moov`: the ticks that were added to all of the track's times.
    package var mediaTimeShift: Int64 {
        guard edits.count == 1 else { return 0 }
        return max(0, edits[0].mediaTime)
    }

    init(parsing trak: BoxView, fileSizeBytes: Int64) throws(MP4Error) {
        let children = try trak.children()
        (id, presentedDuration, orientation) = try Self.parseHeader(
            try children.required("tkhd", in: trak))
        edits = []
        if let edts = children.first("edts"), let elst = try edts.children().first("elst") {
            edits = try Self.parseEdits(elst)
        }
        let mdia = try children.required("mdia", in: trak)
        let media = try mdia.children()
        let declared: UInt64
        (timescale, declared) = try Self.parseMediaHeader(
            try media.required("mdhd", in: mdia))
        handler = try Self.parseHandler(try media.required("hdlr", in: mdia))
        let minf = try media.required("minf", in: mdia)
        let stbl = try minf.children().required("stbl", in: minf)
        let tables = try stbl.children()
        entries = try SampleEntry.parseAll(try tables.required("stsd", in: stbl))
        samples = try SampleTable(
            parsing: tables, of: stbl, fileSizeBytes: fileSizeBytes)
        // A declared duration may be longer than the samples (`MovieBoxes.declaredDuration`).
        if let last = samples.dts.last, let length = samples.durations.last {
            duration = min(declared, UInt64(last) + UInt64(length))
        } else {
            duration = declared
        }
    }

    private static func parseHeader(
        _ tkhd: BoxView
    ) throws(MP4Error) -> (UInt32, UInt64, PictureOrientation) {
        var fields = tkhd.fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        _ = try fields.time(version: version)
        _ = try fields.time(version: version)
        let id = try fields.u32()
        guard id > 0 else { throw fields.invalid("a track_ID of zero") }
        try fields.skip(4)
        let duration = try fields.time(version: version)
        try fields.skip(16)
        var matrix: [UInt32] = []
        for _ in 0..<9 { matrix.append(try fields.u32()) }
        return (id, duration, DisplayMatrix.orientation(of: matrix) ?? .upright)
    }

    private static func parseMediaHeader(
        _ mdhd: BoxView
    ) throws(MP4Error) -> (Timescale, UInt64) {
        var fields = mdhd.fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        _ = try fields.time(version: version)
        _ = try fields.time(version: version)
        let ticks = try fields.u32()
        guard ticks > 0 else { throw fields.invalid("a timescale of zero") }
        return (Timescale(ticks), try fields.time(version: version))
    }

    private static func parseHandler(_ hdlr: BoxView) throws(MP4Error) -> FourCC {
        var fields = hdlr.fields
        _ = try fields.versionAndFlags()
        try fields.skip(4)
        return try fields.fourCC()
    }

    private static func parseEdits(_ elst: BoxView) throws(MP4Error) -> [Edit] {
        var fields = elst.fields
        let (version, _) = try fields.versionAndFlags(newest: 1)
        let count = try fields.entryCount(entrySizeBytes: version == 1 ? 20 : 12)
        var edits: [Edit] = []
        edits.reserveCapacity(count)
        for _ in 0..<count {
            let duration = try fields.time(version: version)
            let time = version == 1 ? try fields.i64() : Int64(try fields.i32())
            guard time >= -1 else { throw fields.invalid("a media time of \(time)") }
            edits.append(
                Edit(segmentDuration: duration, mediaTime: time, rate: try fields.i32()))
        }
        return edits
    }
}
