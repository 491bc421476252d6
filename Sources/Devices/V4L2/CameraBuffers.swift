import CV4L2
import Glibc
import Synchronization

/// The driver's buffers, mapped into this process; unmapped with the last reference.
// @unchecked: the mappings are made before anyone else sees them and only looked up from then on; what is in them belongs
// by turns to the driver and to the one lease that there can be of a buffer.
final class CameraBuffers: @unchecked Sendable {
    /// One buffer's memory.
    let memory: [UnsafeMutableRawBufferPointer]
    /// Taken out of the driver's queue, and not needed any more.
    private let returned = Mutex<[Int]>([])

    /// Maps `count` buffers of the node.
    init(_ node: borrowing VideoNode, count: Int) throws(KernelFault) {
        var memory: [UnsafeMutableRawBufferPointer] = []
        do throws(KernelFault) {
            for index in 0..<count { memory.append(try Self.map(node, index)) }
        } catch {
            for region in memory { munmap(region.baseAddress, region.count) }
            throw error
        }
        self.memory = memory
    }

    deinit {
        for region in memory { munmap(region.baseAddress, region.count) }
    }

    private static func map(
        _ node: borrowing VideoNode, _ index: Int
    ) throws(KernelFault) -> UnsafeMutableRawBufferPointer {
        var buffer = v4l2_buffer.mapped(index)
        try node.call("QUERYBUF", UInt(CV4L2_QUERYBUF), &buffer)
        let length = Int(buffer.length)
        let address = mmap(
            nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, node.descriptor,
            Int(buffer.m.offset))
        guard let address, address != MAP_FAILED else {
            throw KernelFault(call: "mmap", code: errno)
        }
        return UnsafeMutableRawBufferPointer(start: address, count: length)
    }

    /// Buffers that can be queued again; from then on they are the caller's to queue.
    func takeReturned() -> [Int] {
        returned.withLock { list in
            defer { list.removeAll(keepingCapacity: true) }
            return list
        }
    }

    /// A buffer is not needed any more; on any thread.
    func giveBack(_ index: Int) {
        returned.withLock { $0.append(index) }
    }
}

/// Keeps one filled buffer from the driver, and its mapping alive.
final class BufferLease: Sendable {
    private let buffers: CameraBuffers
    private let index: Int

    init(_ buffers: CameraBuffers, _ index: Int) {
        self.buffers = buffers
        self.index = index
    }

    deinit { buffers.giveBack(index) }
}

extension v4l2_buffer {
    /// To ask about, queue or take out a buffer that is shared by mapping.
    static func mapped(_ index: Int = 0) -> v4l2_buffer {
        var buffer = v4l2_buffer()
        buffer.index = UInt32(index)
        buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        buffer.memory = V4L2_MEMORY_MMAP.rawValue
        return buffer
    }
}
