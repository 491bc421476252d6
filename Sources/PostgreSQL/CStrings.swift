/// Strings for C: zero-terminated, in one buffer.
struct CStrings {
    private var bytes: [CChar] = [0]
    private var offsets: [Int?] = []

    /// - Parameter texts: nil becomes a null pointer. A zero byte in a text becomes U+FFFD, because C strings and PostgreSQL's
    ///   texts cannot contain it.
    init(_ texts: [String?]) {
        for text in texts {
            guard let text else {
                offsets.append(nil)
                continue
            }
            offsets.append(bytes.count)
            for byte in text.utf8 {
                if byte == 0 {
                    bytes += "\u{FFFD}".utf8.map { CChar(bitPattern: $0) }
                } else {
                    bytes.append(CChar(bitPattern: byte))
                }
            }
            bytes.append(0)
        }
    }

    /// Calls `body` with a null-terminated array of pointers, which are valid until it returns.
    func withPointers<Result>(_ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { buffer in
            body(
                offsets.map { offset in offset.flatMap { buffer.baseAddress?.advanced(by: $0) } }
                    + [nil])
        }
    }
}
