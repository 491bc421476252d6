import Operations

/// One connection's HTTP/1.1, without its socket: takes bytes, returns answers. A value.
///
/// The next request is read when the answer before it has been sent, so a peer that only asks costs one answer of memory.
struct StatusConnection: Sendable {
    private var received: [UInt8] = []
    private var output: ArraySlice<UInt8> = []
    /// No further request is read.
    private(set) var isClosing = false

    /// Bytes that are still to be sent.
    var pending: ArraySlice<UInt8> { output }

    /// Whether everything has been sent, and the connection is to be closed.
    var isFinished: Bool { isClosing && output.isEmpty }

    /// Whether more bytes are wanted now.
    var isReading: Bool { !isClosing && output.isEmpty }

    /// Takes bytes from the peer.
    mutating func receive(_ bytes: some Collection<UInt8>) { received += bytes }

    /// Answers the next request, if there is a whole one and the answer before it has been sent.
    /// - Returns: whether there is a new answer.
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

    /// The peer has taken bytes.
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
