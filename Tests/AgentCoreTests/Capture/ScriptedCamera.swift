import Devices
import Media
import Synchronization

@testable import AgentCore

/// A camera that follows a script, on the test's thread and clock.
final class ScriptedCamera: CameraInput {
    enum Step {
        /// Pictures at the camera's rate.
        case pictures(Int)
        /// The driver drops this number of pictures, and counts them.
        case drop(Int)
        /// The next picture is marked as damaged.
        case damage
        /// The next picture has fewer bytes than a picture.
        case cut
        /// Stamps are of another clock from here on.
        case foreignStamps
        case goodStamps
        /// No more pictures, and no error.
        case freeze
        /// A call fails.
        case fail(String)
    }

    let choice: CameraChoice
    let layout: CameraPictureLayout
    let summary = "Scripted (/dev/video7)"
    /// Requested from its own encoder.
    var keyframeRequests: Int { requests.load(ordering: .relaxed) }
    /// Buffers that are not the driver's at this moment.
    let outstanding = Mutex(0)

    private let requests = Atomic(0)
    private let clock: JumpingClock
    private let startNanoseconds: Int64
    private var steps: [Step]
    private var pictures = 0
    private var isDamaged = false
    private var isCut = false
    private var hasForeignStamps = false
    private var sequence: UInt32
    private var number: Int64 = 0
    private let content: (Int64) -> [UInt8]

    /// Its pictures' bytes come from `content`, by their number.
    init(
        _ steps: [Step], clock: JumpingClock, choice: CameraChoice = .script(.yuyv),
        firstSequence: UInt32 = 0,
        content: @escaping (Int64) -> [UInt8] = { _ in
            ScriptedCamera.greyPicture
        }
    ) {
        self.steps = steps.reversed()
        self.clock = clock
        self.choice = choice
        self.content = content
        sequence = firstSequence
        layout = CameraPictureLayout(
            coding: choice.coding, size: choice.size, bytesPerRow: choice.size.width * 2,
            colour: nil)
        startNanoseconds = clock.nowNanoseconds
    }

    /// YUYV, 160 × 90.
    static let greyPicture = [UInt8](repeating: 0x80, count: 160 * 90 * 2)

    func start() throws(DeviceError) {}

    func requestKeyframe() { requests.add(1, ordering: .relaxed) }

    func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent {
        while pictures == 0 {
            switch steps.popLast() {
            case .pictures(let count): pictures = count
            case .drop(let count):
                number += Int64(count)
                sequence &+= UInt32(count)
            case .damage: isDamaged = true
            case .cut: isCut = true
            case .foreignStamps: hasForeignStamps = true
            case .goodStamps: hasForeignStamps = false
            case .freeze, nil:
                steps.append(.freeze)
                clock.sleep(
                    untilNanoseconds: clock.nowNanoseconds
                        + Int64(timeoutMilliseconds) * 1_000_000)
                return .idle
            case .fail(let reason): throw .cameraLost("/dev/video7", reason: reason)
            }
        }
        pictures -= 1
        number += 1
        defer {
            sequence &+= 1
            isDamaged = false
            isCut = false
        }
        let stamp = startNanoseconds + choice.recordedRate.nanoseconds(ofPicture: number)
        clock.sleep(untilNanoseconds: stamp + 2_000_000)
        let bytes = content(number)
        let buffer = Buffer(isCut ? bytes.dropLast(bytes.count / 2) : bytes[...], self)
        return .picture(
            CameraPicture(
                sequence: sequence, stampNanoseconds: hasForeignStamps ? .max - 5 : stamp,
                isMonotonic: true, takenNanoseconds: clock.nowNanoseconds, isDamaged: isDamaged,
                bytes: buffer.bytes, spareBytes: 0, owner: buffer))
    }

    private final class Buffer: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
        private let camera: ScriptedCamera

        init(_ content: ArraySlice<UInt8>, _ camera: ScriptedCamera) {
            bytes = .allocate(byteCount: content.count, alignment: 64)
            bytes.copyBytes(from: content)
            self.camera = camera
            camera.outstanding.withLock { $0 += 1 }
        }

        deinit {
            bytes.deallocate()
            camera.outstanding.withLock { $0 -= 1 }
        }
    }
}

/// Runs a pipeline to its end, alone.
/// - Parameter begun: receives the pipeline's output before the start.
func capture(
    _ pipeline: any CapturePipeline, into sink: CollectingSink, clock: any CaptureClock,
    begun: (CaptureOutput) -> Void = { _ in }
) {
    let hub = CaptureHub(sink: sink, clock: clock)
    let output = CaptureOutput(hub)
    begun(output)
    _ = hub.adopt(pipeline.formats)
    hub.pipelineBegan(1)
    let end = pipeline.run(startNanoseconds: clock.nowNanoseconds, output: output)
    hub.pipelineEnded(1, end, isRetired: false)
}

extension CameraChoice {
    /// 160 × 90 at 10 pictures per second.
    static func script(_ code: CameraPixelCode, camera rate: Int32 = 10) -> CameraChoice {
        let size = PictureSize(width: 160, height: 90)
        return CameraChoice(
            code: code, size: size, rate: FrameRate(rate), recordedSize: size,
            recordedRate: FrameRate(10), h264: nil, reason: "the script says so", notes: [])
    }
}
