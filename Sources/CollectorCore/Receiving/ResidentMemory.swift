import Glibc

/// The process's resident memory, cheap to query: proc(5), `statm`.
struct ResidentMemory: ~Copyable {
    private let descriptor: Int32
    private let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// - Returns: nil where `/proc` is not available.
    init?() {
        descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Resident bytes now; 0 when the kernel does not report them.
    func bytes() -> Int {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return 0 }
            // "size resident shared …" in pages.
            var (word, pages) = (0, 0)
            for byte in buffer[..<count] {
                if byte == UInt8(ascii: " ") {
                    word += 1
                    if word > 1 { break }
                } else if word == 1 {
                    pages = pages * 10 + Int(byte &- UInt8(ascii: "0"))
                }
            }
            return pages * pageBytes
        }
    }
}
