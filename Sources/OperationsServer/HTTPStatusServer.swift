import Dispatch
import Glibc
import HTTPTypes
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
package import Operations
import ServiceLifecycle
import Synchronization

/// Answers HTTP/1.1 with what hangs on a ``StatusBoard``. One thread for the network; answers are made on the cooperative pool. Nothing of
/// it is ever waited for where samples are received or written.
package final class HTTPStatusServer: Sendable {
    /// A scraper sends a few hundred bytes.
    private static let maximumHeaderBytes = 8 << 10
    private static let maximumHeaders = 64

    private struct State: Sendable {
        /// How binding went.
        var binding: Result<UInt16, OperationsServerError>?
        var isStopping = false
    }

    /// Where it really listens.
    package let port: UInt16
    private let task: Task<Void, Never>
    private let state: SharedState

    private final class SharedState: Sendable {
        let mutex = Mutex(State())
        let bound = DispatchSemaphore(value: 0)

        /// How binding went is known; only the first word counts.
        func settle(_ binding: Result<UInt16, OperationsServerError>) -> Bool {
            let isFirst = mutex.withLock { state in
                guard state.binding == nil else { return false }
                state.binding = binding
                return true
            }
            if isFirst { bound.signal() }
            return isFirst
        }
    }

    private init(port: UInt16, task: Task<Void, Never>, state: SharedState) {
        self.port = port
        self.task = task
        self.state = state
    }

    /// Binds, and begins to answer. Blocks its thread until it is bound.
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: 0: any that is free.
    package static func start(
        host: String, port: UInt16, board: StatusBoard, logger: Logger
    ) throws(OperationsServerError) -> HTTPStatusServer {
        let state = SharedState()
        let address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        let task = Task.detached {
            do {
                let server = try service(host: host, port: port, board: board) { bound in
                    _ = state.settle(.success(bound))
                }
                try await server.run()
                guard !state.mutex.withLock({ $0.isStopping }) else { return }
                logger.error("HTTP is no longer served at \(address); recording continues")
            } catch {
                let reason = OperationsServerError.cannotListen(
                    address: address, reason: Self.reason(error))
                if !state.settle(.failure(reason)) {
                    logger.error("\(reason); recording continues")
                }
            }
        }
        state.bound.wait()
        switch state.mutex.withLock({ $0.binding }) {
        case .success(let port)?:
            return HTTPStatusServer(port: port, task: task, state: state)
        case .failure(let error)?: throw error
        case nil: preconditionFailure("nobody signals before it is known how binding went")
        }
    }

    /// Ends it. Answers that are on their way may be cut short.
    package func stop() {
        state.mutex.withLock { $0.isStopping = true }
        task.cancel()
    }

    private static func service(
        host: String, port: UInt16, board: StatusBoard, bound: @escaping @Sendable (UInt16) -> Void
    ) throws -> any Service {
        let deadlines = ConnectionDeadlines()
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [deadlines.handler()],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: maximumHeaderBytes, maxHeaderListSize: maximumHeaderBytes,
                maxHeaderFieldCount: maximumHeaders))
        return try HTTPServerBuilder.http1(configuration: channel).buildServer(
            configuration: ServerConfiguration(
                address: .hostname(host, port: Int(port))),
            eventLoopGroup: MultiThreadedEventLoopGroup(numberOfThreads: 1),
            // Hummingbird logs broken connections, which are normal here.
            logger: Logger(label: "http") { _ in SwiftLogNoOpLogHandler() },
            responder: { request, writer, _ in
                let response = response(to: request, board)
                try await writer.write(response: response.head, body: response.body)
            },
            onServerRunning: { channel in
                bound(UInt16(clamping: channel.localAddress?.port ?? Int(port)))
            })
    }

    private static func response(to request: Request, _ board: StatusBoard) -> Response {
        let answer = OperationsAnswer(
            to: request.method.rawValue, request.uri.path, board: board)
        var headers: HTTPFields = [
            .contentType: answer.contentType, .cacheControl: "no-store",
        ]
        let status: HTTPResponse.Status
        switch answer.status {
        case .ok: status = .ok
        case .notFound: status = .notFound
        case .methodNotAllowed:
            status = .methodNotAllowed
            headers[.allow] = "GET, HEAD"
        case .unavailable: status = .serviceUnavailable
        }
        let response = Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// The system's words where it was the system.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as SocketAddressError.UnknownHost:
            "the host '\(error.host)' does not exist"
        default: "\(error)"
        }
    }
}

/// Why HTTP cannot be answered.
package enum OperationsServerError: Error, Hashable, CustomStringConvertible {
    case cannotListen(address: String, reason: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason):
            "cannot serve HTTP at \(address): \(reason); use another --http address"
        }
    }
}
