/// The records of a source that have arrived and are not in the object store: their bytes and the age of the oldest, to
/// within a second of arrivals, or more for a large backlog.
struct UnreleasedArrivals: Hashable, Sendable {
    private struct Part: Hashable {
        /// Its last record.
        var through: UInt64
        var bytes: Int
        /// Arrival of its first record, on the collector's monotonic clock.
        var sinceNanoseconds: Int64
    }

    /// Above this number, neighbours are joined.
    private static let maximumParts = 512
    private static let partNanoseconds: Int64 = 1_000_000_000

    private var parts: [Part] = []
    private var lengthNanoseconds = Self.partNanoseconds

    /// Payload bytes.
    private(set) var bytes = 0
    /// Arrival of the oldest unstored record, on the collector's monotonic clock; nil: there is none.
    var sinceNanoseconds: Int64? { parts.first?.sinceNanoseconds }

    mutating func add(through sequence: UInt64, bytes: Int, at now: Int64) {
        self.bytes += bytes
        if let last = parts.last, now - last.sinceNanoseconds < lengthNanoseconds {
            parts[parts.count - 1].through = max(last.through, sequence)
            parts[parts.count - 1].bytes += bytes
            return
        }
        parts.append(Part(through: sequence, bytes: bytes, sinceNanoseconds: now))
        guard parts.count > Self.maximumParts else { return }
        lengthNanoseconds *= 2
        var joined: [Part] = []
        for (index, part) in parts.enumerated() {
            if index.isMultiple(of: 2) {
                joined.append(part)
            } else {
                joined[joined.count - 1].through = max(
                    joined[joined.count - 1].through, part.through)
                joined[joined.count - 1].bytes += part.bytes
            }
        }
        parts = joined
    }

    mutating func remove(through sequence: UInt64) {
        let count = parts.prefix { $0.through <= sequence }.count
        bytes -= parts[..<count].reduce(0) { $0 + $1.bytes }
        parts.removeFirst(count)
        if parts.isEmpty { lengthNanoseconds = Self.partNanoseconds }
    }
}
