import Archive
import Catalog
import CollectorClient
import Dispatch
import Logging
import Media
import Messaging
import Operations
import Synchronization
import Threads
import Trust
import Wire

/// Measures the clocks of the site's other collectors, on a thread of its own, and records the exchanges with the session.
///
/// Nothing waits for it. A collector that cannot be reached is not measured, and the error of its clock grows.
final class PeerClocks: Sendable {
    /// Limit of collectors: sites have a few. Further rows are an error; they are neither probed nor admitted.
    static let maximumPeers = 64
    /// Limit of messages of one peer in a turn. Each answers a probe, and few probes are outstanding.
    private static let maximumMessages = 64
    private static let statusNanoseconds: Int64 = 1_000_000_000
    private static let tickMilliseconds = 1_000
    /// Delay after a refusal: the peer may find this collector's key when it reads the catalog again.
    private static let refusedNanoseconds: Int64 = 5_000_000_000
    /// Time without an answer that is reported: seven probes were lost.
    private static let silenceSeconds = 15.0
    /// Lines of a session: some hundred days of a few peers. A longer file is not continued.
    private static let maximumFileBytes: UInt64 = 64 << 20

    private struct State {
        var places: [PeerProbeAddress] = []
        var session: PeerClockRecord.Session?
        var statuses: [Status] = []
        var isStopping = false
    }

    struct Status: Hashable, Sendable {
        var archive: String
        var clock: PeerClockStatus
    }

    /// Another collector. Confined to the thread.
    private final class Peer {
        var place: PeerProbeAddress
        var clock: PeerClock
        /// Nil: it is not probed.
        var connection: ClockConnection?
        /// Whether its handshake is done.
        var isReady = false
        /// When it is to be replaced, because libzmq does not try again after a refusal.
        var replacementNanoseconds: Int64?
        /// Why the last handshake failed.
        var trouble: String?
        var greeting = GreetingWatch()
        /// The lookups of its host name; nil before the first connection.
        var host: HostLookup?

        init(_ place: PeerProbeAddress, now: Int64) {
            self.place = place
            clock = PeerClock(now: now)
        }

        func close() {
            connection = nil
            isReady = false
            replacementNanoseconds = nil
        }

        var isOpen: Bool {
            switch connection {
            case .some: true
            case nil: false
            }
        }
    }

    /// This collector's clock; its exchanges are recorded by this name.
    let clock: EpochID
    private let layout: ArchiveLayout
    private let key: SecretKey?
    private let logger: Logger
    /// Called on the thread when a session has its last lines.
    private let recorded: @Sendable (String) -> Void
    private let wakeUp: WakeUp
    private let state = Mutex(State())
    private let thread = JoinableThread()

