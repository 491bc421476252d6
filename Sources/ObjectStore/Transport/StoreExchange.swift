/// A signed request, as it is sent.
struct StoreRequest: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    var method: Method
    /// `https://HOST/PATH?QUERY`, encoded.
    var address: String
    var headers: [(name: String, value: String)]
    var body: ObjectBytes
    /// A longer answer is an error.
    var maximumAnswerBytes: Int
    /// The whole exchange takes no longer than this.
    var deadlineNanoseconds: Int64
    /// The store works for long before it answers, and may send a byte now and then to say so.
    var isKeptAlive = false

    /// `HOST[:PORT]` of the address, for people.
    var authority: String {
        guard let scheme = address.firstRange(of: "://") else { return "" }
        return StoreRefusal.oneLine(
            String(address[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }))
    }
}

/// A store's answer.
struct StoreAnswer: Sendable {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]
}

/// Why there is no answer: broken or late, too long, or nothing was sent. One phrase.
struct TransportFailure: Error, Hashable, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// Sends requests and waits for their answers.
protocol StoreTransport: Sendable {
    /// Blocks until there is an answer.
    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer
}
