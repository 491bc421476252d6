import Media
import Testing

@testable import Wire

/// A collector's link with shorthands, and its actions by kind.
struct CollectorHarness {
    var link: CollectorLink
    var durable: DurableMap
    var now: Int64 = 1_000 * Fixtures.second
    var sent: [(peer: PeerID, message: WireMessage)] = []
    var events: [CollectorAction] = []
    var logs: [LinkLog] = []
    var dismissed: Set<PeerID> = []

    init(
        settings: CollectorLinkSettings = CollectorLinkSettings(software: "tributary-collector 1"),
        archived: ArchivedRecords = ArchivedRecords()
    ) {
        link = CollectorLink(settings: settings)
        durable = DurableMap(otherwise: archived)
    }

    static func peer(_ number: UInt8) -> PeerID { PeerID([0, number]) }

    mutating func send(
        _ message: WireMessage, from peer: UInt8 = 1, payload: Int? = nil, extraParts: Int = 0,
        address: String? = nil, right: WritingRight? = nil
    ) {
        var payload = payload
        if payload == nil, case .samples(let samples) = message {
            payload = samples.payloadSizeBytes
        }
        send(
            bytes: message.encoded(), from: peer, payload: payload, extraParts: extraParts,
            address: address, right: right)
    }

    mutating func send(
        bytes: [UInt8], from peer: UInt8 = 1, payload: Int? = nil, extraParts: Int = 0,
        address: String? = nil, right: WritingRight? = nil
    ) {
        perform(
            link.received(
                IncomingMessage(
                    peer: Self.peer(peer), address: address ?? "10.0.0.\(peer)", right: right,
                    header: bytes, payloadSizeBytes: payload, extraParts: extraParts), now: now,
                durable: durable))
    }

    mutating func perform(_ actions: [CollectorAction]) {
        for action in actions {
            switch action {
            case .send(let peer, let bytes):
                guard let message = try? WireMessage(decoding: bytes) else {
                    Issue.record("the collector sent what it would not read")
                    continue
                }
                sent.append((peer, message))
            case .log(let log): logs.append(log)
            case .dismissed(let peer): dismissed.insert(peer)
            case .opened, .samples, .gap, .trackUpdate, .goodbye, .clockExchanges, .health, .closed,
                .turnedAway, .report, .enrol:
                events.append(action)
            }
        }
    }

    /// - Parameter unheard: milliseconds since a message arrived that has not been processed.
    mutating func tick(milliseconds: Int64 = 0, unheard: Int64 = 0) {
        now += milliseconds * 1_000_000
        perform(link.tick(now: now, heardUntil: now - unheard * 1_000_000, durable: durable))
    }

    /// Everything of a source up to a record has become durable.
    mutating func persist(_ source: String, through sequence: UInt64, spool: UInt8 = 1) {
        durable.persist(source, Fixtures.identity(spool), through: sequence)
        link.becameDurable(source: source, spool: Fixtures.identity(spool), through: sequence)
    }

    /// Actions requested since the last call.
    mutating func takeEvents() -> [CollectorAction] {
        defer { events.removeAll() }
        return events
    }

    /// Messages sent to a peer since the last call.
    mutating func takeSent(to peer: UInt8 = 1) -> [WireMessage] {
        defer { sent.removeAll { $0.peer == Self.peer(peer) } }
        return sent.filter { $0.peer == Self.peer(peer) }.map(\.message)
    }

    /// The refusal sent to a peer since the last call, if any.
    mutating func takeRefusal(of peer: UInt8 = 1) -> Refusal? {
        for case .refusal(let refusal) in takeSent(to: peer) { return refusal }
        return nil
    }

    /// The state in the last Ack or Welcome sent to a peer.
    mutating func takeState(of peer: UInt8 = 1) -> SourceState? {
        var state: SourceState?
        for message in takeSent(to: peer) {
            if case .acknowledgement(let ack) = message { state = ack.sources.first }
            if case .welcome(let welcome) = message { state = welcome.sources.first }
        }
        return state
    }

    /// A greeted agent, with all actions taken.
    static func greeted(hello: Hello = Fixtures.hello()) -> CollectorHarness {
        var harness = CollectorHarness()
        harness.send(.hello(hello))
        // The first Ack, with the whole credit.
        harness.tick()
        harness.events.removeAll()
        harness.sent.removeAll()
        harness.logs.removeAll()
        return harness
    }
}
