import Accounts
import HTTPTypes
import Logging
import Media
import NIOCore
import RTSPServer
import Synchronization

/// State shared by all RTSP connections. Any thread may call it.
final class RTSPService: Sendable {
    /// Includes clients without a granted request.
    static let maximumConnections = 500
    /// Limit of connections without a granted request: a new one replaces the oldest.
    static let maximumStrangers = 100
    /// The limit of live streams over HTTP.
    static let maximumReadersOfAccount = LiveHub.maximumWatchersOfAccount

    /// Result of a ``ServerSession/Wish``.
    enum Outcome: Sendable {
        case live(LiveSource, LiveSource.Description, Identity, AccessPass)
        case recording(RecordingPlayback, Identity, AccessPass)
        case refused(ServerStatus)
    }

    private struct State {
        var last = 0
        var strangers: [(number: Int, channel: any Channel)] = []
        var readers: [Int: Identity] = [:]
        /// Time of the last receiver report per ``datagramKey(_:port:)``, monotonic, nanoseconds.
        var heard: [String: Int64] = [:]
    }

    let access: Access
    let sources: LiveSources
    let logger: Logger
    private let site: ViewerSite
    private let logIn: RTSPLogIn
    private let state = Mutex(State())
    private let datagrams = Mutex<DatagramChannels?>(nil)

    /// The two UDP sockets, on one event loop.
    struct DatagramChannels: Sendable {
        let rtp: any Channel
        let rtcp: any Channel
        let ports: ServerPorts

        /// Sends reports before the packets that they refer to: without reports, receivers align the tracks by their first packets,
        /// whose times differ.
        func send(
            reports: [AddressedEnvelope<ByteBuffer>], packets: [AddressedEnvelope<ByteBuffer>]
        ) {
            rtp.eventLoop.execute {
                for report in reports { rtcp.write(report, promise: nil) }
                rtcp.flush()
                for packet in packets { rtp.write(packet, promise: nil) }
                rtp.flush()
            }
        }
    }

    init(site: ViewerSite, access: Access, hub: LiveHub, logger: Logger) {
        self.site = site
        self.access = access
        self.logger = logger
        logIn = RTSPLogIn(access: access)
        sources = LiveSources(hub: hub)
    }

    var datagramChannels: DatagramChannels? { datagrams.withLock { $0 } }

    func use(_ channels: DatagramChannels) { datagrams.withLock { $0 = channels } }

    // MARK: Connections

    /// Registers a connection; nil if the limit is reached.
    func begin(_ channel: any Channel) -> Int? {
        let (number, displaced) = state.withLock { state -> (Int?, (any Channel)?) in
            var displaced: (any Channel)?
            let count = state.readers.count + state.strangers.count
            if state.strangers.count >= Self.maximumStrangers || count >= Self.maximumConnections {
                guard !state.strangers.isEmpty else { return (nil, nil) }
                displaced = state.strangers.removeFirst().channel
            }
            state.last += 1
            state.strangers.append((state.last, channel))
            return (state.last, displaced)
        }
        if let displaced {
            logger.debug("RTSP: a connection without a grant makes room for another")
            displaced.close(promise: nil)
        }
        return number
    }

    /// Counts a connection for an account.
    /// - Returns: false if the account has reached its limit.
    private func admit(_ number: Int, _ identity: Identity) -> Bool {
        state.withLock { state in
            // The connection may have been closed during the lookup.
            guard
                state.readers[number] != nil
                    || state.strangers.contains(where: { $0.number == number })
            else { return false }
            if state.readers[number] == nil, identity != .anonymous {
                let own = state.readers.values.count { $0 == identity }
                guard own < Self.maximumReadersOfAccount else { return false }
            }
            state.strangers.removeAll { $0.number == number }
            state.readers[number] = identity
            return true
        }
    }

    func end(_ number: Int) {
        state.withLock { state in
            state.strangers.removeAll { $0.number == number }
            state.readers[number] = nil
        }
    }

    // MARK: UDP

    static func datagramKey(_ address: String, port: Int) -> String { "\(address) \(port)" }

    /// Registers an address whose reports are accepted.
    func expect(_ key: String, now: Int64) { state.withLock { $0.heard[key] = now } }

    func forget(_ key: String) { state.withLock { $0.heard[key] = nil } }

    /// Notes a report; ignores unregistered addresses.
    func noteReport(_ key: String, now: Int64) {
        state.withLock { state in
            if state.heard[key] != nil { state.heard[key] = now }
        }
    }

    func heard(_ key: String) -> Int64? { state.withLock { $0.heard[key] } }

    // MARK: Requests

    /// Authenticates a client, and looks up its resource.
    func resolve(
        _ wish: ServerSession.Wish, from address: String, connection: Int
    ) async -> Outcome {
        let (identity, rights, pass): (Identity, Rights, AccessPass)
        switch await logIn.check(wish.credentials, from: address) {
        case .refused(let status): return .refused(status)
        case .allowed(let who, let may, let proof): (identity, rights, pass) = (who, may, proof)
        }
        let outcome: Outcome
        switch wish.resource {
        case .live(let source):
            guard rights.mayRead(source) else { return .refused(.notFound) }
            guard let live = sources.source(source) else { return .refused(.unavailable) }
            guard let description = await live.description(),
                !description.presentation.tracks.isEmpty
            else { return .refused(.notFound) }
            outcome = .live(live, description, identity, pass)
        case .recording(let session, let source, let from):
            guard rights.mayRead(source) else { return .refused(.notFound) }
            do {
                let name =
                    session == Endpoints.latest
                    ? try await Endpoints.newest(of: site, for: rights) : session
                let playback = try await RecordingPlayback.open(
                    source, in: name, from: from, at: site)
                guard !playback.presentation.tracks.isEmpty else { return .refused(.notFound) }
                outcome = .recording(playback, identity, pass)
            } catch {
                return .refused(Self.status(of: error))
            }
        }
        guard admit(connection, identity) else { return .refused(.unavailable) }
        return outcome
    }

    /// The status that HTTP would have.
    static func status(of error: any Error) -> ServerStatus {
        guard let problem = error as? Problem else { return .unavailable }
        switch problem.status {
        case .notFound: return .notFound
        case .badRequest: return .badRequest
        default: return .unavailable
        }
    }
}
