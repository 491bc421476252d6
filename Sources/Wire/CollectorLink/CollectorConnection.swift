import Media

/// An agent that has been welcomed.
struct CollectorConnection: Sendable {
    /// One source's account on this connection, in the order of the Hello.
    struct Account: Hashable, Sendable {
        let name: String
        /// What the records since the Welcome have cost.
        var consumedBytes: UInt64 = 0
        /// What the agent was told that it may spend.
        var announcedBytes: UInt64 = 0

        /// What it may spend by now: never less than was said before.
        func limitBytes(window: UInt64, outstanding: UInt64) -> UInt64 {
            max(announcedBytes, consumedBytes + window - min(window, outstanding))
        }

        /// Whether a record of the largest size would have to wait for ever: nothing is on its way that could bring credit.
        func isTooLowForLargest(outstanding: UInt64) -> Bool {
            outstanding == 0 && announcedBytes < consumedBytes + Self.largestRecordBytes
        }

        /// What the largest record costs.
        static var largestRecordBytes: UInt64 {
            UInt64(WireLimits.payloadBytes) + WireLimits.recordCostBytes
        }
    }

    let agent: String
    let software: String
    /// The minor version that it speaks.
    let minor: UInt32
    let address: String
    /// Who answers for it: the name of its key; without keys, its address.
    let owner: String
    let spool: SpoolID
    /// Number to identity.
    let epochs: [UInt32: EpochID]
    var accounts: [Account]
    var lastHeard: Int64
    var lastAck: Int64
    /// Whether it is on the list of those that get an Ack at the next tick.
    var isAckDue = false
    var control: TokenBucket
    /// When its holder was asked last whether it is still there.
    var lastPing: Int64?

    init(hello: Hello, address: String, owner: String, now: Int64) {
        agent = hello.agent
        software = hello.software
        minor = hello.minor
        self.address = address
        self.owner = owner
        spool = hello.spool
        epochs = Dictionary(
            hello.epochs.map { ($0.number, $0.identity) }, uniquingKeysWith: { first, _ in first })
        accounts = hello.sources.map { Account(name: $0.name) }
        lastHeard = now
        lastAck = now
        control = TokenBucket(
            perSecond: WireLimits.controlMessagesPerSecond, burst: WireLimits.controlMessageBurst,
            now: now)
    }

    /// Ids for the log.
    var metadata: [String: String] { ["agent": agent, "address": address] }
}

/// An agent whose source another one holds: it waits for the holder to answer a Ping.
struct SourceClaim: Sendable {
    let hello: Hello
    let address: String
    let owner: String
    let since: Int64
    /// The holders that were asked.
    let holders: Set<PeerID>

    /// When the holders' time is over.
    var deadline: Int64 { since + WireLimits.claimMilliseconds * 1_000_000 }
}
