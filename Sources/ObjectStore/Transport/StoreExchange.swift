/// A signed request.
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
    /// Maximum size of the response.
    var maximumAnswerBytes: Int
    /// Maximum duration of the whole exchange.
    var deadlineNanoseconds: Int64
    /// Whether the store may send keep-alive bytes before it responds.
    var isKeptAlive = false

    /// `HOST[:PORT]` of the address, for errors.
    var authority: String {
        guard let scheme = address.firstRange(of: "://") else { return "" }
        return StoreRefusal.oneLine(
            String(address[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }))
    }
}

/// A store's response.
struct StoreAnswer: Sendable {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: [UInt8]
}

/// The reason for a missing response: broken, late, too long, or not requested. One phrase.
package struct TransportFailure: Error, Hashable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// Sends requests and waits for their answers.
protocol StoreTransport: Sendable {
    /// Blocks until there is a response.
    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer
}
