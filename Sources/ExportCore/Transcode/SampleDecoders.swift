import Archive
import Containers
import Encoding
import Recordings
import Media

extension RecordedSample {
    /// The sample for a decoder, with session times.
    func packet() throws -> CodedPacket {
        let bytes = try read().withUnsafeBytes { PaddedBytes($0) }
        return CodedPacket(
            track: track, ptsNanoseconds: ptsNanoseconds,
            dtsNanoseconds: dtsNanoseconds,
            durationNanoseconds: durationNanoseconds,
            isKeyframe: flags.contains(.keyframe), isDiscarded: flags.contains(.priming),
            skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil,
            bytes: bytes.bytes, owner: bytes)
    }
}

/// Decodes a recording's pictures in display orientation. Times are the session's, nanoseconds. The format may change.
struct RecordedPictures: ~Copyable {
    private var decoder: VideoDecoder?
    private var format: TrackFormat?
    private let threads: Int
    /// Packets that could not be decoded.
    private(set) var damaged = 0

    /// - Parameter threads: 0: automatic.
    init(threads: Int = 0) {
        self.threads = threads
    }

    /// Decodes the next sample; `emit` receives pictures in presentation order.
    mutating func decode(_ sample: RecordedSample, emit: (RawFrame) throws -> Void) throws {
        if sample.format != format {
            try finish(emit: emit)
            decoder = try VideoDecoder(CodedTrack(sample.format), threads: threads)
            format = sample.format
        }
        var frames: [RawFrame] = []
        let packet = try sample.packet()
        do throws(EncodingError) {
            try decoder?.decode(packet) { frame throws(EncodingError) in frames.append(frame) }
        } catch {
            guard case .damagedPacket = error else { throw error }
            damaged += 1
        }
        let orientation = sample.format.orientation
        for frame in frames { try emit(try frame.turned(orientation)) }
    }

    /// Flushes the decoder.
    mutating func finish(emit: (RawFrame) throws -> Void) throws {
        var frames: [RawFrame] = []
        try decoder?.finish { frame throws(EncodingError) in frames.append(frame) }
        let orientation = format?.orientation ?? .upright
        decoder = nil
        format = nil
        for frame in frames { try emit(try frame.turned(orientation)) }
    }
}

/// Decodes a recording's audio, without priming and an encoder's padding of the last packet. Times are the session's,
/// nanoseconds.
struct RecordedAudio: ~Copyable {
    private var decoder: AudioDecoder?
    private var format: TrackFormat?
    /// Decoded audio that may be the last.
    private var held: RawAudio?
    private var endNanoseconds: Int64 = .min
    private(set) var damaged = 0

    /// Decodes the next sample; `emit` receives the decoded audio.
    mutating func decode(_ sample: RecordedSample, emit: (RawAudio) throws -> Void) throws {
        if sample.format != format {
            try finish(emit: emit)
            decoder = try AudioDecoder(CodedTrack(sample.format))
            format = sample.format
        }
        var sounds: [RawAudio] = []
        let packet = try sample.packet()
        do throws(EncodingError) {
            try decoder?.decode(packet) { sound throws(EncodingError) in sounds.append(sound) }
        } catch {
            guard case .damagedPacket = error else { throw error }
            damaged += 1
        }
        endNanoseconds = sample.endNanoseconds
        // The decoder drops the output of priming packets.
        for sound in sounds { try pass(sound, emit: emit) }
    }

    /// Flushes the decoder.
    mutating func finish(emit: (RawAudio) throws -> Void) throws {
        var sounds: [RawAudio] = []
        try decoder?.finish { sound throws(EncodingError) in sounds.append(sound) }
        for sound in sounds { try pass(sound, emit: emit) }
        if let held {
            let left = endNanoseconds - held.captureNanoseconds
            let rate = Int64(held.layout.sampleRate)
            // To the nearest frame: times are rounded to nanoseconds.
            let frames = (left * rate + 500_000_000) / 1_000_000_000
            let last = held.prefix(Int(clamping: max(0, frames)))
            if last.frameCount > 0 { try emit(last) }
        }
        held = nil
        decoder = nil
        format = nil
    }

    private mutating func pass(_ sound: RawAudio, emit: (RawAudio) throws -> Void) throws {
        if let held { try emit(held) }
        held = sound
    }
}
