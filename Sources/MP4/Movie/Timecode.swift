package import Media

/// The time of day at which a file begins, for its timecode track (QuickTime File Format, "Timecode Media").
///
/// The track begins with the file, even if no other track does. FFmpeg, and players based on it, begin each input with
/// its first track: without this one, files with the same name would not begin together. Editors align cameras by it.
package struct Timecode: Hashable, Sendable {
    /// Common timecode rates; FFmpeg warns about others.
    private static let usualFramesPerSecond: [UInt32] = [24, 25, 30, 48, 50, 60, 100, 120]
    /// Stored in one byte of the track's description.
    private static let maximumFramesPerSecond: UInt32 = 240
    /// Rate for a stream without timing information, or without video.
    private static let defaultFramesPerSecond: UInt32 = 25
    private static let nanosecondsPerDay: Int64 = 86_400_000_000_000

    /// An integer, one of the common rates: a camera of 29.97 has 30, with labels of the wall clock; one of 15 has 30
    /// too.
    package let framesPerSecond: UInt32
    /// Frames since midnight, UTC.
    package let frame: UInt32

    /// - Parameter startNanoseconds: since 1970, UTC.
    package init(startNanoseconds: Int64, framesPerSecond: UInt32) {
        precondition((1...Self.maximumFramesPerSecond).contains(framesPerSecond))
        self.framesPerSecond = framesPerSecond
        var day = startNanoseconds % Self.nanosecondsPerDay
        if day < 0 { day += Self.nanosecondsPerDay }
        frame = UInt32(day / 1_000 * Int64(framesPerSecond) / 1_000_000)
    }

    /// The time of day at the frame rate of these tracks' pictures.
    package init(startNanoseconds: Int64, tracks: [TrackFormat]) {
        self.init(
            startNanoseconds: startNanoseconds,
            framesPerSecond: tracks.lazy.compactMap(Self.framesPerSecond).first
                ?? Self.defaultFramesPerSecond)
    }

    /// The frame rate in the parameter sets.
    private static func framesPerSecond(_ format: TrackFormat) -> UInt32? {
        // A file with invalid parameter sets is rejected when its tracks are written.
        guard case .video(let format) = format,
            let duration = format.knownProperties?.frameDuration
        else { return nil }
        let rate = (UInt64(duration.timescale) + duration.ticks / 2) / duration.ticks
        return usualFramesPerSecond.first { rate > 0 && UInt64($0) % rate == 0 }
    }

    // MARK: In the file's first moov

    /// Type of the `uuid` box that contains it: frames per second and the frame, four bytes each.
    static let userType: [UInt8] = [
        0x5C, 0x1D, 0x72, 0x0E, 0x2B, 0x90, 0x4A, 0x6F, 0x86, 0xE1, 0x54, 0x52, 0x49, 0x42, 0x55,
        0xF3,
    ]

    /// The box, whose last four bytes are the timecode track's only sample.
    var box: UserBox {
        var writer = BoxWriter(reserving: 8)
        writer.u32(framesPerSecond)
        writer.u32(frame)
        return UserBox(userType: Self.userType, payload: writer.bytes)
    }

    /// Parses the box's payload.
    init(parsing fields: inout FieldReader) throws(MP4Error) {
        framesPerSecond = try fields.u32()
        guard (1...Self.maximumFramesPerSecond).contains(framesPerSecond) else {
            throw fields.invalid("a timecode of \(framesPerSecond) frames per second")
        }
        frame = try fields.u32()
    }
}

