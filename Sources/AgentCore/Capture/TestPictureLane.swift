import Devices
import Encoding
import Media

/// Paints and encodes the test pattern.
// @unchecked: see CaptureLane.
final class TestPictureLane: CaptureLane, @unchecked Sendable {
    let name = "capture video"
    let formats: [TrackFormat]
    let descriptions: [String]

    private let rate: FrameRate
    private let durationNanoseconds: Int64?
    private var picture: TestPicture
    private var encoder: VideoEncoder

    init(_ settings: CaptureSettings) throws(CaptureError) {
        let plan = try settings.testPicturePlan()
        do {
            encoder = try VideoEncoder(plan)
        } catch {
            throw .codec(error.description)
        }
        rate = plan.frameRate
        durationNanoseconds = settings.duration?.nanoseconds
        picture = TestPicture(
            size: plan.size, sourceName: settings.sourceName,
            utcOffsetNanoseconds: MonotonicClock().utcOffsetNanoseconds)
        formats = [.h264(encoder.format)]
        descriptions = [CaptureDescription.video(plan, from: "test pattern")]
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
        var schedule = PictureSchedule(
            rate: rate, startNanoseconds: startNanoseconds,
            durationNanoseconds: durationNanoseconds)
        while true {
            switch schedule.next(nowNanoseconds: output.nowNanoseconds) {
            case .wait(let time):
                guard output.wait(untilNanoseconds: time) else { return .stopped }
            case .picture(let number, let due):
                guard output.wait(untilNanoseconds: due) else { return .stopped }
                let next = startNanoseconds + rate.nanoseconds(ofPicture: number + 1)
                let frame = picture.paint(
                    number: number, captureNanoseconds: due, durationNanoseconds: next - due)
                try encoder.encode(frame, emit: output.sample)
            case .skipped(let count, let start, let duration):
                output.lost(
                    CaptureLoss(
                        track: .video, cause: .encoderOverload, startNanoseconds: start,
                        durationNanoseconds: duration, samples: count,
                        text: "the encoder was too slow for \(count) pictures"))
            case .finished:
                return .durationReached
            }
        }
    }
}
