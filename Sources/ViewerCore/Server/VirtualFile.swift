import Archive
import HTTPTypes
import Hummingbird
import NIOCore

/// Bytes that can be read at any place, and are never held whole.
protocol VirtualFile: Sendable {
    var sizeBytes: Int64 { get }

    /// Fills `buffer` with the bytes from `offset` on. Blocks.
    /// - Returns: how many there were: fewer than wanted only at the end.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Fills `buffer` with the bytes from `offset` on, as far as they are in memory. Does not block.
    /// - Returns: how many there were. The rest, and what is wrong, is for ``read(at:into:)``.
    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int
}

/// Answers with a virtual file, or the part of it that is asked for (RFC 9110 §14).
struct FileAnswer {
    /// Read and sent at once: a slow reader holds so much, and no more.
    private static let chunkBytes = 256 << 10

    var file: any VirtualFile
    let contentType: String
    /// Strong: equal tags are equal bytes.
    var tag: String
    /// How the bytes are coded; nil: as they are.
    var contentEncoding: String?
    /// Others get the same address coded in another way: what keeps answers has to know.
    var isNegotiated = false
    /// A day: what has the same address and tag never changes. Nil: it may change, and has to be asked for again.
    var lifetimeSeconds: Int?

    func response(to request: Request, in pool: ReadingThreads) -> Response {
        let quoted = "\"\(tag)\""
        var headers = HTTPFields()
        headers[.eTag] = quoted
        headers[.acceptRanges] = "bytes"
        headers[.contentType] = contentType
        if isNegotiated { headers[.vary] = "Accept-Encoding" }
        headers[.contentEncoding] = contentEncoding
        headers[.cacheControl] =
            lifetimeSeconds.map { "private, max-age=\($0), immutable" } ?? "private, no-cache"
        if Self.names(request.headers[.ifNoneMatch], quoted) {
            return Response(status: .notModified, headers: headers)
        }
        let size = file.sizeBytes
        let wanted = ByteRangeRequest(
            request.headers[.range], ifRange: request.headers[.ifRange], tag: quoted,
            sizeBytes: size)
        switch wanted {
        case .notSatisfiable:
            headers[.contentRange] = "bytes */\(size)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        case .whole:
            return Response(
                status: .ok, headers: headers, body: body(0..<size, request, pool))
        case .part(let range):
            headers[.contentRange] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            return Response(
                status: .partialContent, headers: headers, body: body(range, request, pool))
        }
    }

    private static func names(_ list: String?, _ tag: String) -> Bool {
        guard let list, list.utf8.count <= 1_000 else { return false }
        return list == "*"
            || list.split(separator: ",").contains {
                let name = $0.drop { $0 == " " }
                return name == tag || name == "W/" + tag
            }
    }

    private func body(
        _ range: Range<Int64>, _ request: Request, _ pool: ReadingThreads
    ) -> ResponseBody {
        let length = Int(range.upperBound - range.lowerBound)
        guard request.method != .head else {
            return ResponseBody(contentLength: length) { try await $0.finish(nil) }
        }
        let file = file
        return ResponseBody(contentLength: length) { writer in
            // Two that take turns: while one is on its way to the client, the other is filled.
            var buffers = (ByteBuffer(), ByteBuffer())
            var offset = range.lowerBound
            while offset < range.upperBound {
                let count = Int(min(Int64(Self.chunkBytes), range.upperBound - offset))
                buffers.0.clear(minimumCapacity: count)
                var filled = buffers.0.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
                    file.readCached(at: offset, into: .init(rebasing: $0.prefix(count)))
                }
                if filled < count {
                    let (start, rest) = (offset + Int64(filled), count - filled)
                    var waited = try await pool.run { try file.bytes(at: start, count: rest) }
                    filled += buffers.0.writeBuffer(&waited)
                }
                // A file that was cut meanwhile: the connection ends before the length that was promised.
                guard filled == count else { throw Problem(.internalServerError, "cut short") }
                try await writer.write(buffers.0)
                offset += Int64(count)
                swap(&buffers.0, &buffers.1)
            }
            try await writer.finish(nil)
        }
    }
}

extension VirtualFile {
    /// As many bytes as `count`, from `offset` on; fewer at the end. Blocks.
    func bytes(at offset: Int64, count: Int) throws -> ByteBuffer {
        var buffer = ByteBuffer()
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
            try read(at: offset, into: .init(rebasing: $0.prefix(count)))
        }
        return buffer
    }
}
