import Accounts
import HTTPTypes
import Library
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

    /// Result of a ``ServerSession/Lookup``.
    enum Outcome: Sendable {
        case live(LiveSource.Use, LiveSource.Description, Identity, AccessPass)
        case recording(RecordingPlayback, Identity, AccessPass)
        case refused(ServerStatus)
    }

    private struct State {
        var last = 0
        var strangers: [(number: Int, channel: any Channel)] = []
        var readers: [Int: Identity] = [:]
        /// Accounts of the connections that have a lookup in progress. They count as readers.
        var lookups: [Int: Identity] = [:]
        /// Time of the last receiver report per ``datagramKey(_:port:)``, monotonic, nanoseconds.
        var heard: [String: Int64] = [:]

        func isOpen(_ number: Int) -> Bool {
            readers[number] != nil || strangers.contains { $0.number == number }
        }
    }

    let access: Access
    let sources: LiveSources
    let logger: Logger
    private let site: ViewerSite
    private let history: StatusHistory
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

    /// - Parameter history: the sources that the collectors report.
    init(
        site: ViewerSite, access: Access, hub: LiveHub, history: StatusHistory, logger: Logger
    ) {
        self.site = site
        self.history = history
        self.access = access
        self.logger = logger
        logIn = RTSPLogIn(access: access, logger: logger)
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

    /// Counts a connection for an account, during a lookup.
    /// - Returns: false if the account has reached its limit, or the connection is closed.
    private func reserve(_ number: Int, _ identity: Identity) -> Bool {
        state.withLock { state in
            guard state.isOpen(number) else { return false }
            if identity != .anonymous, state.readers[number] != identity {
                let own =
                    state.readers.values.count { $0 == identity }
                    + state.lookups.count {
                        $0.value == identity && state.readers[$0.key] != identity
                    }
                guard own < Self.maximumReadersOfAccount else { return false }
            }
            state.lookups[number] = identity
            return true
        }
    }

    /// Ends the lookup of a connection.
    /// - Parameter isGranted: the connection is a reader from now on.
    /// - Returns: false if the connection has been closed.
    private func settle(_ number: Int, isGranted: Bool) -> Bool {
        state.withLock { state in
            guard let identity = state.lookups.removeValue(forKey: number), state.isOpen(number)
            else { return false }
            guard isGranted else { return true }
            state.strangers.removeAll { $0.number == number }
            state.readers[number] = identity
            return true
        }
    }

    func end(_ number: Int) {
        state.withLock { state in
            state.strangers.removeAll { $0.number == number }
            state.readers[number] = nil
            state.lookups[number] = nil
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
        _ lookup: ServerSession.Lookup, from address: String, connection: Int
    ) async -> Outcome {
        let (identity, rights, pass): (Identity, Rights, AccessPass)
        switch await logIn.check(lookup.credentials, from: address) {
        case .refused(let status): return .refused(status)
        case .allowed(let who, let may, let proof): (identity, rights, pass) = (who, may, proof)
        }
        guard reserve(connection, identity) else { return .refused(.unavailable) }
        let owner = WorkOwner(identity, remoteAddress: address)
        let outcome: Outcome
        do {
            switch lookup.resource {
            case .live(let source):
                guard rights.mayRead(source), try await isReported(source, for: owner) else {
                    throw ViewerSite.noRecording
                }
                switch await sources.lookUp(source) {
                case .described(let use, let description):
                    guard !description.presentation.tracks.isEmpty else {
                        throw ViewerSite.noRecording
                    }
                    outcome = .live(use, description, identity, pass)
                case .silent: throw ViewerSite.noRecording
                case .full: throw Problem(.serviceUnavailable, "too many live sources are watched")
                }
            case .recording(let session, let source, let from):
                guard rights.mayRead(source) else { throw ViewerSite.noRecording }
                let name =
                    session == Endpoints.latest
                    ? try await Endpoints.newest(of: site, for: rights) : session
                let playback = try await RecordingPlayback.open(
                    source, in: name, from: from, for: owner, at: site)
                guard !playback.presentation.tracks.isEmpty else { throw ViewerSite.noRecording }
                outcome = .recording(playback, identity, pass)
            }
        } catch {
            _ = settle(connection, isGranted: false)
            return .refused(Self.status(of: error))
        }
        guard settle(connection, isGranted: true) else { return .refused(.unavailable) }
        return outcome
    }

    /// Whether a source is reported by a collector, or is being recorded. Other names cost no subscription.
    private func isReported(_ source: String, for owner: WorkOwner) async throws -> Bool {
        // Without any status, the source may exist.
        guard history.knows(source) == false else { return true }
        // The status does not include the last seconds yet.
        return try await site.runHeavy(for: owner) {
            try await site.read { library in
                try library.sessionBeingRecorded().map {
                    try library.sourceNames($0).contains(source)
                } ?? false
            }
        }
    }

    /// The status that HTTP would have.
    static func status(of error: any Error) -> ServerStatus {
        guard let problem = error as? Problem else { return .unavailable }
        switch problem.status {
        case .notFound: return .notFound
        case .rangeNotSatisfiable: return .invalidRange
        case .badRequest: return .badRequest
        default: return .unavailable
        }
    }
}
