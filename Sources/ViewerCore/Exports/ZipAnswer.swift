import Hummingbird
import NIOCore

/// Sends files as one ZIP archive that is generated while it is sent: nothing is written to disk, and only pieces of files are in
/// memory.
///
/// The length is known in advance. Ranges are not supported, because a checksum depends on all bytes before it.
struct ZipAnswer: Sendable {
    /// Read and sent at once, as in ``FileAnswer``.
    private static let pieceBytes: Int64 = 256 << 10

    /// A file of the archive.
    struct Part: Sendable {
        var entry: ZipArchive.Entry
        var file: any VirtualFile
    }

    let parts: [Part]

    var sizeBytes: Int64 { ZipArchive.sizeBytes(of: parts.map(\.entry)) }

    /// - Parameter hasBody: not for HEAD.
    func body(in pool: ReadingThreads, hasBody: Bool) -> ResponseBody {
        let parts = parts
        guard hasBody else {
            return ResponseBody(contentLength: Int(sizeBytes)) { try await $0.finish(nil) }
        }
        return ResponseBody(contentLength: Int(sizeBytes)) { writer in
            var archive = ZipArchive()
            for part in parts {
                try await writer.write(ByteBuffer(bytes: archive.begin(part.entry)))
                var checksum = ZipArchive.Checksum()
                var offset: Int64 = 0
                while offset < part.entry.sizeBytes {
                    let (start, sum) = (offset, checksum)
                    let count = Int(min(Self.pieceBytes, part.entry.sizeBytes - offset))
                    let (piece, next) = try await pool.run {
                        let piece = try part.file.bytes(at: start, count: count)
                        var next = sum
                        piece.withUnsafeReadableBytes { next.add($0) }
                        return (piece, next)
                    }
                    // The file was truncated: the connection is closed before the announced length.
                    guard piece.readableBytes == count else {
                        throw Problem(.internalServerError, "cut short")
                    }
                    try await writer.write(piece)
                    checksum = next
                    offset += Int64(count)
                }
                try await writer.write(
                    ByteBuffer(bytes: archive.end(checksum: checksum.value)))
            }
            try await writer.write(ByteBuffer(bytes: archive.directory()))
            try await writer.finish(nil)
        }
    }
}
