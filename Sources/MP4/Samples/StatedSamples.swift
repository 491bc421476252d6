package import Media

/// The numbers of samples that the tables of a movie of any writer state.
///
/// Tables that contradict each other are read as far as possible: a reader that follows one of them finds fewer samples.
package struct StatedSamples: Hashable, Sendable {
    package struct Track: Hashable, Sendable {
        package var id: UInt32
        package var kind: TrackKind
        /// The largest number that any of its tables states.
        package var count: Int
        /// Samples of no bytes, which a reader leaves out: a recorder's dropped pictures.
        package var empty: Int
        /// The largest number of other samples that its edit list hides.
        package var hidden: Int
        /// The error in its tables; nil: none.
        package var fault: MP4Error?
    }

    /// Tracks of video, and of audio whose samples are packets.
    package private(set) var tracks: [Track] = []
    /// Whether the boxes of another track are damaged, so that its tables are not found.
    package private(set) var isIncomplete = false

    /// Reads them from the first `moov`; none if that cannot be found.
    ///
    /// - Throws: only when the source cannot be read.
    package init(of source: some ByteSource) throws(MP4Error) {
        do {
            var boxes = BoxReader(source)
            while let box = try boxes.next() {
                guard box.type == "moov", box.sizeBytes <= Movie.maximumSizeBytes else { continue }
                let moov = try BoxView(
                    source.read(at: box.offset, count: Int(box.sizeBytes)), at: box.offset)
                for trak in try moov.children() where trak.type == "trak" {
                    do {
                        if let track = try Self.track(trak, moov, source.sizeBytes) {
                            tracks.append(track)
                        }
                    } catch {
                        isIncomplete = true
                    }
                }
                return
            }
        } catch {
            if case .unreadable = error { throw error }
            isIncomplete = true
        }
    }

    private static func track(
        _ trak: BoxView, _ moov: BoxView, _ fileSizeBytes: Int64
    ) throws(MP4Error) -> Track? {
        let children = try trak.children()
        var header = try children.required("tkhd", in: trak).fields
        let (version, _) = try header.versionAndFlags(newest: 1)
        try header.skip(version == 1 ? 16 : 8)
        let id = try header.u32()
        let mdia = try children.required("mdia", in: trak)
        let media = try mdia.children()
        var handler = try media.required("hdlr", in: mdia).fields
        try handler.skip(8)
        let kind: TrackKind
        switch try handler.fourCC() {
        case "vide": kind = .video
        case "soun": kind = .audio
        default: return nil
        }
        let minf = try media.required("minf", in: mdia)
        let stbl = try minf.children().required("stbl", in: minf)
        let tables = try stbl.children()
        if kind == .audio {
            guard try isFramed(tables) else { return nil }
        }
        var track = Track(id: id, kind: kind, count: 0, empty: 0, hidden: 0, fault: nil)
        for sizes in tables where sizes.type == "stsz" || sizes.type == "stz2" {
            var fields = sizes.fields
            try fields.skip(4)
            let word = try fields.u32()
            // Samples of PCM are frames, and a reader joins them.
            let isConstant = sizes.type == "stsz" && word > 0
            guard kind == .video || !isConstant else { return nil }
            track.count = max(track.count, Int(try fields.u32()))
        }
        if let times = tables.first("stts") {
            var fields = times.fields
            try fields.skip(4)
            var count = 0
            for _ in 0..<(try fields.entryCount(entrySizeBytes: 8)) {
                count += Int(try fields.u32())
                try fields.skip(4)
            }
            track.count = max(track.count, count)
        }
        do {
            let parsed = try MovieTrack(parsing: trak, fileSizeBytes: fileSizeBytes)
            track.empty = parsed.samples.sizesBytes.count { $0 == 0 }
            track.hidden = try hidden(parsed, moov)
        } catch {
            track.fault = error
        }
        return track
    }

    /// Whether the samples of a track of audio are coded packets.
    private static func isFramed(_ tables: [BoxView]) throws(MP4Error) -> Bool {
        guard var entries = tables.first("stsd")?.fields else { return false }
        try entries.skip(12)
        return !AudioCodec.all(sampleEntry: "\(try entries.fourCC())").isEmpty
    }

    /// Samples that are presented before the start or after the end of an edit of one part.
    private static func hidden(_ track: MovieTrack, _ moov: BoxView) throws(MP4Error) -> Int {
        guard let edit = track.edits.last, edit.mediaTime >= 0 else { return 0 }
        var header = try moov.children().required("mvhd", in: moov).fields
        let (version, _) = try header.versionAndFlags(newest: 1)
        try header.skip(version == 1 ? 16 : 8)
        let ticks = try header.u32()
        guard ticks > 0 else { throw header.invalid("a timescale of zero") }
        // A tick of the movie is longer than one of the track: the end is rounded.
        let (rate, scale) = (Double(track.timescale.ticksPerSecond), Double(ticks))
        let length = (Double(edit.segmentDuration) - 1) / scale * rate
        let end = Double(edit.mediaTime) + length
        return (0..<track.samples.count).count { index in
            guard track.samples.sizesBytes[index] > 0 else { return false }
            let time = track.samples.pts(index)
            return time + Int64(track.samples.durations[index]) <= edit.mediaTime
                || Double(time) >= end
        }
    }
}
