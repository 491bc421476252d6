import CZlib

/// Compresses with gzip (RFC 1952).
enum Gzip {
    /// The largest window, with gzip's header and trailer around the data.
    private static let windowBits: Int32 = 15 + 16
    /// Maximum memory, a quarter of a megabyte: each file is compressed once.
    private static let memoryLevel: Int32 = 9

    /// One gzip member without a name or a time, so that equal input gives equal output.
    ///
    /// Not for responses with both a secret and text chosen by an attacker, whose compressed length reveals the secret (BREACH).
    /// - Returns: nil if zlib has no memory, or the input is too long for one call.
    static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        // zlib keeps the address of the stream.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        defer {
            stream.deinitialize(count: 1)
            stream.deallocate()
        }
        guard let count = UInt32(exactly: bytes.count),
            CZlib_deflateInit2(stream, Z_BEST_COMPRESSION, windowBits, memoryLevel) == Z_OK
        else { return nil }
        defer { deflateEnd(stream) }
        guard let capacity = UInt32(exactly: deflateBound(stream, UInt(count))) else { return nil }
        var input = bytes
        var isComplete = false
        let compressed = [UInt8](unsafeUninitializedCapacity: Int(capacity)) { output, written in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = count
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = capacity
                isComplete = deflate(stream, Z_FINISH) == Z_STREAM_END
            }
            written = Int(capacity - stream.pointee.avail_out)
        }
        return isComplete ? compressed : nil
    }
}
