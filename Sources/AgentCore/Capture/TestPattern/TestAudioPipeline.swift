import Devices
import Encoding
import Media

/// Generates and encodes the test sound.
///
/// It never skips: late audio is generated with the time at which it was due.
// @unchecked: see CapturePipeline.
final class TestAudioPipeline: CapturePipeline, @unchecked Sendable {
    let name = "capture audio"
    let formats: [TrackFormat]
    let descriptions: [String]

    /// Like a sound card's periods: one AAC packet each.
    private static let periodFrames: Int64 = 1024

    private let totalFrames: Int64?
    private var encoder: AudioEncoder

    init(_ settings: CaptureSettings) throws(CaptureError) {
        let plan = try settings.soundPlan(sourceRate: 48_000, sourceChannels: 2)
        do {
            encoder = try AudioEncoder(plan)
        } catch {
            throw .codec(error.description)
        }
        totalFrames = settings.duration.map {
            Int64(Int128($0.nanoseconds) * Int128(plan.sampleRate) / 1_000_000_000)
        }
        formats = [.audio(encoder.format)]
        descriptions = [CaptureDescription.sound(plan, from: "test sound")]
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        do throws(EncodingError) {
            let end = try capture(startNanoseconds, output)
            try encoder.finish(emit: output.sample)
            return end
        } catch {
            return .failed(error.description)
        }
    }

    private func capture(
        _ startNanoseconds: Int64, _ output: CaptureOutput
    ) throws(EncodingError) -> CaptureEnd {
        var sound = TestAudio(
            sampleRate: encoder.settings.sampleRate, channels: encoder.settings.channels,
            startNanoseconds: startNanoseconds)
        var made: Int64 = 0
        while true {
            let count = totalFrames.map { min($0 - made, Self.periodFrames) } ?? Self.periodFrames
            if count <= 0 { return .durationReached }
            made += count
            guard output.wait(untilNanoseconds: sound.captureNanoseconds(ofFrame: made)) else {
                return .stopped
            }
            try encoder.encode(sound.next(Int(count)), emit: output.sample)
            if let levels = encoder.takeLevels() {
                output.heard(AudioReport(levels: levels, skewPPM: nil))
            }
        }
    }
}
