import CLinux
import Dispatch
import Glibc
import Library
import NIOCore
import NIOHTTP1
import Recordings

/// Sends ranges of files with sendfile(2) over HTTP/1.1 without TLS.
///
/// The bytes bypass the HTTP encoder. That is correct during a response with Content-Length, whose body has no framing (RFC 9112
/// §6.2).
struct ExtentSender: Sendable {
    /// Bytes per call. Each completed call is progress of the client (``ConnectionDeadlines``).
    private static let callBytes: Int64 = 256 << 10

    /// Interval of checks that a file has not become shorter.
    private static let watchInterval = Duration.milliseconds(250)

    private let channel: any Channel

    /// - Parameter channel: the connection, whose pipeline has an HTTP encoder and no TLS.
    init(_ channel: any Channel) { self.channel = channel }

    /// Returns when everything is sent. Closes the connection on cancellation, and if a file was truncated, because the announced
    /// length cannot be sent any more.
    /// - Parameter extents: of files that stay open. The connection's event loop blocks on pages that are not cached.
    func send(_ extents: [FileExtent]) async throws {
        let watch = Task { try await closeOnceShorter(extents) }
        let result: Result<Void, any Error>
        do {
            try await withTaskCancellationHandler {
                try await channel.eventLoop.flatSubmit { Self.send(extents, to: channel) }.get()
            } onCancel: {
                // A viewer that ends does not wait for a client that reads slowly, or not at all.
                channel.close(promise: nil)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        watch.cancel()
        // Until then the descriptors are in use.
        _ = await watch.result
        try result.get()
    }

    /// Closes the connection if a file is shorter than a pending range. sendfile(2) then returns neither an end of file nor EAGAIN,
    /// and would be retried forever.
    private func closeOnceShorter(_ extents: [FileExtent]) async throws {
        while true {
            try await Task.sleep(for: Self.watchInterval)
            let isShorter = await withCheckedContinuation { continuation in
                // It may block on a disk.
                DispatchQueue.global().async {
                    continuation.resume(returning: extents.contains(where: Self.isShorter))
                }
            }
            guard isShorter else { continue }
            channel.close(promise: nil)
            return
        }
    }

    private static func isShorter(_ extent: FileExtent) -> Bool {
        var status = stat()
        return fstat(extent.descriptor, &status) != 0
            || Int64(status.st_size) < extent.range.upperBound
    }

    private static func send(
        _ extents: [FileExtent], to channel: any Channel
    ) -> EventLoopFuture<Void> {
        let eventLoop = channel.eventLoop
        do {
            let encoder = try channel.pipeline.syncOperations.context(
                handlerType: HTTPResponseEncoder.self)
            var last = eventLoop.makeSucceededVoidFuture()
            for extent in extents {
                let handle = NIOFileHandle(
                    _deprecatedTakingOwnershipOfDescriptor: extent.descriptor)
                var offset = extent.range.lowerBound
                while offset < extent.range.upperBound {
                    let end = min(extent.range.upperBound, offset + callBytes)
                    let region = FileRegion(
                        fileHandle: handle, readerIndex: Int(offset), endIndex: Int(end))
                    let written = eventLoop.makePromise(of: Void.self)
                    encoder.write(NIOAny(IOData.fileRegion(region)), promise: written)
                    written.futureResult.whenSuccess {
                        channel.triggerUserOutboundEvent(AnswerProgress(), promise: nil)
                    }
                    last = written.futureResult
                    offset = end
                }
                // The descriptor belongs to the file, which is released after the last write.
                last.whenComplete { _ in
                    do {
                        _ = try handle.takeDescriptorOwnership()
                    } catch {
                        preconditionFailure("the handle has no other owner: \(error)")
                    }
                }
            }
            encoder.flush()
            return last
        } catch {
            return eventLoop.makeFailedFuture(error)
        }
    }
}