/// A timecode, and the file offset of its sample.
package struct RecordedTimecode: Hashable, Sendable {
    package let timecode: Timecode
    package let sampleOffset: Int64

    /// Version 0.1.0 omitted the track if a track began within this time after the file.
    private static let toleranceMilliseconds: UInt64 = 1

    /// Whether no track begins with the file.
    /// - Parameter waits: time from the start of the file to the start of each track, ticks.
    private static func isNeeded(waits: [UInt64], timescale: Timescale) -> Bool {
        let tolerance = UInt64(timescale.ticksPerSecond) * toleranceMilliseconds / 1_000
        return waits.min() ?? 0 > tolerance
    }

    /// Whether a final `moov` has its track. One of version 0.1.0 may have none if a track begins with the file.
    package func isTold(by movie: Movie) -> Bool {
        let waits = movie.tracks.filter { $0.kind != nil }.map { track in
            track.edits.first.map { $0.mediaTime < 0 ? $0.segmentDuration : 0 } ?? 0
        }
        let told = movie.tracks.filter { $0.handler == "tmcd" }
        if told.isEmpty { return !Self.isNeeded(waits: waits, timescale: movie.timescale) }
        return told.count == 1
            && told.allSatisfy { track in
                track.samples.offsets == [sampleOffset]
                    && track.samples.sizesBytes.map(Int64.init) == [Self.sampleSizeBytes]
                    && track.edits == [Edit(segmentDuration: movie.duration, mediaTime: 0)]
            }
    }

    /// Parses the box of an initial `moov`.
    init(parsing box: BoxView) throws(MP4Error) {
        var fields = box.fields
        timecode = try Timecode(parsing: &fields)
        sampleOffset = fields.offset - RecordedTimecode.sampleSizeBytes
    }
}

extension RecordedTimecode {
    static let trackID = UInt32(TrackKind.allCases.count + 1)
    static let sampleSizeBytes: Int64 = 4

    /// Writes the track, which spans the whole file: one sample, the number of its first frame.
    ///
    /// - Parameter duration: of the file, ticks of `movieTimescale`.
    func writeTrack(
        duration: UInt64, movieTimescale: Timescale, boxes: MovieBoxes, to writer: inout BoxWriter
    ) {
        let rate = timecode.framesPerSecond
        let ticks = UInt64(movieTimescale.ticksPerSecond)
        // Rounded up: the sample lasts until the end of the file.
        let (product, overflow) = duration.multipliedReportingOverflow(by: UInt64(rate))
        let frames = UInt32(clamping: overflow ? .max : max(1, product / ticks + 1))
        writer.box("trak") { writer in
            // In the movie, but not for playback.
            boxes.writeTrackHeader(id: Self.trackID, flags: 2, duration: duration, to: &writer)
            boxes.writeEdits([Edit(segmentDuration: duration, mediaTime: 0)], to: &writer)
            boxes.writeMedia(
                .init(type: "tmcd", name: "Time code"), timescale: Timescale(rate),
                duration: UInt64(frames), to: &writer
            ) { writer in
                writer.fullBox("stsd") { writer in
                    writer.u32(1)
                    writer.box("tmcd") { writeEntry(to: &$0) }
                }
                writer.fullBox("stts") { writer in
                    for value in [1, 1, frames] { writer.u32(value) }
                }
                writer.fullBox("stsc") { writer in
                    for _ in 0..<4 { writer.u32(1) }
                }
                writer.fullBox("stsz") { writer in
                    writer.u32(UInt32(Self.sampleSizeBytes))
                    writer.u32(1)
                }
                // Above 4 GiB if the start of a file was moved there.
                if let offset = UInt32(exactly: sampleOffset) {
                    writer.fullBox("stco") { writer in
                        writer.u32(1)
                        writer.u32(offset)
                    }
                } else {
                    writer.fullBox("co64") { writer in
                        writer.u32(1)
                        writer.i64(sampleOffset)
                    }
                }
            }
        }
    }

    /// TimeCodeSampleEntry with a 24-hour clock.
    private func writeEntry(to writer: inout BoxWriter) {
        writer.zeros(6)
        writer.u16(1)  // data_reference_index
        writer.zeros(4)
        writer.u32(2)  // 24 hour maximum
        writer.u32(timecode.framesPerSecond)  // timescale
        writer.u32(1)  // frame duration
        writer.u8(UInt8(timecode.framesPerSecond))
        writer.u8(0)
    }

    /// `tref` (ISO/IEC 14496-12 §8.3.3) from a track to its timecode track.
    static func writeReference(to writer: inout BoxWriter) {
        writer.box("tref") { writer in
            writer.box("tmcd") { $0.u32(trackID) }
        }
    }
}
