import Encoding
import Media
import RTSP

/// Records a network camera's audio without transcoding.
final class NetworkSound: NetworkTrack {
    let kind = TrackKind.audio
    let text: String
    var times: UnitTimes
    var progress: NetworkProgress
    var reports: [CameraReport] = []
    private var copier: AudioCopier
    private let delay: Int64
    private var clockRate: UInt32
    /// The camera sends a codec that this track records.
    private var isUsable = true

    init(
        _ description: CameraTrackDescription, _ format: AudioFormat, durationNanoseconds: Int64?,
        delayNanoseconds: Int64 = 0
    ) throws(EncodingError) {
        delay = delayNanoseconds
        clockRate = description.clockRate
        copier = try Self.copier(format)
        let duration = Self.duration(format)
        times = Self.times(duration, clockRate, delay)
        progress = NetworkProgress(
            .audio, durationNanoseconds: durationNanoseconds, intervalNanoseconds: duration,
            delayNanoseconds: delay)
        text = CaptureDescription.copiedAudio(copier.format)
    }

    private static func copier(_ format: AudioFormat) throws(EncodingError) -> AudioCopier {
        try AudioCopier(
            CodedTrack(
                codec: format.codec.libraryName, codecTag: 0, configuration: format.configuration,
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: Int(format.sampleRate), channels: Int(format.channels)))),
            firstPacket: nil)
    }

    /// Duration of one packet, nanoseconds.
    private static func duration(_ format: AudioFormat) -> Int64 {
        Timescale(max(1, format.sampleRate)).nanoseconds(Int64(format.packetFrames))
    }

    private static func times(_ duration: Int64, _ clockRate: UInt32, _ delay: Int64) -> UnitTimes {
        let ticks = saturatingRescale(
            duration, from: .nanoseconds, to: Timescale(max(1, clockRate)))
        return UnitTimes(
            clockRate: clockRate, usualDuration: duration, length: .ticks(ticks),
            delayNanoseconds: delay)
    }

    var format: TrackFormat { .audio(copier.format) }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        isUsable = description.audioFormat != nil
        clockRate = description.clockRate
        guard let format = description.audioFormat else {
            times = UnitTimes(clockRate: description.clockRate, delayNanoseconds: delay)
            return
        }
        times = Self.times(Self.duration(format), clockRate, delay)
        guard format != copier.format else { return }
        copier = try Self.copier(format)
        output.formatChanged(.audio(copier.format))
    }

    func record(_ timed: UnitTimes.Timed, _ output: CaptureOutput) throws(EncodingError) {
        guard progress.isNew(atNanoseconds: timed.ptsNanoseconds) else { return }
        guard isUsable else { return progress.dropOtherCodec() }
        guard var sample = try copier.copy(CodedPacket(timed, .audio)) else { return }
        stamp(&sample, timed.unit, clockRate: clockRate)
        progress.record(sample, output)
        output.sample(sample)
    }
}
