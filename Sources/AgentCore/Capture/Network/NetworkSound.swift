import Encoding
import Media
import RTSP

/// A network camera's own AAC, bit for bit, however it is packetised.
final class NetworkSound: NetworkTrack {
    let kind = TrackKind.audio
    let text: String
    private(set) var isDone = false
    private(set) var isFlowing = false
    private var copier: AACCopier
    private var times: UnitTimes
    private var progress: NetworkProgress
    private let delay: Int64
    /// Whether what the camera sends now can be recorded.
    private var isUsable = true

    private static let otherCodec =
        "since it is back, the camera sends its sound in another codec: restart the agent"

    init(
        _ description: CameraTrackDescription, _ format: AudioFormat, durationNanoseconds: Int64?,
        delayNanoseconds: Int64 = 0
    ) throws(EncodingError) {
        delay = delayNanoseconds
        copier = try Self.copier(format)
        let duration = try Self.duration(format)
        times = UnitTimes(
            clockRate: description.clockRate, usualDuration: duration, delayNanoseconds: delay)
        progress = NetworkProgress(
            .audio, durationNanoseconds: durationNanoseconds, intervalNanoseconds: duration)
        text = CaptureDescription.copiedAudio(copier.format)
    }

    private static func copier(_ format: AudioFormat) throws(EncodingError) -> AACCopier {
        try AACCopier(
            CodedTrack(
                codec: "aac", codecTag: 0, configuration: format.configuration,
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: Int(format.sampleRate), channels: Int(format.channels),
                        blockBytes: 0, bitsPerSample: 0, bitRate: 0))), firstPacket: nil)
    }

    /// Of one packet, nanoseconds.
    private static func duration(_ format: AudioFormat) throws(EncodingError) -> Int64 {
        do throws(BitstreamError) {
            let parsed = try AudioSpecificConfig(parsing: format.configuration)
            return saturatingRescale(
                Int64(parsed.framesPerPacket), from: Timescale(max(1, format.sampleRate)),
                to: .nanoseconds)
        } catch {
            throw .damagedSample(codec: "aac", atNanoseconds: 0, reason: error.description)
        }
    }

    var format: TrackFormat { .audio(copier.format) }

    func begin(startNanoseconds: Int64) {
        progress.limit.begin(startNanoseconds: startNanoseconds)
    }

    func take(_ items: [DepacketizedItem], _ output: CaptureOutput) throws(EncodingError) {
        for item in items {
            try record(times.add(item, now: output.nowNanoseconds), output)
        }
    }

    func tick(_ output: CaptureOutput) throws(EncodingError) {
        try record(times.tick(now: output.nowNanoseconds), output)
        progress.tick(output)
    }

    func interrupt(_ reason: String, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        progress.miss(.deviceLost, reason)
        isFlowing = false
    }

    func resume(
        _ description: CameraTrackDescription, _ output: CaptureOutput
    ) throws(EncodingError) {
        isUsable = description.aacFormat != nil
        guard let format = description.aacFormat else {
            times = UnitTimes(clockRate: description.clockRate, delayNanoseconds: delay)
            return
        }
        let duration = try Self.duration(format)
        times = UnitTimes(
            clockRate: description.clockRate, usualDuration: duration, delayNanoseconds: delay)
        guard format != copier.format else { return }
        copier = try Self.copier(format)
        output.formatChanged(.audio(copier.format))
    }

    func finish(atNanoseconds end: Int64, _ output: CaptureOutput) throws(EncodingError) {
        try record(times.flush(), output)
        progress.finish(atNanoseconds: end, output)
    }

    private func record(
        _ items: [UnitTimes.Item], _ output: CaptureOutput
    ) throws(EncodingError) {
        for item in items {
            switch item {
            case .unit(let timed): try record(timed, output)
            case .hole(let hole): progress.note(hole)
            }
        }
    }

    private func record(
        _ timed: UnitTimes.Timed, _ output: CaptureOutput
    ) throws(EncodingError) {
        progress.note(times.takeFindings(), atNanoseconds: timed.ptsNanoseconds, output)
        if isDone || progress.limit.isReached(atNanoseconds: timed.ptsNanoseconds) {
            isDone = true
            return
        }
        // A camera may begin with what it has kept; that of before is recorded, or was never wanted.
        guard isFlowing || timed.ptsNanoseconds >= progress.dueNanoseconds else { return }
        guard isUsable else {
            progress.miss(.deviceLost, Self.otherCodec)
            return progress.drop("")
        }
        let bytes = timed.unit.data.withUnsafeBytes { PaddedBytes($0) }
        let packet = CodedPacket(
            track: .audio, ptsNanoseconds: timed.ptsNanoseconds,
            dtsNanoseconds: timed.ptsNanoseconds, durationNanoseconds: 0, isKeyframe: true,
            isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil,
            bytes: bytes.bytes, owner: bytes)
        guard let sample = try copier.copy(packet) else { return }
        progress.record(sample, output)
        isFlowing = true
        output.sample(sample)
    }
}
