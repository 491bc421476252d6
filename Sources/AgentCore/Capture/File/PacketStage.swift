import Encoding
import Media

/// Processes one track of a file: packets in, encoded samples out. Used on one thread.
protocol PacketStage: AnyObject {
    /// The output format.
    var format: TrackFormat { get }
    /// Human-readable description of input and processing.
    var text: String { get }
    /// libavcodec's name of the video encoder; nil without one.
    var encoder: String? { get }
    /// A note about the selected encoder.
    var note: String? { get }
    /// The wanted duration is over: no more packets are needed.
    var isDone: Bool { get }
    /// Sets the time of the file's zero.
    func begin(startNanoseconds: Int64)
    /// Processes the next packet of the track.
    func take(_ packet: CodedPacket, _ output: CaptureOutput) throws(EncodingError)
    /// Outputs pending samples.
    func finish(_ output: CaptureOutput) throws(EncodingError)
}

extension PacketStage {
    var encoder: String? { nil }
    var note: String? { nil }
}

/// The wanted duration of a track.
struct CaptureLimit {
    private let durationNanoseconds: Int64?
    private(set) var startNanoseconds: Int64 = 0

    init(durationNanoseconds: Int64?) {
        self.durationNanoseconds = durationNanoseconds
    }

    mutating func begin(startNanoseconds: Int64) { self.startNanoseconds = startNanoseconds }

    /// Whether `time` is at or after the end of the wanted duration; false without a duration.
    func isReached(atNanoseconds time: Int64) -> Bool {
        durationNanoseconds.map { time - startNanoseconds >= $0 } ?? false
    }

    /// The part of the audio before the end.
    func part(of sound: RawAudio) -> RawAudio {
        guard let durationNanoseconds else { return sound }
        // Times are rounded to nanoseconds: a frame that begins within a microsecond of the end is past it.
        let left = startNanoseconds + durationNanoseconds - sound.captureNanoseconds - 1000
        let frames = (Int128(left) * Int128(sound.layout.sampleRate) + 999_999_999) / 1_000_000_000
        return sound.prefix(Int(clamping: frames))
    }
}

/// A damaged packet is a loss, not the end: later ones may be intact.
extension CaptureOutput {
    func lostDamaged(_ packet: CodedPacket, _ error: EncodingError) {
        lost(
            CaptureLoss(
                track: packet.track, cause: .damagedInput,
                startNanoseconds: packet.ptsNanoseconds ?? packet.dtsNanoseconds,
                durationNanoseconds: packet.durationNanoseconds, samples: 1,
                text: error.description))
    }
}
