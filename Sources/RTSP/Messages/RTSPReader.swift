/// Takes a control connection's bytes apart: messages, and packets interleaved with them (RFC 2326 §10.12).
///
/// A value: it holds what has not been taken yet, and at most one whole message of it.
package struct RTSPReader: Sendable {
    /// What stands at the front of the connection's bytes.
    package enum Item: Hashable, Sendable {
        case response(RTSPResponse)
        /// Cameras may ask, too. Only what an answer needs is kept.
        case request(method: String, sequence: String?)
        case packet(channel: UInt8, bytes: [UInt8])
    }

    package static let maximumHeadBytes = 65_536
    package static let maximumBodyBytes = 262_144

    private var bytes: [UInt8] = []
    private var start = 0
    /// Bytes of an unfinished head that are known to hold no end.
    private var searched = 0

    package init() {}

    /// Bytes that wait.
    package var waitingBytes: Int { bytes.count - start }

    package mutating func add(_ new: some Sequence<UInt8>) {
        if start > 0, start == bytes.count || start > 65_536 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The next whole item; nil: more bytes are needed.
    /// - Throws: when the bytes are none of either. The connection cannot be read on then.
    package mutating func next() throws(RTSPError) -> Item? {
        // Some cameras put blank lines between messages and packets.
        while start < bytes.count, bytes[start] == 0x0D || bytes[start] == 0x0A {
            start += 1
            searched = 0
        }
        guard start < bytes.count else { return nil }
        if bytes[start] == UInt8(ascii: "$") { return nextPacket() }
        return try nextMessage()
    }

    private mutating func nextPacket() -> Item? {
        guard waitingBytes >= 4 else { return nil }
        let size = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
        guard waitingBytes >= 4 + size else { return nil }
        let packet = Array(bytes[(start + 4)..<(start + 4 + size)])
        let channel = bytes[start + 1]
        start += 4 + size
        return .packet(channel: channel, bytes: packet)
    }

    private mutating func nextMessage() throws(RTSPError) -> Item? {
        let first = bytes[start]
        guard (0x41...0x5A).contains(first) || (0x61...0x7A).contains(first) else {
            throw .malformedMessage("byte \(first) is neither a message's nor a packet's first")
        }
        guard let end = headEnd() else {
            guard waitingBytes <= Self.maximumHeadBytes else {
                throw .tooLarge(part: "message's header", limitBytes: Self.maximumHeadBytes)
            }
            searched = max(0, waitingBytes - 3)
            return nil
        }
        guard end.head - start <= Self.maximumHeadBytes else {
            throw .tooLarge(part: "message's header", limitBytes: Self.maximumHeadBytes)
        }
        let head = try RTSPHead(parsing: bytes[start..<end.head])
        var size = 0
        if let text = head.value("content-length") {
            guard let number = Int(text), number >= 0 else {
                throw .malformedMessage("Content-Length \"\(printable(text, limit: 20))\"")
            }
            guard number <= Self.maximumBodyBytes else {
                throw .tooLarge(part: "message's body", limitBytes: Self.maximumBodyBytes)
            }
            size = number
        }
        guard bytes.count - end.body >= size else { return nil }
        let body = Array(bytes[end.body..<(end.body + size)])
        start = end.body + size
        searched = 0
        if head.firstLine.hasPrefix("RTSP/") {
            return .response(try RTSPResponse(head, body: body))
        }
        let words = head.firstLine.split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("RTSP/") else {
            throw .malformedMessage("\"\(printable(head.firstLine))\" is no first line")
        }
        return .request(method: printable(words[0], limit: 20), sequence: head.value("cseq"))
    }

    /// Where the header ends, and where the body begins.
    private func headEnd() -> (head: Int, body: Int)? {
        var index = start + searched
        while index < bytes.count {
            if bytes[index] == 0x0A, index > start {
                if bytes[index - 1] == 0x0A { return (index - 1, index + 1) }
                if index >= start + 2, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A {
                    return (index - 2, index + 1)
                }
            }
            index += 1
        }
        return nil
    }
}
