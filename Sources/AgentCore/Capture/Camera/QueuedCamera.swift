import Devices
import Dispatch
import Media
import Synchronization
import Threads

/// A camera that a thread of its own reads, so that its pictures wait here for an encoder that is busy, and not in the
/// driver's few buffers: `--late keep`.
///
/// A picture stays where it lies while the driver has buffers enough; only what waits beyond that is copied. For cameras that
/// do not encode themselves. The camera is closed when this object is gone.
final class QueuedCamera: CameraInput {
    let choice: CameraChoice
    let layout: CameraPictureLayout
    let summary: String

    private let room: WaitingRoom
    /// Until it is started; then its thread has it.
    private var camera: (any CameraInput)?
    private var isStarted = false

    /// - Parameter camera: open, not started, and owned by this object from here on.
    init(_ camera: any CameraInput) {
        choice = camera.choice
        layout = camera.layout
        summary = camera.summary
        room = WaitingRoom(PictureQueue(rate: choice.rate ?? choice.recordedRate))
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

    /// Its pictures are encoded here.
    func requestKeyframe() {}

    /// Takes nothing from the driver any more, and returns when the camera is closed. What waits can still be taken.
    func close() {
        guard isStarted else { return }
        isStarted = false
        room.close()
    }

    /// The oldest of what still waits after ``close()``; nil: nothing does.
    func takeRest() -> CameraPicture? {
        guard case .picture(let picture) = room.take(timeoutMilliseconds: 0) else { return nil }
        return picture
    }
}

/// Reads the camera; on its thread.
// @unchecked: its one property is touched by `init`, and by `run`, on the thread that is started after it; nobody else has the
// camera, because `QueuedCamera` is given the only reference and lets go of its own before that thread starts.
private final class Reader: @unchecked Sendable {
    /// How long a read waits before the thread looks whether it should stop.
    private static let readMilliseconds = 100

    private var camera: (any CameraInput)?

    init(_ camera: any CameraInput) {
        self.camera = camera
    }

    func run(into room: WaitingRoom) {
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
        // Closed before anybody hears of the end: it may be opened again then.
        camera = nil
        room.readerEnded()
    }
}

/// Where the camera's thread and the encoder's meet.
private final class WaitingRoom: Sendable {
    private struct State {
        var queue: PictureQueue
        var isClosed = false
        var isReaderWaiting = false
    }

    private let state: Mutex<State>
    /// Signalled once for everything that is put in.
    private let isThere = DispatchSemaphore(value: 0)
    private let hasRoom = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ queue: PictureQueue) {
        state = Mutex(State(queue: queue))
    }

    // MARK: The camera's thread

    /// Blocks until a picture may be put in; false: none is wanted any more.
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

    /// Blocks until the camera's thread has let go of it.
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
    /// The same in memory of its own, with the bytes behind it that decoders want: the driver's buffer goes back.
    func copied() -> CameraPicture {
        let copy = PictureMemory(UnsafeRawBufferPointer(bytes))
        return CameraPicture(
            sequence: sequence, stampNanoseconds: stampNanoseconds, isMonotonic: isMonotonic,
            takenNanoseconds: takenNanoseconds, isDamaged: isDamaged, bytes: copy.bytes,
            spareBytes: CodedPacket.paddingBytes, owner: copy)
    }
}

/// The memory of one copied picture.
// @unchecked: where the memory is never changes, `init` writes it before anyone else can see it, and it is freed when nobody can
// any more. What is written later is the padding, by a decoder, which has the picture alone: a queue gives each to one thread.
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
