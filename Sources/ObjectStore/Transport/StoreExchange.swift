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
    /// Blocks until there is an answer. Not on a thread of an event loop.
    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer
}
