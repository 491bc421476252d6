import Hummingbird
import NIOCore

/// Answers with files as one ZIP archive, made while it is sent: nothing is written, and of each file a piece is in memory.
///
/// Its length is known before it is sent. A checksum takes all bytes in front of it, so there are no ranges.
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
                    // A file that was cut meanwhile: the connection ends before the length that was promised.
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