    /// - Parameters:
    ///   - key: this collector's; nil: it uses no keys.
    ///   - recorded: called on the thread when a session has its last lines.
    init(
        clock: EpochID, layout: ArchiveLayout, key: SecretKey?, logger: Logger,
        recorded: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(MessagingError) {
        self.recorded = recorded
        self.clock = clock
        self.layout = layout
        self.key = key
        self.logger = logger
        wakeUp = try WakeUp()
    }

    func start() {
        thread.start("peer clocks") { [self] in
            do throws(MessagingError) {
                try run()
            } catch {
                logger.error("the other collectors' clocks are not measured any more: \(error)")
            }
        }
    }

    /// Writes pending exchanges, and ends the thread.
    func stop(until deadline: DispatchTime) {
        state.withLock { $0.isStopping = true }
        wakeUp.signal()
        thread.join(until: deadline)
    }

    /// Sets the collectors to probe from now on: at most ``maximumPeers``.
    func follow(_ places: [PeerProbeAddress]) {
        let isNew = state.withLock { state in
            defer { state.places = places }
            return state.places != places
        }
        if isNew { wakeUp.signal() }
    }

    /// The session that is being recorded now; nil: none.
    func note(_ session: PeerClockRecord.Session?) {
        let isNew = state.withLock { state in
            defer { state.session = session }
            return state.session != session
        }
        if isNew { wakeUp.signal() }
    }

    /// The others' clocks, by name.
    var statuses: [Status] { state.withLock { $0.statuses } }

    // MARK: The thread

    private func run() throws(MessagingError) {
        let context = try Context()
        var peers: [Peer] = []
        var record = PeerClockRecord(own: clock)
        var nextStatus: Int64 = .min
        var poller: Poller?
        // Sockets are closed before their context.
        defer {
            poller = nil
            for peer in peers { peer.connection = nil }
        }
        while true {
            let (places, session, isStopping) = state.withLock {
                ($0.places, $0.session, $0.isStopping)
            }
            if follow(places, &peers) { poller = nil }
            for peer in peers {
                let isAnew = try open(peer, in: context)
                if isAnew { poller = nil }
            }
            if poller == nil { poller = watch(peers) }
            if !isStopping { _ = try poller?.wait(milliseconds: milliseconds(to: peers)) }
            wakeUp.drain()
            for peer in peers { try serve(peer) }
            keep(isStopping ? nil : session, peers, in: &record)
            let now = SystemClock.monotonic.nowNanoseconds
            if now >= nextStatus {
                nextStatus = now + Self.statusNanoseconds
                let statuses = peers.map { status(of: $0, now: now) }
                state.withLock { $0.statuses = statuses }
            }
            if isStopping { return }
        }
    }

    /// Adds and removes peers.
    /// - Returns: whether the set of connections to poll has changed.
    private func follow(_ places: [PeerProbeAddress], _ peers: inout [Peer]) -> Bool {
        var isChanged = false
        for peer in peers where !places.contains(where: { $0.archive == peer.place.archive }) {
            peer.close()
            isChanged = true
        }
        peers.removeAll { peer in !places.contains { $0.archive == peer.place.archive } }
        for place in places {
            guard let peer = peers.first(where: { $0.place.archive == place.archive }) else {
                peers.append(Peer(place, now: SystemClock.monotonic.nowNanoseconds))
                continue
            }
            guard peer.place != place else { continue }
            if peer.place.way != place.way {
                // The measured clock remains until an answer has another identity.
                peer.close()
                peer.trouble = nil
                peer.host = nil
                peer.greeting = GreetingWatch()
                isChanged = true
            }
            peer.place = place
        }
        return isChanged
    }

    /// Opens a missing connection, and replaces one without answers.
    /// - Returns: whether the set of connections to poll has changed.
    private func open(_ peer: Peer, in context: Context) throws(MessagingError) -> Bool {
        guard case .connect(let endpoint, let peerKey) = peer.place.way else { return false }
        let now = SystemClock.monotonic.nowNanoseconds
        if peer.isOpen {
            let isUnanswered = peer.isReady && peer.clock.takeReplacement(now: now)
            guard isUnanswered || now >= peer.replacementNanoseconds ?? .max else { return false }
        }
        var security = SocketSecurity.plain
        if let key, let peerKey { security = .client(key, server: peerKey) }
        peer.close()
        let host = peer.host ?? HostLookup(of: endpoint, wakeUp: wakeUp)
        peer.host = host
        do throws(MessagingError) {
            peer.connection = try ClockConnection(to: host, security: security, in: context)
        } catch {
            // For example, libzmq does not accept the address. Other peers are not affected.
            peer.trouble = "cannot connect to \(endpoint): \(error)"
            peer.place.way = .none("cannot connect to \(endpoint): \(error)")
        }
        return true
    }

    private func watch(_ peers: [Peer]) -> Poller {
        var poller = Poller()
        _ = poller.add(descriptor: wakeUp.descriptor)
        for peer in peers { peer.connection?.watch(in: &poller) }
        return poller
    }

    private func milliseconds(to peers: [Peer]) -> Int {
        let now = SystemClock.monotonic.nowNanoseconds
        let due = peers.lazy.filter(\.isReady).map(\.clock.dueNanoseconds).min() ?? .max
        let wait = max(0, due.clampedSubtracting(now)) / 1_000_000 + 1
        return Int(min(wait, Int64(Self.tickMilliseconds)))
    }

    /// Processes a peer's answers and events, and sends a probe that is due.
    private func serve(_ peer: Peer) throws(MessagingError) {
        for _ in 0..<Self.maximumMessages {
            guard let message = try peer.connection?.nextMessage() ?? nil else { break }
            let now = SystemClock.monotonic.nowNanoseconds
            do throws(WireError) {
                guard case .clockReply(let reply) = try WireMessage(decoding: message) else {
                    continue
                }
                peer.clock.take(reply, receivedAt: now)
                peer.trouble = nil
            } catch {
                logger.debug("invalid message from the clock of \(peer.place.name): \(error)")
            }
        }
        while let event = try peer.connection?.nextEvent() ?? nil {
            let now = SystemClock.monotonic.nowNanoseconds
            if peer.greeting.follow(event, now: now) { continue }
            switch event {
            case .ready:
                peer.isReady = true
                peer.clock.connected(now: now)
            case .disconnected:
                peer.isReady = false
            case .handshakeFailed(let address, let failure):
                peer.trouble = Self.advice(failure, peer.host?.endpoint ?? address)
                peer.replacementNanoseconds = now + Self.refusedNanoseconds
            case .connected, .accepted, .retrying, .other:
                continue
            }
        }
        let now = SystemClock.monotonic.nowNanoseconds
        if peer.isReady, let probe = peer.clock.probe(now: now) { try peer.connection?.send(probe) }
    }

    private static func advice(_ failure: HandshakeFailure, _ endpoint: String) -> String {
        switch failure {
        case .refused:
            "the collector at \(endpoint) does not admit this collector's key; it learns it from the catalog, within a minute"
        case .securityMismatch, .wrongKey, .brokenOff:
            "the collector at \(endpoint) uses another key than its report says, or none"
        case .protocolError: "the program at \(endpoint) is no collector: check --advertise"
        }
    }

    private func status(of peer: Peer, now: Int64) -> Status {
        var clock = peer.clock.status(of: peer.place.name, now: now)
        switch peer.place.way {
        case .none(let why): clock.trouble = why
        case .connect(let endpoint, _):
            clock.trouble =
                peer.trouble ?? peer.greeting.trouble(of: endpoint, now: now)
                ?? (peer.isReady ? nil : peer.host?.trouble(now: now))
            if clock.trouble == nil, clock.ageSeconds ?? .infinity > Self.silenceSeconds {
                clock.trouble = "no answer from \(endpoint)"
            }
        }
        return Status(archive: peer.place.archive, clock: clock)
    }

    // MARK: The session's file

    private func keep(
        _ session: PeerClockRecord.Session?, _ peers: [Peer], in record: inout PeerClockRecord
    ) {
        let now = SystemClock.monotonic.nowNanoseconds
        guard record.isDue(session, now: now) else { return }
        let utc = UTCTime(nanoseconds: SystemClock.utc.nowNanoseconds)
        func clocks() -> [(name: String, archive: String, clock: PeerClock)] {
            peers.map { ($0.place.name, $0.place.archive, $0.clock) }
        }
        if session != record.session {
            for peer in peers { peer.clock.finishWindow() }
            if let before = record.session {
                append(record.lines(clocks(), now: now, utc: utc), to: before.name)
                if before.name != session?.name { recorded(before.name) }
            }
            guard let session else { return record.end() }
            // The disk's thread makes the directory of a new session soon.
            guard FileSystem.isDirectory(layout.session(session.name)) else { return }
            append([record.begin(session, utc: utc)], to: session.name, isFirst: true)
        }
        guard let session else { return }
        append(record.lines(clocks(), now: now, utc: utc), to: session.name)
    }

    /// - Parameter isFirst: whether a crash may have left an incomplete line before these.
    private func append(_ lines: [LedgerEntry], to session: String, isFirst: Bool = false) {
        guard !lines.isEmpty, FileSystem.isDirectory(layout.session(session)) else { return }
        let path = layout.clocks(session)
        do throws(ArchiveError) {
            let file = try RecordingFile(growing: path, on: layout.disk)
            guard file.sizeBytes < Self.maximumFileBytes else { return }
            let lineFeed = isFirst && file.sizeBytes > 0 ? [UInt8(ascii: "\n")] : []
            try file.append(lineFeed + lines.flatMap(Ledger.line))
            try file.synchronize()
        } catch {
            // Without these exchanges, bounds are wider, but correct.
            logger.warning("exchanges with the other collectors' clocks are not recorded: \(error)")
        }
    }
}
