import FoundationEssentials
import Glibc
import Messaging
import Trust

/// Finds out why no samples of a source arrive from a feed.
struct FeedAccess {
    /// Without a sample for this long, the collector is asked which sources it has.
    private static let questionNanoseconds: Int64 = 1_000_000_000
    /// After this time without a sample, the reason is reported.
    static let silenceNanoseconds: Int64 = 3_000_000_000
    /// Maximum wait for the collector's status, which it publishes once a second; then the reason is reported without it.
    private static let patienceNanoseconds: Int64 = 6_000_000_000
    /// Sources that a line names.
    private static let namedSources = 8

    /// The connection to the collector.
    private enum Connection {
        case pending
        /// With the reason.
        case lost(String)
        case ready
    }

    /// The members of a status document that are read (`proto/json/schema.json`, "tributary top").
    private struct StatusDocument: Decodable {
        struct Source: Decodable {
            var name: String
        }

        var sources: [Source]
        var omittedSources: Double
    }

    private let source: String
    private let endpoint: String
    private let security: SocketSecurity
    /// `errno` of access(2) to a Unix socket for writing; 0: permitted.
    private let openingError: (String) -> Int32
    private var connection = Connection.pending
    /// The time of the connection or of the last sample, monotonic nanoseconds.
    private var lastNanoseconds: Int64
    /// The collector's sources; nil: unknown, or not all of them.
    private var names: [String]?

    /// - Parameter openingError: for tests.
    init(
        source: String, endpoint: String, security: SocketSecurity, now: Int64,
        openingError: @escaping (String) -> Int32 = { access($0, W_OK) == 0 ? 0 : errno }
    ) {
        self.source = source
        self.endpoint = endpoint
        self.security = security
        self.openingError = openingError
        lastNanoseconds = now
    }

    /// Whether the collector's status is needed.
    func wantsStatus(now: Int64) -> Bool {
        if case .ready = connection { return now - lastNanoseconds >= Self.questionNanoseconds }
        return false
    }

    /// Why no samples arrive, in one line; nil: they do, or the reason is not known yet.
    func trouble(now: Int64) -> String? {
        let silence = now - lastNanoseconds
        switch connection {
        case .lost(let line): return line
        case .pending:
            return silence < Self.silenceNanoseconds
                ? nil : "no connection to the collector at \(endpoint) yet: check the address"
        case .ready:
            guard silence >= Self.silenceNanoseconds else { return nil }
            guard let names else {
                return silence < Self.patienceNanoseconds
                    ? nil : "no samples of '\(source)' arrive: check its name and its agent"
            }
            if names.contains(source) {
                return "no samples of '\(source)' arrive: check its agent"
            }
            guard !names.isEmpty else {
                return "the collector has no source '\(source)', and no other one: start its agent"
            }
            var known = names.prefix(Self.namedSources).joined(separator: ", ")
            if names.count > Self.namedSources {
                known += " and \(names.count - Self.namedSources) more"
            }
            return
                "the collector has no source '\(source)': start its agent, or use one of \(known)"
        }
    }

    /// A sample has arrived.
    mutating func receivedSample(now: Int64) {
        connection = .ready
        lastNanoseconds = now
        names = nil
    }

    /// The collector's status has arrived: a JSON document.
    mutating func received(status: [UInt8]) throws {
        let document = try JSONDecoder().decode(StatusDocument.self, from: Data(status))
        names = document.omittedSources > 0 ? nil : document.sources.map(\.name).sorted()
    }

    /// - Throws: when the collector does not admit this program: trying again would not help.
    mutating func received(_ event: ConnectionEvent, now: Int64) throws(ForwardError) {
        switch event {
        case .ready:
            connection = .ready
            lastNanoseconds = now
            names = nil
        case .handshakeFailed(_, let failure):
            if case .brokenOff = failure {
                // Also when the collector ends at this moment.
                connection = .lost(isLocal ? lostLine : line(for: failure))
            } else {
                throw .refused(line(for: failure))
            }
        case .disconnected: connection = .lost(lostLine)
        case .retrying: connection = .lost(try unreachableLine())
        case .connected, .accepted, .other: return
        }
    }

    private func line(for failure: HandshakeFailure) -> String {
        HandshakeAdvice.line(
            failure, endpoint: endpoint, name: "forward", watches: true, security: security)
    }

    private var isLocal: Bool { endpoint.hasPrefix("ipc://") }

    private var lostLine: String {
        "the collector at \(endpoint) has closed the connection: check that it runs"
    }

    private func unreachableLine() throws(ForwardError) -> String {
        guard isLocal else {
            return
                "no collector listens at \(endpoint): start it with this --feed, or correct the address"
        }
        let path = String(endpoint.dropFirst("ipc://".count))
        switch openingError(path) {
        case EACCES, EPERM:
            throw .refused(
                "this user may not open \(path): run this command as a user of the collector's group"
            )
        case ENOENT, ENOTDIR:
            return
                "no collector runs there, because \(path) does not exist: start it, or correct --archive or --feed"
        default:
            return "no collector listens at \(path): start it, or correct --archive or --feed"
        }
    }
}
