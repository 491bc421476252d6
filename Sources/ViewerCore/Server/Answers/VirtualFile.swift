import Archive
import HTTPTypes
import Hummingbird
import Library
import NIOCore
import Recordings

/// Random-access bytes that are not in memory as a whole.
protocol VirtualFile: Sendable {
    var sizeBytes: Int64 { get }

    /// Fills `buffer` with the bytes from `offset`. Blocks.
    /// - Returns: the number of bytes, which is less than wanted only at the end.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Fills `buffer` with cached bytes from `offset`. Does not block.
    /// - Returns: the number of bytes. ``read(at:into:)`` reads the rest, and reports errors.
    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// The extents of a range on a local disk, in order; nil: it has to be read.
    func extents(_ range: Range<Int64>) -> [FileExtent]?
}

extension VirtualFile {
    func extents(_ range: Range<Int64>) -> [FileExtent]? { nil }
}

/// Writes a body that may consist of parts of files.
protocol ExtentWriter {
    /// Sends extents of files without reading them; nil if the connection does not support that.
    var sendExtents: (@Sendable ([FileExtent]) async throws -> Void)? { get }
}

/// Sends a virtual file, or the requested range of it (RFC 9110 §14).
struct FileAnswer {
    /// Size of a piece, the memory that a slow reader holds.
    private static let chunkBytes = 256 << 10
    /// Sent at once with sendfile(2), without memory of the process.
    private static let extentBytes: Int64 = 4 << 20
    /// Interval of the bytes that are probed in the page cache: the kernel reads and evicts larger blocks.
    private static let probeBytes: Int64 = 64 << 10

    var file: any VirtualFile
    let contentType: String
    /// Strong: equal tags are equal bytes.
    var tag: String
    /// Content coding of the bytes; nil: none.
    var contentEncoding: String?
    /// The content coding is negotiated, which caches must know (`Vary`).
    var isNegotiated = false
    /// `max-age`, for immutable content. Nil: must be revalidated.
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
            // Ranges are defined for GET only (RFC 9110 §14.2).
            request.method == .get ? request.headers[.range] : nil,
            ifRange: request.headers[.ifRange], tag: quoted, sizeBytes: size)
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

    /// The extents of a cached range: event loops never block on a disk.
    private static func cachedExtents(
        of file: any VirtualFile, _ range: Range<Int64>
    ) -> [FileExtent]? {
        guard let extents = file.extents(range) else { return nil }
        let isCached = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte in
            stride(from: range.lowerBound, to: range.upperBound, by: Int(probeBytes)).allSatisfy {
                file.readCached(at: $0, into: byte) == 1
            } && file.readCached(at: range.upperBound - 1, into: byte) == 1
        }
        return isCached ? extents : nil
    }

    private func body(
        _ range: Range<Int64>, _ request: Request, _ pool: ReadingThreads
    ) -> ResponseBody {
        let length = Int(range.upperBound - range.lowerBound)
        guard request.method != .head else {
            return ResponseBody(contentLength: length) { try await $0.finish(nil) }
        }
        let file = file
        // The body is written by another task.
        let place = ReadingThreads.place
        return ResponseBody(contentLength: length) { writer in
            // Two buffers: one is filled while the other is being sent.
            var buffers = (ByteBuffer(), ByteBuffer())
            var offset = range.lowerBound
            let send = (writer as? any ExtentWriter)?.sendExtents
            while offset < range.upperBound {
                let batch = offset..<min(offset + Self.extentBytes, range.upperBound)
                if let send, let extents = Self.cachedExtents(of: file, batch) {
                    try await send(extents)
                    offset = batch.upperBound
                    continue
                }
                let count = Int(min(Int64(Self.chunkBytes), range.upperBound - offset))
                buffers.0.clear(minimumCapacity: count)
                var filled = buffers.0.writeWithUnsafeMutableBytes(minimumWritableBytes: count) {
                    file.readCached(at: offset, into: .init(rebasing: $0.prefix(count)))
                }
                if filled < count {
                    let (start, rest) = (offset + Int64(filled), count - filled)
                    var waited = try await ReadingThreads.$place.withValue(place) {
                        try await pool.run { try file.bytes(at: start, count: rest) }
                    }
                    filled += buffers.0.writeBuffer(&waited)
                }
                // The file was truncated: the connection is closed before the announced length.
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
