import Media

/// Names that collectors have announced, by endpoint. Two endpoints with one name and one port are addresses of one collector, which
/// has one disk.
///
/// The name of the box itself does not count: it is the default of all collectors that run on the box.
struct CollectorNames: Sendable {
    /// An address may lead to another collector later: after this time, it is tried again.
    static let validNanoseconds: Int64 = 3_600_000_000_000

    private struct Entry: Sendable {
        var name: String
        var nanoseconds: Int64
    }

    private let boxName: String
    private var entries: [String: Entry] = [:]

    init(boxName: String) { self.boxName = boxName }

    /// - Parameters:
    ///   - name: as announced; empty: the collector has none, and is not recognised.
    ///   - now: nil: it was announced to an earlier run of the agent.
    mutating func note(_ name: String, at endpoint: String, now: Int64?) {
        entries[endpoint] = Entry(name: name, nanoseconds: now ?? .min / 2)
    }

    /// The last announced name; empty if there is none.
    func name(of endpoint: String) -> String { entries[endpoint]?.name ?? "" }

    /// Whether two endpoints are addresses of one collector, by their last announced names.
    func areOne(_ endpoint: String, _ other: String) -> Bool {
        let name = name(of: endpoint)
        return endpoint == other
            || !name.isEmpty && name != boxName && name == self.name(of: other)
                && Self.port(of: endpoint) == Self.port(of: other)
    }

    /// The port of a `tcp://` endpoint; nil: it has none.
    private static func port(of endpoint: String) -> Int? {
        endpoint.split(separator: ":").last.flatMap { Int($0) }
    }

    /// The endpoint, and those of `collectors` that are known to be other addresses of its collector.
    func addresses(of endpoint: String, among collectors: [String], now: Int64) -> Set<String> {
        let others = collectors.filter {
            guard let entry = entries[$0] else { return false }
            return areOne($0, endpoint)
                && now.clampedSubtracting(entry.nanoseconds) < Self.validNanoseconds
        }
        return Set(others).union([endpoint])
    }
}
