import Media

/// An agent that has been welcomed.
struct CollectorConnection: Sendable {
    /// The account of one source on this connection, in the order of the Hello.
    struct Account: Hashable, Sendable {
        let name: String
        /// Credit used by the records since the Welcome.
        var consumedBytes: UInt64 = 0
        /// The credit limit that was announced to the agent.
        var announcedBytes: UInt64 = 0

        /// Remaining credit of the agent.
        var leftBytes: UInt64 { announcedBytes - min(announcedBytes, consumedBytes) }

        /// The present credit limit: never less than announced before.
        func limitBytes(window: UInt64, outstanding: UInt64) -> UInt64 {
            max(announcedBytes, consumedBytes + window - min(window, outstanding))
        }

        /// Whether a record of the largest size would have to wait indefinitely: nothing is in flight that could return credit.
        func isTooLowForLargest(outstanding: UInt64) -> Bool {
            outstanding == 0 && announcedBytes < consumedBytes + Self.largestRecordBytes
        }

        /// The cost of the largest record.
        static var largestRecordBytes: UInt64 {
            UInt64(WireLimits.payloadBytes) + WireLimits.recordCostBytes
        }
    }

    /// The contents of its Hello. An object: a connection is copied for every message, and this is a single reference
    /// then.
    final class Introduction: Sendable {
        let agent: String
        let software: String
        /// The minor version of its protocol.
        let minor: UInt32
        /// Whether it keeps its records until they are released.
        let keepsUntilReleased: Bool
        let statement: AgentStatement
        let address: String
        /// The owner of its budgets: the name of its key; without keys, its address.
        let owner: String
        let spool: SpoolID
        /// Epoch identities by number.
        let epochs: [UInt32: EpochID]

        init(_ hello: Hello, address: String, owner: String) {
            agent = hello.agent
            software = hello.software
            minor = hello.minor
            keepsUntilReleased =
                hello.minor >= WireLimits.releaseMinor && !hello.forgetsAtPersisted
            var statement = hello.statement
            if hello.minor < WireLimits.termMinor { statement.hasOthers = false }
            self.statement = statement
            self.address = address
            self.owner = owner
            spool = hello.spool
            epochs = Dictionary(
                hello.epochs.map { ($0.number, $0.identity) },
                uniquingKeysWith: { first, _ in first })
        }
    }

    let introduction: Introduction
    var accounts: [Account]
    var lastHeard: Int64
    var lastAck: Int64
    /// Whether it is on the list of connections that get an Ack at the next tick.
    var isAckDue = false
    var control: TokenBucket
    /// When it was last pinged because another agent claimed a source of it.
    var lastPing: Int64?
    /// The session's zero as last sent.
    var toldClock: SessionClock?

    init(hello: Hello, address: String, owner: String, now: Int64) {
        introduction = Introduction(hello, address: address, owner: owner)
        accounts = hello.sources.map { Account(name: $0.name) }
        lastHeard = now
        lastAck = now
        control = TokenBucket(
            perSecond: WireLimits.controlMessagesPerSecond, burst: WireLimits.controlMessageBurst,
            now: now)
    }

    var agent: String { introduction.agent }
    var software: String { introduction.software }
    var minor: UInt32 { introduction.minor }
    var keepsUntilReleased: Bool { introduction.keepsUntilReleased }
    var statement: AgentStatement { introduction.statement }
    var hasOthers: Bool { introduction.statement.hasOthers }
    var address: String { introduction.address }
    var owner: String { introduction.owner }
    var spool: SpoolID { introduction.spool }
    var epochs: [UInt32: EpochID] { introduction.epochs }

    /// Identifiers for the log.
    var metadata: [String: String] { ["agent": agent, "address": address] }
}

/// An agent that claims a source held by another one: it waits for the holder to answer a Ping.
struct SourceClaim: Sendable {
    let hello: Hello
    let address: String
    let owner: String
    let since: Int64
    /// The holders that were pinged.
    let holders: Set<PeerID>

    /// Deadline for the holders' answers.
    var deadline: Int64 { since + WireLimits.claimMilliseconds * 1_000_000 }
}
