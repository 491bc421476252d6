package import Media

/// A track as a recording declares it when its file opens.
package struct RecordingTrack: Hashable, Sendable {
    package var format: TrackFormat
    /// Ticks of the track's timescale that were added to all of its times, so that no decoding time is negative.
    package var mediaTimeShift: Int64

    /// - Precondition: the shift is not negative.
    package init(format: TrackFormat, mediaTimeShift: Int64 = 0) {
        precondition(mediaTimeShift >= 0, "media times are shifted up, never down")
        self.format = format
        self.mediaTimeShift = mediaTimeShift
    }
}

/// The start of a growing recording: `ftyp`, the 16-byte placeholder, `moov` without samples.
package struct FragmentedHeader: Hashable, Sendable {
    /// Offset of the placeholder: within the first sector, so that its write is atomic.
    package static let placeholderOffset: Int64 = 32
    /// `size`, `type` and `largesize` of the `mdat` that the placeholder will become (§4.2).
    package static let placeholderSizeBytes = 16

    /// The `ftyp` box that every recording begins with, up to the placeholder.
    package static let fileType: [UInt8] = {
        var writer = BoxWriter(reserving: Int(placeholderOffset))
        writeFileType(to: &writer)
        return writer.bytes
    }()

    /// The first bytes of the file; fragments follow.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - tracks: at most one of each kind, at least one.
    ///   - createdUnixSeconds: UTC, seconds since 1970.
    ///   - timecode: time of day of the file's start, for a timecode track in the final `moov`.
    /// - Throws: for a format that cannot be written.
    package init(
        tracks: [RecordingTrack], createdUnixSeconds: Int64, timecode: Timecode? = nil
    ) throws(MP4Error) {
        precondition(!tracks.isEmpty, "a file has a track")
        precondition(Set(tracks.map(\.format.kind)).count == tracks.count, "one track per kind")
        var entries: [SampleEntryWriter] = []
        for track in tracks { entries.append(try SampleEntryWriter(track.format)) }

        var writer = BoxWriter(reserving: 2_048)
        Self.writeFileType(to: &writer)
        writer.box("free") { $0.zeros(8) }
        let boxes = MovieBoxes(createdUnixSeconds: createdUnixSeconds)
        writer.box("moov") { writer in
            boxes.writeMovieHeader(
                timescale: .video, duration: 0, nextTrackID: UInt32(TrackKind.allCases.count + 1),
                to: &writer)
            for (track, entry) in zip(tracks, entries) {
                Self.writeTrack(track, entry: entry, boxes: boxes, to: &writer)
            }
            writer.box("mvex") { writer in
                for track in tracks { Self.writeExtends(track.format.kind, to: &writer) }
            }
            if let timecode { writer.raw(timecode.box.bytes) }
        }
        bytes = writer.bytes
    }

    /// `ftyp` (§4.3): 32 bytes. `iso6` stands for `tfdt` and fragments relative to `moof`; the older brands are for
    /// readers that know only those, which suffices for a finished file.
    private static func writeFileType(to writer: inout BoxWriter) {
        writer.box("ftyp") { writer in
            writer.fourCC("isom")
            writer.u32(0)
            for brand: FourCC in ["isom", "iso6", "avc1", "mp42"] { writer.fourCC(brand) }
        }
    }

    private static func writeTrack(
        _ track: RecordingTrack, entry: SampleEntryWriter, boxes: MovieBoxes,
        to writer: inout BoxWriter
    ) {
        let kind = track.format.kind
        writer.box("trak") { writer in
            boxes.writeTrackHeader(kind: kind, duration: 0, entry: entry, to: &writer)
            if track.mediaTimeShift > 0 {
                // A duration of zero covers what the fragments add (§8.6.6.1).
                boxes.writeEdits(
                    [Edit(segmentDuration: 0, mediaTime: track.mediaTimeShift)], to: &writer)
            }
            boxes.writeMedia(
                kind: kind, timescale: track.format.timescale, duration: 0, entry: entry,
                to: &writer
            ) { writer in
                writer.fullBox("stts") { $0.u32(0) }
                writer.fullBox("stsc") { $0.u32(0) }
                writer.fullBox("stsz") { $0.zeros(8) }
                writer.fullBox("stco") { $0.u32(0) }
            }
        }
    }

    /// `trex` (§8.8.3).
    private static func writeExtends(_ kind: TrackKind, to writer: inout BoxWriter) {
        writer.fullBox("trex") { writer in
            writer.u32(UInt32(kind.rawValue))
            writer.u32(1)  // default_sample_description_index
            writer.u32(0)
            writer.u32(0)
            writer.u32(kind == .video ? FragmentSample.differenceFlags : FragmentSample.syncFlags)
        }
    }
}
