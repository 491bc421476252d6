import Devices
import Encoding
import Media
import Synchronization

/// Paints and encodes the test pattern.
// @unchecked: see CapturePipeline.
final class TestPicturePipeline: CapturePipeline, @unchecked Sendable {
    let name = "capture video"
    let formats: [TrackFormat]
    var descriptions: [String] {
        ["\(pictures.description.withLock { $0 }) from test pattern"]
    }
    let details: [String]
    let encoder: String?

    private let rate: FrameRate
    private let late: LatePolicy
    private let durationNanoseconds: Int64?
    private var picture: TestPicture
    private let pictures: LivePictures

    init(_ settings: CaptureSettings) throws(CaptureError) {
        let plan = try settings.testPicturePlan()
        do {
            pictures = try LivePictures(plan, for: settings, late: settings.late)
        } catch {
            throw .codec(error.description)
        }
        rate = plan.frameRate
        durationNanoseconds = settings.duration?.nanoseconds
        late = settings.late
        picture = TestPicture(
            size: settings.testPictureSize, sourceName: settings.sourceName,
            utcOffsetNanoseconds: MonotonicClock().utcOffsetNanoseconds)
        formats = [.video(pictures.format)]
        encoder = pictures.plan.encoder
        details = pictures.search.map { [$0] } ?? []
    }

    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd {
        do throws(EncodingError) {
            let end = try capture(startNanoseconds, output)
            try pictures.finish(output)
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
            durationNanoseconds: durationNanoseconds,
            backlog: max(1, rate.pictures(inNanoseconds: late.patienceNanoseconds)))
        while true {
            switch schedule.next(nowNanoseconds: output.nowNanoseconds) {
            case .wait(let time):
                guard output.wait(untilNanoseconds: time) else { return .stopped }
            case .picture(let number, let due):
                guard output.wait(untilNanoseconds: due) else { return .stopped }
                let next = startNanoseconds + rate.nanoseconds(ofPicture: number + 1)
                let frame = picture.paint(
                    number: number, captureNanoseconds: due, durationNanoseconds: next - due)
                try pictures.encode(frame, output)
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
