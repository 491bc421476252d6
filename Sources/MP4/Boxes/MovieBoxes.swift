import Media

/// Seconds from 1904, the epoch of MP4 files, to 1970 (ISO/IEC 14496-12 §8.2.2.3).
let secondsFrom1904To1970: Int64 = 2_082_844_800

/// The two variants of the container.
package enum MovieFlavour: Hashable, Sendable {
    /// ISO/IEC 14496-12 and -14.
    case mp4
    /// QuickTime File Format, the base of the ISO format.
    case quickTime
}

/// One entry of `elst` (ISO/IEC 14496-12 §8.6.6).
package struct Edit: Hashable, Sendable {
    /// Ticks of the movie's timescale.
    package var segmentDuration: UInt64
    /// Ticks of the track's timescale; −1: an empty edit.
    package var mediaTime: Int64
    /// Playback rate in 65,536ths; 0: a still picture.
    package var rate: Int32 = Self.usualRate

    /// Normal speed.
    package static let usualRate: Int32 = 0x1_0000
}

/// The boxes that initial and final `moov` have in common.
///
/// Times that do not fit in 32 bits need version 1 of a box.
struct MovieBoxes {
    /// Seconds since 1904.
    let created: UInt64

    init(createdUnixSeconds: Int64) {
        created = UInt64(clamping: createdUnixSeconds.saturatingAdd(secondsFrom1904To1970))
    }

    private func version(for duration: UInt64) -> UInt8 {
        max(created, duration) > UInt64(UInt32.max) ? 1 : 0
    }

    /// `mvhd` (§8.2.2).
    func writeMovieHeader(
        timescale: Timescale, duration: UInt64, nextTrackID: UInt32, to writer: inout BoxWriter
    ) {
        let version = version(for: duration)
        writer.fullBox("mvhd", version: version) { writer in
            writer.time(created, version: version)
            writer.time(created, version: version)
            writer.u32(timescale.ticksPerSecond)
            writer.time(duration, version: version)
            writer.u32(0x0001_0000)  // rate
            writer.u16(0x0100)  // volume
            writer.zeros(10)
            Self.writeUnityMatrix(to: &writer)
            writer.zeros(24)
            writer.u32(nextTrackID)
        }
    }

    /// `tkhd` (§8.3.2) of video or audio: enabled, in the movie.
    func writeTrackHeader(
        kind: TrackKind, duration: UInt64, entry: SampleEntryWriter, to writer: inout BoxWriter
    ) {
        writeTrackHeader(
            id: UInt32(kind.rawValue), flags: 3, volume: kind == .audio ? 0x0100 : 0,
            duration: duration, size: entry.presentedSize, orientation: entry.orientation,
            to: &writer)
    }

    /// `tkhd` (§8.3.2).
    func writeTrackHeader(
        id: UInt32, flags: UInt32, volume: UInt16 = 0, duration: UInt64,
        size: (width: UInt32, height: UInt32) = (0, 0), orientation: PictureOrientation = .upright,
        to writer: inout BoxWriter
    ) {
        let version = version(for: duration)
        writer.fullBox("tkhd", version: version, flags: flags) { writer in
            writer.time(created, version: version)
            writer.time(created, version: version)
            writer.u32(id)
            writer.zeros(4)
            writer.time(duration, version: version)
            writer.zeros(12)
            writer.u16(volume)
            writer.zeros(2)
            let matrix = DisplayMatrix(orientation, width: size.width, height: size.height)
            for value in matrix.values { writer.u32(value) }
            writer.u32(size.width)
            writer.u32(size.height)
        }
    }

    /// `edts` with its `elst` (§8.6.5, §8.6.6).
    func writeEdits(_ edits: [Edit], to writer: inout BoxWriter) {
        let isWide = edits.contains {
            $0.segmentDuration > UInt64(UInt32.max) || $0.mediaTime > Int64(Int32.max)
        }
        let version: UInt8 = isWide ? 1 : 0
        writer.box("edts") { writer in
            writer.fullBox("elst", version: version) { writer in
                writer.u32(UInt32(edits.count))
                for edit in edits {
                    writer.time(edit.segmentDuration, version: version)
                    if isWide {
                        writer.i64(edit.mediaTime)
                    } else {
                        writer.i32(Int32(edit.mediaTime))
                    }
                    writer.u32(0x0001_0000)  // media_rate 1.0
                }
            }
        }
    }

