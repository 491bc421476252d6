import Operations

/// HTTP/1.1 of one connection, without its socket: input are received bytes, output are responses. A value.
///
/// The next request is processed when the previous response has been sent, so a connection uses the memory of one
/// response.
struct StatusConnection: Sendable {
    private var received: [UInt8] = []
    private var output: ArraySlice<UInt8> = []
    /// No further request is read.
    private(set) var isClosing = false

    /// Bytes to be sent.
    var pending: ArraySlice<UInt8> { output }

    /// Whether everything was sent, and the connection should be closed.
    var isFinished: Bool { isClosing && output.isEmpty }

    /// Whether more bytes should be read.
    var isReading: Bool { !isClosing && output.isEmpty }

    mutating func receive(_ bytes: some Collection<UInt8>) { received += bytes }

    /// Processes the next request, if it is complete and the previous response has been sent.
    /// - Returns: whether there is a new response.
    mutating func answerNext(from board: StatusBoard) -> Bool {
        guard isReading else { return false }
        do throws(RequestHead.Failure) {
            guard let (head, byteCount) = try RequestHead.parse(received) else { return false }
            received.removeFirst(byteCount)
            isClosing = !head.keepsConnection
            output =
                Self.bytes(
                    of: OperationsAnswer(to: head.method, head.path, board: board),
                    withBody: head.method != "HEAD", isLast: isClosing)[...]
        } catch {
            received = []
            isClosing = true
            output = Self.bytes(of: error.answer, withBody: true, isLast: true)[...]
        }
        return true
    }

    /// Removes sent bytes.
    mutating func sent(_ count: Int) { output = output.dropFirst(count) }

    private static func bytes(
        of answer: OperationsAnswer, withBody: Bool, isLast: Bool
    ) -> [UInt8] {
        let body = Array(answer.body.utf8)
        var head = "HTTP/1.1 \(answer.status.line)\r\nContent-Type: \(answer.contentType)\r\n"
        head += "Content-Length: \(body.count)\r\nCache-Control: no-store\r\n"
        if answer.status == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
        if isLast { head += "Connection: close\r\n" }
        return Array("\(head)\r\n".utf8) + (withBody ? body : [])
    }
}

extension OperationsAnswer.Status {
    /// Code and reason phrase (RFC 9110 §15).
    fileprivate var line: String {
        switch self {
        case .ok: "200 OK"
        case .badRequest: "400 Bad Request"
        case .notFound: "404 Not Found"
        case .methodNotAllowed: "405 Method Not Allowed"
        case .headerTooLarge: "431 Request Header Fields Too Large"
        case .unavailable: "503 Service Unavailable"
        }
    }
}
