import Encoding
package import Messaging
package import Wire

/// Settings of an agent's uplink.
package struct UplinkSettings: Hashable, Sendable {
    /// The ZeroMQ endpoints of the collectors, as they were configured: with commas between them.
    package var endpoint: String {
        didSet { collectors = Self.collectors(endpoint) }
    }
    /// The endpoints of ``endpoint``, one by one.
    package private(set) var collectors: [String]
    package var sourceName: String
    /// The box's name, for logs.
    package var agentName: String
    /// Name and version, sent to the collector.
    package var software: String
    /// Batching of samples and records.
    package var batch: BatchLength
    /// Memory limit while the collector is unavailable, without a spool or after its failure.
    package var memoryLimitBytes: Int
    /// Security of the connections.
    package var security = SocketSecurity.plain
    /// Security by endpoint, for collectors with other keys.
    package var otherSecurities: [String: SocketSecurity] = [:]
    /// Storage of samples until the collector has them on disk; nil: memory only.
    package var spool: SpoolSettings?
    /// The Unix socket for commands on the box; nil: none.
    package var controlPath: String?
    /// Time limit for sending after a stop, or after the source's end without a collector.
    package var linger = UplinkSettings.defaultLinger

    /// Shorter than the service manager's timeout (`TimeoutStopSec=30`).
    package static let defaultLinger = Duration.seconds(10)

    /// Security of the connections to one of the collectors. An address of the only collector's host name has that of the name.
    package func security(of endpoint: String) -> SocketSecurity {
        let names = collectors
        let named = names.count == 1 ? otherSecurities[names[0]] : nil
        return otherSecurities[endpoint] ?? named ?? security
    }

    /// The endpoints of a list with commas between them, each once.
    package static func collectors(_ list: String) -> [String] {
        var seen: Set<Substring> = []
        let names = list.split(separator: ",").map { $0.drop { $0 == " " } }
            .filter { !$0.isEmpty && seen.insert($0).inserted }.map(String.init)
        return names.isEmpty ? [list] : names
    }

    package init(
        endpoint: String, sourceName: String, agentName: String, software: String,
        batch: BatchLength, memoryLimitBytes: Int, spool: SpoolSettings? = nil
    ) {
        self.endpoint = endpoint
        collectors = Self.collectors(endpoint)
        self.sourceName = sourceName
        self.agentName = agentName
        self.software = software
        self.batch = batch
        self.memoryLimitBytes = memoryLimitBytes
        self.spool = spool
    }
}

/// Batching of samples into records, and of records into messages.
package enum BatchLength: Hashable, Sendable {
    /// Records of 100 ms, batched for half a second while there are no viewers. With viewers, records have the requested length and
    /// are sent immediately. Records in memory only are not batched.
    case automatic
    /// Records of this length, each sent at once; zero: each sample is a record.
    case fixed(Duration)

    /// Record length without viewers: with unsynchronised records, the loss if the box crashes.
    private static let usual = Duration.milliseconds(100)

    /// Whether records are batched.
    var gathers: Bool { self == .automatic }

    /// Time for which samples are gathered into a record.
    /// - Parameter watched: the delay that viewers request, nanoseconds; nil without viewers.
    func recordNanoseconds(watched: Int64?) -> Int64 {
        switch self {
        case .automatic: min(Self.usual.nanoseconds, watched ?? .max)
        case .fixed(let length): length.nanoseconds
        }
    }
}

/// A source's storage on disk, and its limits.
package struct SpoolSettings: Hashable, Sendable {
    /// The source's directory.
    package var path: String
    package var limitBytes: Int

    package init(path: String, limitBytes: Int) {
        self.path = path
        self.limitBytes = limitBytes
    }
}

/// The end of an uplink's work.
package enum UplinkOutcome: Hashable, Sendable {
    /// Everything is durable at the collector.
    case complete
    /// Stopped before everything was sent. One line with the amount that is on disk for the next start.
    case kept(String)
    /// Stopped while the collector refused this box's key. One line with the reason, and the amount of data that is kept or
    /// lost.
    case refused(String, isKept: Bool)
    /// One line with the reason, or with the amount of discarded data.
    case failed(String)
}

/// An uplink's state at one moment.
package struct UplinkStatus: Hashable, Sendable {
    package var isConnected = false
    /// The endpoint of the source's collector.
    package var collector = ""
    /// The reason for leaving the previous one; nil: there was none since the start.
    package var moved: String?
    /// The spool's term (`Hello.term`).
    package var term: UInt64 = 0
    /// Records that other collectors hold, by their names.
    package var held: [String: UInt64] = [:]
    /// Records that each collector lacks; empty with one collector.
    package var owed: [OwedRecords] = []
    /// Time for which the spool can store the capture at the present rate; nil if unknown, or with one collector.
    package var lasts: Duration?
    /// State of the second collector; nil without mirroring.
    package var mirror: MirrorStatus?
    /// Bytes that are not durable at the collector.
    package var keptBytes = 0
    package var keptSamples: UInt64 = 0
    package var lostSamples: UInt64 = 0
    /// Round trip of the last clock exchange.
    package var roundTripNanoseconds: Int64?
    /// The reason why records cannot be sent, on one line; nil if they can, or if unknown.
    package var trouble: String?
    /// The reason why samples are not on disk although configured.
    package var spoolTrouble: String?
    /// Iterations of the uplink's thread.
    package var turns: UInt64 = 0

    package init() {}
}
