import Media

/// Checks of single fields; errors name the field as in the protocol's definition.
enum FieldChecks {
    /// A text line: bounded in length, and without characters that break a log.
    static func text(
        _ text: String, _ field: String, limit: Int = WireLimits.textBytes
    ) throws(WireError) -> String {
        guard text.utf8.count <= limit else {
            throw .limit("\(field) has \(text.utf8.count) bytes; \(limit) are allowed")
        }
        return printable(text, limit: limit)
    }

    /// A number of elements.
    static func count(
        _ count: Int, _ field: String, _ range: ClosedRange<Int>
    ) throws(WireError) {
        if count < range.lowerBound {
            throw .malformed("\(field) has \(count) entries; at least \(range.lowerBound) needed")
        }
        if count > range.upperBound {
            throw .limit("\(field) has \(count) entries; \(range.upperBound) are allowed")
        }
    }

    /// A source's index in Hello.
    static func sourceIndex(_ index: UInt32, _ field: String) throws(WireError) -> Int {
        guard index < UInt32(WireLimits.sourcesPerAgent) else {
            throw .limit(
                "\(field) is \(index); an agent has \(WireLimits.sourcesPerAgent) sources at most")
        }
        return Int(index)
    }

    /// A sound level.
    static func level(_ millibels: Int32, _ field: String) throws(WireError) -> Int32 {
        guard WireLimits.levelMillibels.contains(millibels) else {
            throw .malformed(
                "\(field) is \(millibels); levels are from \(WireLimits.levelMillibels)")
        }
        return millibels
    }

    /// A record's number.
    static func sequence(_ sequence: UInt64, _ field: String) throws(WireError) -> UInt64 {
        guard (1...WireLimits.sequence).contains(sequence) else {
            throw .malformed("\(field) is \(sequence); records are numbered from 1 to 2^62")
        }
        return sequence
    }

    /// A record's number, or 0 for none.
    static func watermark(_ sequence: UInt64, _ field: String) throws(WireError) -> UInt64 {
        guard sequence <= WireLimits.sequence else {
            throw .malformed("\(field) is \(sequence); records are numbered from 1 to 2^62")
        }
        return sequence
    }

    /// A count of samples or bytes.
    static func count(
        _ count: UInt64, _ field: String, limit: UInt64 = WireLimits.reportedCount
    ) throws(WireError) -> UInt64 {
        guard count <= limit else {
            throw .limit("\(field) is \(count); \(limit) are allowed")
        }
        return count
    }

    /// A point in time.
    static func time(_ nanoseconds: Int64, _ field: String) throws(WireError) -> Int64 {
        guard nanoseconds.magnitude <= WireLimits.timeNanoseconds.magnitude else {
            throw .malformed("\(field) is \(nanoseconds) ns, outside of the range of a clock")
        }
        return nanoseconds
    }

    /// A length of time, nanoseconds.
    static func interval(
        _ nanoseconds: UInt64, _ field: String, limit: Int64 = WireLimits.intervalNanoseconds
    ) throws(WireError) -> Int64 {
        guard nanoseconds <= UInt64(limit) else {
            throw .limit("\(field) is \(nanoseconds) ns; \(limit) are allowed")
        }
        return Int64(nanoseconds)
    }

    /// An identity's bytes.
    static func identity<ID: RandomIdentity>(
        _ bytes: some Collection<UInt8>, _ field: String
    ) throws(WireError) -> ID {
        guard let identity = ID(bytes) else {
            throw .malformed(
                "\(field) has \(bytes.count) bytes; \(WireLimits.identityBytes) needed")
        }
        return identity
    }
}
