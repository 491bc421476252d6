import Devices
import Dispatch
import Encoding
import Media
import Synchronization
import Testing

@testable import AgentCore

/// A camera that is read by a separate thread.
@Suite struct QueuedCameraTests {
    /// Returns a picture per call while it has buffers, and counts the calls.
    // @unchecked: read by one thread; what others look at is behind a mutex.
    private final class EagerCamera: CameraInput, @unchecked Sendable {
        static let bufferCount = 6

        let choice = CameraChoice.script(.yuyv)
        let layout: CameraPictureLayout
        let summary = "Eager (/dev/video7)"
        private let pictures: UInt32
        private let failure: String?
        private let state = Mutex((given: UInt32(0), out: 0, leftOut: 0, mostOut: 0))
        private let isRead = DispatchSemaphore(value: 0)
        private let onClose: @Sendable () -> Void

        /// Returns this many pictures; then it fails or stops.
        init(
            _ pictures: UInt32, failure: String? = nil,
            onClose: @escaping @Sendable () -> Void = {}
        ) {
            self.pictures = pictures
            self.failure = failure
            self.onClose = onClose
            layout = CameraPictureLayout(
                coding: choice.coding, size: choice.size, bytesPerRow: choice.size.width * 2,
                colour: nil)
        }

        deinit { onClose() }

        var isShortOfBuffers: Bool { state.withLock { 2 * $0.out >= Self.bufferCount } }
        var mostOut: Int { state.withLock { $0.mostOut } }
        var leftOut: Int { state.withLock { $0.leftOut } }
        var given: Int { state.withLock { Int($0.given) } }

        /// Blocks until this many more have been read; false on timeout.
        func waitForReads(_ count: Int) -> Bool {
            (0..<count).allSatisfy { _ in isRead.wait(timeout: .now() + .seconds(20)) == .success }
        }

        func start() throws(DeviceError) {}
        func requestKeyframe() {}

        func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent {
            let number = state.withLock { state -> UInt32? in
                guard state.given < pictures else { return nil }
                state.given += 1
                guard state.out < Self.bufferCount else {
                    state.leftOut += 1
                    return nil
                }
                state.out += 1
                state.mostOut = max(state.mostOut, state.out)
                return state.given
            }
            guard let number else {
                if let failure, given == pictures { throw .cameraLost("x", reason: failure) }
                MonotonicClock().sleep(
                    untilNanoseconds: MonotonicClock().nowNanoseconds + 1_000_000)
                return .idle
            }
            defer { isRead.signal() }
            let stamp = JumpingClock.start + Int64(number) * 100_000_000
            let buffer = Buffer(self, filledWith: UInt8(truncatingIfNeeded: number))
            return .picture(
                CameraPicture(
                    sequence: number, stampNanoseconds: stamp, isMonotonic: true,
                    takenNanoseconds: stamp + 1_000_000, isDamaged: false, bytes: buffer.bytes,
                    spareBytes: 0, owner: buffer))
        }

        private final class Buffer: @unchecked Sendable {
            let bytes: UnsafeMutableRawBufferPointer
            private let camera: EagerCamera

            init(_ camera: EagerCamera, filledWith byte: UInt8) {
                self.camera = camera
                bytes = .allocate(
                    byteCount: camera.choice.size.width * camera.choice.size.height * 2,
                    alignment: 64)
                bytes.initializeMemory(as: UInt8.self, repeating: byte)
            }

            deinit {
                bytes.deallocate()
                camera.state.withLock { $0.out -= 1 }
            }
        }
    }

