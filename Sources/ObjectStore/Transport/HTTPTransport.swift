import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Sends requests with AsyncHTTPClient: HTTP/1.1, kept connections, TLS with verified certificates.
///
/// Redirects are not followed: a signature is for one host. Nothing is sent twice: who calls knows what may be repeated.
final class HTTPTransport: StoreTransport {
    /// Limits of waiting.
    struct Timeouts: Sendable {
        var connectNanoseconds: Int64 = 5_000_000_000
        /// Without a byte of the answer, after the request. Stores write keep-alive bytes while they put an object together.
        var silenceNanoseconds: Int64 = 60_000_000_000
        /// Without a byte taken by the store, while the request is sent.
        var stallNanoseconds: Int64 = 30_000_000_000
    }

    /// How much of a request is handed to a connection at once: what is not yet sent counts as progress only when it is.
    private static let pieceBytes = 256 << 10
    /// Connections to one store at a time.
    private static let maximumConnections = 16

    private let client: HTTPClient

    /// - Parameter authorities: a file of certificates (PEM) that are trusted instead of the system's; nil: the system's.
    init(
        authorities: String? = nil, timeouts: Timeouts = Timeouts()
    ) throws(TransportFailure) {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.redirectConfiguration = .disallow
        configuration.timeout = HTTPClient.Configuration.Timeout(
            connect: .nanoseconds(timeouts.connectNanoseconds),
            read: .nanoseconds(timeouts.silenceNanoseconds),
            write: .nanoseconds(timeouts.stallNanoseconds))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
            Self.maximumConnections
        configuration.connectionPool.retryConnectionEstablishment = false
        // Stores close connections that were not used for longer.
        configuration.connectionPool.idleTimeout = .seconds(15)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities {
            do {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            } catch {
                throw TransportFailure(
                    "AWS_CA_BUNDLE: no certificates can be read from \(authorities)")
            }
        }
        configuration.tlsConfiguration = tls
        client = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    deinit {
        // The client is kept until it has closed its connections.
        client.shutdown { _ in }
    }

    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer {
        let deadline = NIODeadline.now() + .nanoseconds(request.deadlineNanoseconds)
        do {
            var headers = HTTPHeaders()
            for (name, value) in request.headers { headers.add(name: name, value: value) }
            // Requests with a body say how long it is, even where that is 0.
            let hasBody = request.method == .put || request.method == .post
            let sent = try HTTPClient.Request(
                url: request.address, method: HTTPMethod(rawValue: request.method.rawValue),
                headers: headers, body: hasBody ? Self.body(request.body) : nil)
            let collector = AnswerCollector(
                maximumBytes: request.maximumAnswerBytes, announcesOnly: request.method == .head)
            return try client.execute(request: sent, delegate: collector, deadline: deadline).wait()
        } catch let failure as TransportFailure {
            throw failure
        } catch {
            throw TransportFailure(Self.reason(error))
        }
    }

    private static func body(_ bytes: ObjectBytes) -> HTTPClient.Body {
        .stream(contentLength: Int64(bytes.count)) { writer in
            write(bytes.buffer, to: writer)
        }
    }

    /// Writes the next piece when the one before is on its way.
    @Sendable private static func write(
        _ rest: ByteBuffer, to writer: HTTPClient.Body.StreamWriter
    ) -> EventLoopFuture<Void> {
        var rest = rest
        let piece = rest.readSlice(length: min(pieceBytes, rest.readableBytes)) ?? ByteBuffer()
        let written = writer.write(.byteBuffer(piece))
        guard rest.readableBytes > 0 else { return written }
        return written.flatMap { [rest] in write(rest, to: writer) }
    }

    /// A phrase for people.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout: "it did not accept a connection in time"
            case .readTimeout, .deadlineExceeded: "it did not answer in time"
            case .writeTimeout: "it stopped taking bytes"
            case .remoteConnectionClosed, .requestStreamCancelled:
                "it closed the connection before it had answered"
            case .tlsHandshakeTimeout: "it did not finish the TLS handshake in time"
            case .getConnectionFromPoolTimeout: "no connection became free in time"
            default: "the exchange failed: \(error.shortDescription)"
            }
        case let error as NIOConnectionError:
            error.connectionErrors.isEmpty
                ? "its host \(StoreRefusal.oneLine(error.host)) is not known"
                : "no connection to \(StoreRefusal.oneLine(error.host)):\(error.port)"
        case let error as IOError: "the connection broke: \(StoreRefusal.oneLine("\(error)"))"
        case is NIOSSLError, is NIOSSLExtraError:
            "\(error)".uppercased().contains("CERTIFICATE") || error is NIOSSLExtraError
                ? "its certificate is not accepted: give its authority's in AWS_CA_BUNDLE, and the host's own name"
                : "no TLS connection: check whether it is http:// instead of https://"
        case is HTTPParserError: "its answer is not HTTP"
        case is ChannelError: "no connection"
        default: "the exchange failed: \(StoreRefusal.oneLine("\(error)"))"
        }
    }
}

/// Collects an answer up to a size. Called by one event loop, one call after the other.
private final class AnswerCollector: HTTPClientResponseDelegate {
    typealias Response = StoreAnswer

    private let maximumBytes: Int
    /// The length in the head is that of something that is not sent.
    private let announcesOnly: Bool
    private let answer = Mutex(StoreAnswer(status: 0, headers: [:], body: []))

    init(maximumBytes: Int, announcesOnly: Bool) {
        self.maximumBytes = maximumBytes
        self.announcesOnly = announcesOnly
    }

    func didReceiveHead(
        task: HTTPClient.Task<StoreAnswer>, _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let announced = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        guard announcesOnly || announced <= maximumBytes else { return tooLong(task) }
        answer.withLock { answer in
            answer.status = Int(head.status.code)
            for (name, value) in head.headers { answer.headers[name.lowercased()] = value }
            if !announcesOnly { answer.body.reserveCapacity(announced) }
        }
        return task.eventLoop.makeSucceededFuture(())
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<StoreAnswer>, _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let fits = answer.withLock { answer in
            guard buffer.readableBytes <= maximumBytes - answer.body.count else { return false }
            buffer.withUnsafeReadableBytes { answer.body.append(contentsOf: $0) }
            return true
        }
        return fits ? task.eventLoop.makeSucceededFuture(()) : tooLong(task)
    }

    private func tooLong(_ task: HTTPClient.Task<StoreAnswer>) -> EventLoopFuture<Void> {
        task.eventLoop.makeFailedFuture(
            TransportFailure("its answer is longer than \(maximumBytes) bytes"))
    }

    func didFinishRequest(task: HTTPClient.Task<StoreAnswer>) throws -> StoreAnswer {
        answer.withLock { $0 }
    }
}