    /// The duration of a track's media for `mdhd` (§8.4.2): at least a fifth of the movie.
    ///
    /// GStreamer's qtdemux ignores a track with less as a preview image, so the only track of a file that begins late. FFmpeg
    /// and MediaInfo use the samples' durations.
    /// - Parameters:
    ///   - media: ticks of `timescale`.
    ///   - movie: ticks of `movieTimescale`.
    static func declaredDuration(
        of media: UInt64, _ timescale: Timescale, inMovieOf movie: UInt64,
        _ movieTimescale: Timescale
    ) -> UInt64 {
        let divisor = UInt128(movieTimescale.ticksPerSecond) * 5
        let least = (UInt128(movie) * UInt128(timescale.ticksPerSecond) + divisor - 1) / divisor
        return max(media, UInt64(clamping: least))
    }

    /// `mdia` (§8.4.1) of video or audio around a sample table that `tables` writes after `stsd`.
    func writeMedia(
        kind: TrackKind, timescale: Timescale, duration: UInt64, entry: SampleEntryWriter,
        to writer: inout BoxWriter, tables: (inout BoxWriter) -> Void
    ) {
        writeMedia(
            kind: kind, timescale: timescale, duration: duration, entries: [entry], flavour: .mp4,
            to: &writer, tables: tables)
    }

    /// The same, with one sample description per format of the track.
    func writeMedia(
        kind: TrackKind, timescale: Timescale, duration: UInt64, entries: [SampleEntryWriter],
        flavour: MovieFlavour, to writer: inout BoxWriter, tables: (inout BoxWriter) -> Void
    ) {
        let handler = Handler(
            type: kind == .video ? "vide" : "soun", name: kind == .video ? "Video" : "Sound")
        writeMedia(
            handler, timescale: timescale, duration: duration, flavour: flavour, to: &writer
        ) { writer in
            SampleEntryWriter.writeDescriptions(entries, flavour: flavour, to: &writer)
            tables(&writer)
        }
    }

    /// The handler of a track (`hdlr`, §8.4.3).
    struct Handler {
        let type: FourCC
        let name: String
    }

    /// `mdia` (§8.4.1) around a sample table.
    func writeMedia(
        _ handler: Handler, timescale: Timescale, duration: UInt64, flavour: MovieFlavour = .mp4,
        to writer: inout BoxWriter, sampleTable: (inout BoxWriter) -> Void
    ) {
        let version = version(for: duration)
        writer.box("mdia") { writer in
            writer.fullBox("mdhd", version: version) { writer in
                writer.time(created, version: version)
                writer.time(created, version: version)
                writer.u32(timescale.ticksPerSecond)
                writer.time(duration, version: version)
                writer.u16(0x55C4)  // "und"
                writer.zeros(2)
            }
            Self.writeHandler(handler, component: "mhlr", flavour, to: &writer)
            writer.box("minf") { writer in
                switch handler.type {
                case "vide": writer.fullBox("vmhd", flags: 1) { $0.zeros(8) }
                case "soun": writer.fullBox("smhd") { $0.zeros(4) }
                default: writer.fullBox("nmhd") { _ in }
                }
                if flavour == .quickTime {
                    Self.writeHandler(
                        Handler(type: "url ", name: "Data"), component: "dhlr", flavour,
                        to: &writer)
                }
                writer.box("dinf") { writer in
                    writer.fullBox("dref") { writer in
                        writer.u32(1)
                        writer.fullBox("url ", flags: 1) { _ in }  // in this file
                    }
                }
                writer.box("stbl", sampleTable)
            }
        }
    }

    /// `hdlr` (§8.4.3). QuickTime has the component type where ISO has zeros, and a length before the name.
    private static func writeHandler(
        _ handler: Handler, component: FourCC, _ flavour: MovieFlavour, to writer: inout BoxWriter
    ) {
        writer.fullBox("hdlr") { writer in
            switch flavour {
            case .mp4:
                writer.zeros(4)
                writer.fourCC(handler.type)
                writer.zeros(12)
                writer.raw(Array("\(handler.name)\0".utf8))
            case .quickTime:
                writer.fourCC(component)
                writer.fourCC(handler.type)
                writer.zeros(12)
                writer.u8(UInt8(handler.name.utf8.count))
                writer.raw(Array(handler.name.utf8))
            }
        }
    }

    private static func writeUnityMatrix(to writer: inout BoxWriter) {
        for value: UInt32 in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] {
            writer.u32(value)
        }
    }
}

extension BoxWriter {
    /// A time of 32 bits in version 0 of a box, of 64 in version 1.
    fileprivate mutating func time(_ value: UInt64, version: UInt8) {
        if version == 0 {
            u32(UInt32(value))
        } else {
            u64(value)
        }
    }
}

extension Int64 {
    fileprivate func saturatingAdd(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : sum
    }
}
