import CV4L2
import Glibc
import Synchronization

/// The driver's buffers, mapped into this process; unmapped with the last reference.
// @unchecked: the mappings are made before they are shared and only looked up from then on; a buffer's content belongs
// alternately to the driver and to the one lease that it can have.
final class CameraBuffers: @unchecked Sendable {
    /// One buffer's memory.
    let memory: [UnsafeMutableRawBufferPointer]
    /// Dequeued buffers that were released.
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

    /// Released buffers, which the caller has to queue.
    func takeReturned() -> [Int] {
        returned.withLock { list in
            defer { list.removeAll(keepingCapacity: true) }
            return list
        }
    }

    /// Releases a buffer; on any thread.
    func giveBack(_ index: Int) {
        returned.withLock { $0.append(index) }
    }
}

/// Retains one filled buffer and its mapping.
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
    /// The argument to query, queue or dequeue a memory-mapped buffer.
    static func mapped(_ index: Int = 0) -> v4l2_buffer {
        var buffer = v4l2_buffer()
        buffer.index = UInt32(index)
        buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        buffer.memory = V4L2_MEMORY_MMAP.rawValue
        return buffer
    }
}
