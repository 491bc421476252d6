import CV4L2
import CLinux
import Glibc
import Media

/// An open V4L2 camera, captured through memory-mapped buffers.
///
/// While it is open, no other program can capture from it. After a call has thrown, it must be released and opened
/// again.
package final class Camera: CameraInput {
    package let choice: CameraChoice
    package let layout: CameraPictureLayout
    package let summary: String
    /// Its address, for reopening.
    package let address: CameraAddress
    package let info: CameraInfo

    private let name: String
    private let node: VideoNode
    private let buffers: CameraBuffers
    private let converter: (any CameraPictureConverter)?
    /// Number of buffers in the driver's queue.
    private var queued = 0
    /// Buffers that could not be queued when they were returned; retried.
    private var unqueued: [Int] = []
    /// Failures to queue a buffer since the last success.
    private var refusals = 0

    /// A quarter of a second: a box that is busy for this long loses nothing.
    private static let fewestBuffers = 6
    /// Each is a whole picture.
    private static let mostBuffers = 12
    /// Consecutive failures after which the driver is considered stopped.
    private static let mostRefusals = 100
    /// Pause while all buffers are in use.
    private static let restMicroseconds: UInt32 = 1_000

    /// Opens the camera at that address, or one that was opened before at its present node, and negotiates the request.
    package init(_ address: CameraAddress, request: CameraRequest) throws(DeviceError) {
        let info = try address.camera()
        let name = address.name == "first" ? info.stableName : address.name
        let node: VideoNode
        do throws(KernelFault) {
            node = try VideoNode(info.node)
        } catch {
            throw DeviceError(opening: name, node: info.node, error)
        }
        let wanted: CameraChoice
        do throws(CameraMismatch) {
            let abilities = node.abilities(interestingSizes: request.interestingSizes)
            wanted = try CameraNegotiation(abilities, request).choice()
        } catch {
            throw .cameraRefused(name, reason: error.reason)
        }
        let agreement: CameraAgreement
        do throws(KernelFault) {
            agreement = try node.agree(on: wanted)
            buffers = try node.makeBuffers(Self.bufferCount(wanted))
        } catch {
            throw DeviceError(opening: name, node: info.node, error)
        }
        if let flaw = agreement.flaw(of: wanted) { throw .cameraRefused(name, reason: flaw) }
        do throws(MissingConversion) {
            converter =
                switch wanted.coding {
                case .foreign: try ForeignConverter(node, from: agreement.format)
                case .h264, .raw, .jpeg: nil
                }
        } catch {
            throw .cameraRefused(name, reason: error.reason)
        }
        layout = converter?.layout ?? CameraPictureLayout(agreement.format, wanted.coding)
        choice = wanted.settled(at: agreement.rate)
        self.info = info
        self.name = name
        self.address = address.found(info)
        let names = info.node == info.stableName ? info.node : "\(info.node), \(info.stableName)"
        summary = "\(info.identity.card) (\(names))"
        self.node = node
    }

    private static func bufferCount(_ choice: CameraChoice) -> Int {
        let quarter = (choice.rate ?? choice.recordedRate).pictures(inNanoseconds: 250_000_000)
        return min(max(Int(quarter), fewestBuffers), mostBuffers)
    }

    package func start() throws(DeviceError) {
        do throws(KernelFault) {
            unqueued = Array(buffers.memory.indices)
            try queueReturned()
            try node.startStream()
        } catch {
            throw lost(error)
        }
    }

    package func read(timeoutMilliseconds: Int) throws(DeviceError) -> CameraEvent {
        do throws(KernelFault) {
            try queueReturned()
            guard try isReady(timeoutMilliseconds) else { return .idle }
            guard let buffer = try node.dequeue() else { return .idle }
            queued -= 1
            return .picture(picture(buffer))
        } catch {
            throw lost(error)
        }
    }

    package var isShortOfBuffers: Bool { 2 * queued <= buffers.memory.count }

    package var canLendBuffer: Bool { Self.canLend(queued: queued, of: buffers.memory.count) }

    /// Whether only the last picture's buffer is in use, and the driver keeps more than half of them without it.
    static func canLend(queued: Int, of buffers: Int) -> Bool {
        queued + 1 >= buffers && 2 * queued > buffers
    }

    package func requestKeyframe() {
        guard node.control(CV4L2_CID_FORCE_KEY_FRAME) != nil else { return }
        do throws(ControlFault) {
            try node.set([(CV4L2_CID_FORCE_KEY_FRAME, 1)])
        } catch {
            // The next keyframe comes by itself.
        }
    }

    // MARK: Buffers

    private func isReady(_ timeoutMilliseconds: Int) throws(KernelFault) -> Bool {
        if queued == 0 {
            // All are in use: one may be returned at any time.
            usleep(Self.restMicroseconds)
            return false
        }
        var entry = pollfd(fd: node.descriptor, events: Int16(POLLIN), revents: 0)
        let count = poll(&entry, 1, Int32(clamping: timeoutMilliseconds))
        if count < 0, errno != EINTR { throw KernelFault(call: "poll", code: errno) }
        // Dequeuing a buffer reports errors.
        return count > 0
    }

    private func queueReturned() throws(KernelFault) {
        unqueued += buffers.takeReturned()
        if unqueued.isEmpty { return }
        var refused: [Int] = []
        for index in unqueued {
            do throws(KernelFault) {
                try node.queue(index)
                queued += 1
                refusals = 0
            } catch {
                refusals += 1
                guard error.code == EINVAL, refusals < Self.mostRefusals else { throw error }
                refused.append(index)
            }
        }
        unqueued = refused
    }

    private func picture(_ buffer: v4l2_buffer) -> CameraPicture {
        let taken = MonotonicClock().nowNanoseconds
        let index = Int(buffer.index)
        let memory = buffers.memory[index]
        let used = min(Int(buffer.bytesused), memory.count)
        let stamp = DriverStamps.nanoseconds(
            seconds: Int64(buffer.timestamp.tv_sec),
            microseconds: Int64(buffer.timestamp.tv_usec))
        let clock = buffer.flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK)
        let result = CameraPicture(
            sequence: buffer.sequence, stampNanoseconds: stamp ?? 0,
            isMonotonic: stamp != nil && clock == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC),
            takenNanoseconds: taken,
            isDamaged: buffer.flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 || used == 0,
            bytes: UnsafeMutableRawBufferPointer(rebasing: memory[..<used]),
            spareBytes: memory.count - used, owner: BufferLease(buffers, index))
        return converter.map { $0.converted(result) } ?? result
    }

    private func lost(_ fault: KernelFault) -> DeviceError {
        .cameraLost(name, reason: fault.reason)
    }
}
