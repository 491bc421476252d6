import CFFmpeg
package import Media

/// Decodes audio of any codec that libavcodec supports, and drops frames that the container marks as not presented.
///
/// Belongs to one thread.
package struct AudioDecoder: ~Copyable {
    private var decoder: Decoder
    private var lastEndNanoseconds: Int64?

    /// Opens a decoder for the track.
    package init(_ track: CodedTrack) throws(EncodingError) {
        decoder = try Decoder(track, threads: 1)
    }

    /// Decodes a packet; `emit` receives the decoded audio.
    package mutating func decode(
        _ packet: CodedPacket, emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        try run(packet, emit: emit)
    }

    /// Flushes the decoder.
    package mutating func finish(
        emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        try run(nil, emit: emit)
    }

    private mutating func run(
        _ packet: CodedPacket?, emit: (RawAudio) throws(EncodingError) -> Void
    ) throws(EncodingError) {
        var lastEnd = lastEndNanoseconds
        defer { lastEndNanoseconds = lastEnd }
        let codec = decoder.codec
        try decoder.decode(packet) { (box) throws(EncodingError) in
            let frame = box.frame.pointee
            guard let layout = AudioLayout(frame) else {
                throw .noConversion(
                    from: "\(codec) audio in this sample format", to: AudioCodec.list)
            }
            let count = layout.isPlanar ? layout.channels : 1
            let planes = (0..<count).compactMap { frame.extended_data?[$0] }
            guard planes.count == count else {
                throw .noConversion(from: "\(codec) audio without data", to: AudioCodec.list)
            }
            let time = frame.best_effort_timestamp
            let start = time == CFFmpeg_NOPTS_VALUE ? lastEnd ?? 0 : time
            let frames = Int64(frame.nb_samples)
            lastEnd = start + nanoseconds(frames: frames, rate: layout.sampleRate)
            try emit(
                RawAudio(
                    layout: layout, planes: planes.map { UnsafeRawPointer($0) },
                    frameCount: Int(frames), captureNanoseconds: start, owner: box))
        }
    }
}
