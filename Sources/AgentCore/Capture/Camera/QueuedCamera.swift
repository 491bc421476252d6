import Devices
import Dispatch
import Media
import Synchronization
import Threads

/// Reads a camera on a separate thread, so that pictures are queued in memory while the encoder is busy, and not only in the
/// driver's few buffers: `--late keep`.
///
/// A picture stays in its driver buffer while the driver has enough others; further queued pictures are copied. Not for
/// cameras that encode. The camera is closed when this object is released.
final class QueuedCamera: CameraInput {
    let choice: CameraChoice
    let layout: CameraPictureLayout
    let summary: String

    private let room: PictureHandOff
    /// Owned by the thread once that is started.
    private var camera: (any CameraInput)?
    private var isStarted = false

    /// - Parameter camera: open, not started, and owned by this object from here on.
    init(_ camera: any CameraInput) {
        choice = camera.choice
        layout = camera.layout
        summary = camera.summary
        room = PictureHandOff(PictureQueue(rate: choice.rate ?? choice.recordedRate))
        self.camera = camera
    }

    deinit { close() }

    func start() throws(DeviceError) {
        guard let camera else { return }
        try camera.start()
        let reader = Reader(camera)
        self.camera = nil
        isStarted = true
        NamedThread.start("read camera") { [room] in reader.run(into: room) }
    }

    func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent {
        switch room.take(timeoutMilliseconds: timeoutMilliseconds) {
        case .picture(let picture): return .picture(picture)
        case .failure(let error): throw error
        case nil: return .idle
        }
    }

    /// Does nothing: the camera's pictures are encoded here.
    func requestKeyframe() {}

    /// Stops reading, and returns when the camera is closed. Queued pictures remain available.
    func close() {
        guard isStarted else { return }
        isStarted = false
        room.close()
    }

    /// The oldest queued picture after ``close()``; nil if there is none.
    func takeRest() -> CameraPicture? {
        guard case .picture(let picture) = room.take(timeoutMilliseconds: 0) else { return nil }
        return picture
    }
}

/// Reads the camera on its thread.
// @unchecked: the property is accessed only by `init`, and by `run` on the thread that is started after that. This object has the
// only reference to the camera, because `QueuedCamera` releases its own before the thread starts.
private final class Reader: @unchecked Sendable {
    /// Timeout of a read, after which the thread checks for a stop.
    private static let readMilliseconds = 100

    private var camera: (any CameraInput)?

    init(_ camera: any CameraInput) {
        self.camera = camera
    }

    func run(into room: PictureHandOff) {
        while let camera, room.waitForRoom() {
            do throws(DeviceError) {
                let event = try camera.read(timeoutMilliseconds: Self.readMilliseconds)
                guard case .picture(let picture) = event else { continue }
                room.put(.picture(camera.isShortOfBuffers ? picture.copied() : picture))
            } catch {
                room.put(.failure(error))
                break
            }
        }
        // Closed before the end is signalled, because it may be reopened then.
        camera = nil
        room.readerEnded()
    }
}

/// The hand-off between the camera's thread and the encoder's.
private final class PictureHandOff: Sendable {
    private struct State {
        var queue: PictureQueue
        var isClosed = false
        var isReaderWaiting = false
    }

    private let state: Mutex<State>
    /// Signalled once for each picture added.
    private let isThere = Semaphore(value: 0)
    private let hasRoom = Semaphore(value: 0)
    private let hasEnded = Semaphore(value: 0)

    init(_ queue: PictureQueue) {
        state = Mutex(State(queue: queue))
    }

    // MARK: The camera's thread

    /// Blocks until another picture is accepted.
    /// - Returns: false after ``close()``.
    func waitForRoom() -> Bool {
        while true {
            let answer: Bool? = state.withLock { state in
                if state.isClosed { return false }
                if state.queue.hasRoom { return true }
                state.isReaderWaiting = true
                return nil
            }
            if let answer { return answer }
            hasRoom.wait()
        }
    }

    func put(_ item: PictureQueue.Item) {
        state.withLock { $0.queue.put(item) }
        isThere.signal()
    }

    func readerEnded() { hasEnded.signal() }

    // MARK: The encoder's thread

    func take(timeoutMilliseconds: Int) -> PictureQueue.Item? {
        guard isThere.wait(timeout: .now() + .milliseconds(timeoutMilliseconds)) == .success
        else { return nil }
        let (item, isToWake) = state.withLock { state in
            let item = state.queue.take()
            let isToWake = state.isReaderWaiting && state.queue.hasRoom
            if isToWake { state.isReaderWaiting = false }
            return (item, isToWake)
        }
        if isToWake { hasRoom.signal() }
        return item
    }

    /// Blocks until the camera's thread has released it.
    func close() {
        let isToWake = state.withLock { state in
            state.isClosed = true
            defer { state.isReaderWaiting = false }
            return state.isReaderWaiting
        }
        if isToWake { hasRoom.signal() }
        hasEnded.wait()
    }
}

extension CameraPicture {
    /// A copy with the padding that decoders need, which releases the driver's buffer.
    func copied() -> CameraPicture {
        let copy = PictureMemory(UnsafeRawBufferPointer(bytes))
        return CameraPicture(
            sequence: sequence, stampNanoseconds: stampNanoseconds, isMonotonic: isMonotonic,
            takenNanoseconds: takenNanoseconds, isDamaged: isDamaged, bytes: copy.bytes,
            spareBytes: CodedPacket.paddingBytes, owner: copy)
    }
}

/// Memory of one copied picture.
// @unchecked: the pointer never changes; `init` writes the memory before the object is shared, and it is freed with the last
// reference. Only the padding is written later, by a decoder, which has exclusive access: a queue passes each picture to one thread.
private final class PictureMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    private let memory: UnsafeMutableRawBufferPointer

    init(_ source: UnsafeRawBufferPointer) {
        memory = .allocate(byteCount: source.count + CodedPacket.paddingBytes, alignment: 64)
        memory.copyMemory(from: source)
        bytes = UnsafeMutableRawBufferPointer(rebasing: memory[..<source.count])
    }

    deinit { memory.deallocate() }
}
