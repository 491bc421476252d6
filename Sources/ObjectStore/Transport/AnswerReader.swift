/// Assembles a response from lines and bytes, up to a maximum size.
struct AnswerReader {
    /// Maximum size of all lines before the body, interim responses included.
    private static let maximumHeadBytes = 64 << 10

    private let maximumBytes: Int
    /// The length in the head is that of a body that is not sent.
    private let announcesOnly: Bool
    private var headBytes = 0
    private var isHeadComplete = false
    private(set) var answer = StoreAnswer(status: 0, headers: [:], body: [])

    init(_ request: StoreRequest) {
        maximumBytes = request.maximumAnswerBytes
        announcesOnly = request.method == .head
    }

    var receivedBytes: Int { headBytes + answer.body.count }

    /// A line of the head (RFC 9112 §2.1), with its end. Interim responses (RFC 9110 §15.2) precede the final one;
    /// trailer fields (RFC 9110 §6.5) are ignored.
    mutating func head(_ line: UnsafeRawBufferPointer) throws(TransportFailure) {
        headBytes += line.count
        guard headBytes <= Self.maximumHeadBytes else {
            throw TransportFailure(
                "the head of its answer is longer than \(Self.maximumHeadBytes) bytes")
        }
        guard !isHeadComplete else { return }
        if line.starts(with: "HTTP/".utf8) {
            answer.status = Self.status(line)
            answer.headers = [:]
            return
        }
        if line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") {
            if answer.status >= 200 { try completeHead() }
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let first = line.first, !Self.isBlank(first)
        else { return }
        let value = line[(colon + 1)...].trimming(while: Self.isBlank)
        answer.headers[String(decoding: line[..<colon], as: UTF8.self).lowercased()] =
            String(decoding: value, as: UTF8.self)
    }

    private mutating func completeHead() throws(TransportFailure) {
        isHeadComplete = true
        // No other coding is requested or supported.
        if let coding = answer.headers["transfer-encoding"], coding.lowercased() != "chunked" {
            throw TransportFailure("its answer has a transfer coding that was not asked for")
        }
        let announced = answer.headers["content-length"].flatMap { Int($0) } ?? 0
        guard !announcesOnly else { return }
        guard announced <= maximumBytes else { throw tooLong }
        answer.body.reserveCapacity(max(0, announced))
    }

    mutating func body(_ bytes: UnsafeRawBufferPointer) throws(TransportFailure) {
        guard bytes.count <= maximumBytes - answer.body.count else { throw tooLong }
        answer.body.append(contentsOf: bytes)
    }

    private var tooLong: TransportFailure {
        TransportFailure("its answer is longer than \(maximumBytes) bytes")
    }

    /// The three digits of a status line (RFC 9112 §4); 0 without any.
    private static func status(_ line: UnsafeRawBufferPointer) -> Int {
        let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard words.count > 1 else { return 0 }
        let digits = words[1].trimming(while: isBlank)
        guard digits.count == 3 else { return 0 }
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\n")
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate func trimming(while isBlank: (UInt8) -> Bool) -> Self {
        var rest = drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
