import Media
import Spooling
import Wire

/// Persistent state about collectors in a spool's directory: the term, the present collector, records that other collectors hold, and
/// their session.
///
/// Text with one value per line, and a checksum in the last line. It is replaced atomically, and durable before records are sent that
/// depend on it.
struct CollectorNote: Hashable, Sendable {
    /// A collector's session, with the clock exchange that relates its clock to the box's clock.
    struct Session: Hashable, Sendable {
        var clock: SessionClock
        /// An exchange with the collector's clock; its epoch number is ignored.
        var exchange: ReportedExchange
        /// Epoch of the box's clock.
        var epoch: EpochID
        /// The collector's name.
        var collector: String
    }

    private static let title = "tributary-collectors 1"
    /// A longer one was not written by an agent: its ranges are bounded.
    static let maximumBytes = 1 << 20

    /// Raised with each change of collector; 0: no records were sent yet.
    var term: UInt64 = 0
    /// The endpoint of the collector that has the records of this term, as it was configured; empty: none yet.
    var endpoint = ""
    /// The collector's announced name; empty if it has none.
    var name = ""
    /// The second collector's endpoint; empty if there is none.
    var mirror = ""
    /// The second collector's announced name; empty if it has none.
    var mirrorName = ""
    /// Records that other collectors hold, by spool.
    var held: [SpoolID: [HeldRange]] = [:]
    /// With two collectors: the first record that each of them has, by spool. Each lacks released records before it.
    var ownFirst: [SpoolID: OwnFirst] = [:]
    var session: Session?

    /// Numbers of records at the first and the second collector.
    struct OwnFirst: Hashable, Sendable {
        var first: UInt64
        var second: UInt64
    }

    init() {}

    /// The collector's name for the log.
    var collectorName: String { Self.called(name, at: endpoint) }

    /// A collector's name for the log.
    static func called(_ name: String, at endpoint: String) -> String {
        var text = name.isEmpty ? endpoint : name
        while text.utf8.count > WireLimits.labelBytes { text.removeLast() }
        return text
    }

    func encoded() -> [UInt8] {
        var lines = [Self.title, "term \(term)"]
        if !endpoint.isEmpty { lines.append("endpoint \(endpoint)") }
        if !name.isEmpty { lines.append("name \(name)") }
        if !mirror.isEmpty { lines.append("mirror \(mirror)") }
        if !mirrorName.isEmpty { lines.append("mirror-name \(mirrorName)") }
        for (spool, ranges) in held.sorted(by: { $0.key.description < $1.key.description }) {
            for range in ranges {
                lines.append(
                    "held \(spool) \(range.sequences.lowerBound) \(range.sequences.upperBound) "
                        + range.collector)
            }
        }
        for (spool, own) in ownFirst.sorted(by: { $0.key.description < $1.key.description }) {
            lines.append("own \(spool) \(own.first) \(own.second)")
        }
        if let session {
            let (clock, exchange) = (session.clock, session.exchange)
            lines.append(
                "session \(clock.session) \(clock.zeroUTCNanoseconds) \(clock.zeroNanoseconds) "
                    + "\(clock.zeroErrorNanoseconds) \(clock.segmentNanoseconds)")
            lines.append(
                "exchange \(session.epoch) \(exchange.t1) \(exchange.t2) \(exchange.t3) \(exchange.t4) "
                    + session.collector)
        }
        let text = lines.map { "\($0)\n" }.joined()
        return Array("\(text)check \(Self.checksum(text))\n".utf8)
    }

    /// Nil: the bytes are not a note, or a damaged one.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maximumBytes, let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: true)
        guard let last = lines.popLast(), lines.first.map(String.init) == Self.title,
            last == "check \(Self.checksum(String(text.dropLast(last.count + 1))))"
        else { return nil }
        var clock: SessionClock?
        for line in lines.dropFirst() {
            let words = line.split(separator: " ", maxSplits: 1)
            let value = words.count > 1 ? String(words[1]) : ""
            switch words.first.map(String.init) {
            case "term": term = UInt64(value).map { min($0, WireLimits.reportedCount) } ?? term
            case "endpoint": endpoint = value
            case "name": name = value
            case "mirror": mirror = value
            case "mirror-name": mirrorName = value
            case "held": readHeld(value)
            case "own": readOwn(value)
            case "session": clock = Self.clock(value)
            case "exchange": session = clock.flatMap { Self.session(value, $0) }
            // A line of a later version.
            default: continue
            }
        }
    }

    private mutating func readHeld(_ value: String) {
        let words = value.split(separator: " ", maxSplits: 3).map(String.init)
        guard words.count == 4, let spool = SpoolID(hexadecimal: words[0]),
            let first = UInt64(words[1]), let last = UInt64(words[2]), first > 0, first <= last,
            last <= WireLimits.sequence,
            first > held[spool]?.last?.sequences.upperBound ?? 0
        else { return }
        held[spool, default: []].append(
            HeldRange(collector: words[3], sequences: first...last))
    }

    private mutating func readOwn(_ value: String) {
        let words = value.split(separator: " ").map(String.init)
        guard words.count == 3, let spool = SpoolID(hexadecimal: words[0]),
            let first = UInt64(words[1]), let second = UInt64(words[2]),
            (1...WireLimits.sequence + 1).contains(first),
            (1...WireLimits.sequence + 1).contains(second)
        else { return }
        ownFirst[spool] = OwnFirst(first: first, second: second)
    }

    private static func clock(_ value: String) -> SessionClock? {
        let words = value.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().compactMap { Int64($0) }
        guard words.count == 5, numbers.count == 4, SourceName.isValid(words[0]),
            numbers[0].magnitude <= WireLimits.timeNanoseconds.magnitude,
            numbers[1].magnitude <= WireLimits.timeNanoseconds.magnitude,
            (0...WireLimits.intervalNanoseconds).contains(numbers[2]),
            (1...WireLimits.segmentNanoseconds).contains(numbers[3])
        else { return nil }
        return SessionClock(
            session: words[0], zeroUTCNanoseconds: numbers[0], zeroNanoseconds: numbers[1],
            zeroErrorNanoseconds: numbers[2], segmentNanoseconds: numbers[3])
    }

    private static func session(_ value: String, _ clock: SessionClock) -> Session? {
        let words = value.split(separator: " ", maxSplits: 5).map(String.init)
        let stamps = words.dropFirst().prefix(4).compactMap { Int64($0) }
        guard words.count == 6, stamps.count == 4, let epoch = EpochID(hexadecimal: words[0]),
            stamps.allSatisfy({ $0.magnitude <= WireLimits.timeNanoseconds.magnitude })
        else { return nil }
        return Session(
            clock: clock,
            exchange: ReportedExchange(
                t1: stamps[0], t2: stamps[1], t3: stamps[2], t4: stamps[3], epoch: 0),
            epoch: epoch, collector: words[5])
    }

    private static func checksum(_ text: String) -> String {
        var text = text
        return text.withUTF8 { String(CRC32C.of(UnsafeRawBufferPointer($0)), radix: 16) }
    }
}
