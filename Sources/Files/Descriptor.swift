import Glibc

/// Transfers through a file descriptor that continue after interrupts and partial counts.
package enum Descriptor {
    /// Fills the buffer from `offset` on.
    /// - Returns: the number of bytes, fewer than requested at the file's end; −1 with `errno` on failure.
    package static func read(
        _ descriptor: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return -1 }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Up to `count` bytes from `offset` on, fewer at the file's end.
    /// - Returns: nil, with `errno`, on failure.
    package static func read(_ descriptor: Int32, at offset: Int64, count: Int) -> [UInt8]? {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let got = read(descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            if got < 0 { code = errno }
            filled = max(0, got)
        }
        errno = code
        return code == 0 ? bytes : nil
    }

    /// Reads from the present position to the end.
    /// - Returns: nil, with `errno`, on failure: `EFBIG` if there are more than `limit` bytes.
    package static func read(_ descriptor: Int32, limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: min(limit + 1, 16_384))
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return bytes }
            bytes += block[..<count]
            guard bytes.count <= limit else {
                errno = EFBIG
                return nil
            }
        }
    }

    /// Writes all bytes, at the present position or from `offset` on.
    /// - Returns: false, with `errno`, on failure.
    package static func write(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64? = nil
    ) -> Bool {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count =
                offset.map { pwrite(descriptor, rest.baseAddress, rest.count, off_t($0) + done) }
                ?? Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if count == 0 { errno = ENOSPC }
                return false
            }
            done += count
        }
        return true
    }

    package static func write(
        _ descriptor: Int32, _ bytes: [UInt8], at offset: Int64? = nil
    ) -> Bool {
        bytes.withUnsafeBytes { write(descriptor, $0, at: offset) }
    }
}
