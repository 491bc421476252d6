import Archive
import Hummingbird
import Terminal

/// The query of a request, checked: every name known, none twice.
struct RequestQuery {
    /// More than any address of the page: 256 names of 45 bytes. A request's whole header has 16 KiB.
    private static let maximumBytes = 12_288
    /// A hundred and twenty years: no recording is as long, and sums of times do not overflow.
    private static let maximumNanoseconds: Int64 = 4_000_000_000_000_000_000

    /// More than any time.
    private static let maximumMomentBytes = 64

    private let values: [String: String]

    /// - Parameter names: the path's parameters.
    /// - Throws: ``Problem`` 400.
    init(_ request: Request, _ names: Set<String>) throws(Problem) {
        try self.init(request.uri.query, names)
    }

    /// - Parameters:
    ///   - query: percent-encoded; nil: none.
    ///   - names: nil: all are accepted.
    /// - Throws: ``Problem`` 400.
    init(_ query: String?, _ names: Set<String>?) throws(Problem) {
        guard let query, !query.isEmpty else {
            values = [:]
            return
        }
        guard query.utf8.count <= Self.maximumBytes else {
            throw Problem(.uriTooLong, "the query is longer than \(Self.maximumBytes) bytes")
        }
        var values: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pair[0]),
                let value = Self.decoded(pair.count > 1 ? pair[1] : "")
            else { throw Problem(.badRequest, "the query is not percent-encoded UTF-8") }
            guard names?.contains(name) ?? true else {
                let names = names ?? []
                let known =
                    names.isEmpty
                    ? "there are none here" : "use \(names.sorted().joined(separator: ", "))"
                throw Problem(.badRequest, "unknown parameter '\(name.prefix(60))': \(known)")
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw Problem(.badRequest, "the parameter '\(name)' is given twice")
            }
        }
        self.values = values
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                // A sign is no digit.
                guard rest.count >= 2, rest.first != UInt8(ascii: "+"),
                    let value = UInt8(String(Substring(rest.prefix(2))), radix: 16)
                else { return nil }
                rest = rest.dropFirst(2)
                bytes.append(value)
            default: bytes.append(byte)
            }
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    subscript(name: String) -> String? { values[name] }

    /// A whole number within bounds.
    func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(
                .badRequest,
                "'\(name)' must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A range of a session.
    struct Range: Hashable, Sendable {
        /// Nanoseconds from the session's zero; nil: its beginning.
        var from: Int64?
        /// Nil: its end.
        var until: Int64?

        /// - Throws: ``Problem`` 400 for a range that is empty or reversed.
        init(from: Int64?, until: Int64?) throws(Problem) {
            if let from, let until, from >= until {
                throw Problem(.badRequest, "'until' must be later than 'from'")
            }
            self.from = from
            self.until = until
        }
    }

    /// The range from the moments `from` to `until` of a session.
    func range(zero: UTCTime) throws(Problem) -> Range {
        try Range(from: moment("from", zero: zero), until: moment("until", zero: zero))
    }

    /// A moment of a session in a body.
    static func moment(
        _ text: String?, _ name: String, zero: UTCTime
    ) throws(Problem) -> Int64? {
        guard
            let moment = try point(text, name)?.sessionNanoseconds(
                zeroUTCNanoseconds: zero.nanoseconds)
        else { return nil }
        guard (-maximumNanoseconds...maximumNanoseconds).contains(moment) else {
            throw Problem(.badRequest, "'\(name)' is further away than any recording")
        }
        return moment
    }

    private static func point(_ text: String?, _ name: String) throws(Problem) -> TimelinePoint? {
        guard let text else { return nil }
        guard text.utf8.count <= maximumMomentBytes, let point = TimelinePoint(argument: text)
        else {
            throw Problem(
                .badRequest,
                "'\(name)' must be seconds of session time (83.5) or UTC (2026-11-20T22:40:00.000Z)"
            )
        }
        return point
    }

    /// A moment of a session, nanoseconds from its zero.
    func moment(_ name: String, zero: UTCTime) throws(Problem) -> Int64? {
        try Self.moment(values[name], name, zero: zero)
    }

    /// An instant, nanoseconds since 1970 (UTC).
    func instant(_ name: String) throws(Problem) -> Int64? {
        guard let text = values[name] else { return nil }
        guard text.utf8.count <= Self.maximumMomentBytes,
            case .utc(let nanoseconds)? = TimelinePoint(argument: text)
        else {
            throw Problem(.badRequest, "'\(name)' must be UTC, such as 2026-11-20T22:40:00.000Z")
        }
        return nanoseconds
    }

    /// Names of sources, separated by commas.
    func sources(_ name: String) throws(Problem) -> [String]? {
        guard let text = values[name] else { return nil }
        let names = text.split(separator: ",").map(String.init)
        guard !names.isEmpty, names.count <= 256, names.allSatisfy(ArchiveLayout.isValidName)
        else { throw Problem(.badRequest, "'\(name)' must be names of sources: a,b,c") }
        return names
    }
}