    @Test func `waiting pictures are bounded and in order, and leave the driver buffers`() throws {
        let camera = EagerCamera(500)
        let queue = QueuedCamera(camera)
        try queue.start()
        #expect(camera.waitForReads(50))
        queue.close()
        var waiting: [CameraPicture] = []
        while let picture = queue.takeRest() { waiting.append(picture) }
        // Five seconds of ten pictures.
        #expect(waiting.map(\.sequence) == Array(1...50))
        #expect(
            waiting.allSatisfy { picture in
                picture.bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: picture.sequence) }
            })
        #expect(camera.leftOut == 0)
        #expect(camera.mostOut <= EagerCamera.bufferCount / 2 + 1)
    }

    @Test func `a failure follows the pictures before it, and then the camera is closed`() throws {
        let closed = Closed()
        let queue = QueuedCamera(
            EagerCamera(20, failure: "Input/output error") { closed.note() })
        try queue.start()
        var sequences: [UInt32] = []
        var failure: DeviceError?
        while failure == nil {
            do throws(DeviceError) {
                if case .picture(let picture) = try queue.read(timeoutMilliseconds: 20_000) {
                    sequences.append(picture.sequence)
                }
            } catch {
                failure = error
            }
        }
        #expect(sequences == Array(1...20))
        #expect(failure == .cameraLost("x", reason: "Input/output error"))
        queue.close()
        #expect(closed.isTrue)
    }

    private final class Closed: Sendable {
        private let flag = Atomic(false)
        func note() { flag.store(true, ordering: .releasing) }
        var isTrue: Bool { flag.load(ordering: .acquiring) }
    }

    // MARK: The whole pipeline

    /// Runs a pipeline whose encoder stands still after three pictures, until the camera has given `pictures`.
    private func capture(
        _ late: LatePolicy, _ camera: EagerCamera, standingStillFor pictures: Int, seconds: Int?,
        clock: JumpingClock = JumpingClock(),
        then: @escaping @Sendable (CaptureHub) -> Void = { _ in }
    ) throws -> (result: CollectingSink.Result, isRead: Bool) {
        var settings = quickSettings(seconds: seconds)
        settings.late = late
        var next: EagerCamera? = camera
        let pipeline = try CameraPipeline("/dev/video7", settings: settings, clock: clock) {
            () throws(DeviceError) in
            guard let camera = next else { throw .noCamera("/dev/video7", available: []) }
            next = nil
            return camera
        }
        let hubs = Mutex<CaptureHub?>(nil)
        let state = Standstill()
        let sink = CollectingSink { count in
            guard count == 3 else { return }
            state.isRead = camera.waitForReads(pictures)
            // Without them the pipeline would wait for ever.
            if !state.isRead { hubs.withLock { $0 }?.stop() }
            if let hub = hubs.withLock({ $0 }) { then(hub) }
        }
        let hub = CaptureHub(sink: sink, clock: clock)
        hubs.withLock { $0 = hub }
        _ = hub.adopt(pipeline.formats)
        hub.pipelineBegan(1)
        let end = pipeline.run(startNanoseconds: JumpingClock.start, output: CaptureOutput(hub))
        hub.pipelineEnded(1, end, isRetired: false)
        hubs.withLock { $0 = nil }
        return (sink.wait(), state.isRead)
    }

    private final class Standstill: Sendable {
        private let flag = Atomic(false)
        var isRead: Bool {
            get { flag.load(ordering: .acquiring) }
            set { flag.store(newValue, ordering: .releasing) }
        }
    }

    @Test func `an encoder stall loses no picture of a camera if late ones are kept`() throws {
        let camera = EagerCamera(80)
        let (result, isRead) = try capture(.keep, camera, standingStillFor: 45, seconds: 6)
        #expect(isRead, "nobody reads the camera while the encoder is busy")
        #expect(result.losses.isEmpty && camera.leftOut == 0)
        #expect(result.video.count == 59)
        #expect(result.ends == [.finished("duration reached")])
    }

    @Test func `pictures that wait when the capture is stopped are recorded`() throws {
        let camera = EagerCamera(40)
        let (result, isRead) = try capture(.keep, camera, standingStillFor: 40, seconds: nil) {
            $0.stop()
        }
        #expect(isRead && result.video.count == 40 && result.losses.isEmpty)
        #expect(result.ends == [.finished("stopped")])
    }

    @Test func `pictures that have waited too long at the stop are counted as lost`() throws {
        let clock = JumpingClock()
        let camera = EagerCamera(40)
        let (result, isRead) = try capture(
            .keep, camera, standingStillFor: 40, seconds: nil, clock: clock
        ) { hub in
            clock.sleep(untilNanoseconds: JumpingClock.start + 60_000_000_000)
            hub.stop()
        }
        #expect(isRead && result.video.count == 3)
        #expect(result.losses.allSatisfy { $0.cause == .encoderOverload })
        #expect(result.losses.reduce(0) { $0 + $1.samples } == 37)
    }
}
