/// Parses an RTSP connection: messages, and RTP and RTCP packets interleaved with them (RFC 2326 §10.12).
///
/// Bytes between packets that are neither a packet nor a message are skipped, up to a limit: some cameras send such.
///
/// A value that buffers unparsed bytes; a caller that calls ``next()`` until it is nil buffers less than one message.
package struct RTSPReader: Sendable {
    /// The next element of the connection.
    package enum Item: Hashable, Sendable {
        case response(RTSPResponse)
        /// A request; its body is discarded. Cameras send requests, too.
        case request(RTSPHead)
        case packet(channel: UInt8, bytes: [UInt8])
    }

    /// Channels of packets. Bytes are skipped up to a packet on one of them; none: they are an error.
    package var channels: Set<UInt8> = []
    private let maximumHeadBytes: Int
    private let maximumBodyBytes: Int
    private var bytes: [UInt8] = []
    private var start = 0
    /// Bytes of an incomplete header that do not contain its end.
    private var searched = 0
    /// Bytes skipped since the last item; nil: none.
    private var skipped: Int?
    /// Shorter than an RTCP packet with a sender: no packet.
    private static let leastPacketBytes = 8

    /// - Parameters:
    ///   - maximumHeadBytes: of the first line and the headers.
    ///   - maximumBodyBytes: of a body; a camera's session description is its longest one.
    package init(maximumHeadBytes: Int = 65_536, maximumBodyBytes: Int = 262_144) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// Bytes that are not parsed yet.
    package var waitingBytes: Int { bytes.count - start }

    package mutating func add(_ new: some Sequence<UInt8>) {
        if start > 0, start == bytes.count || start > 65_536 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// - Returns: the next complete item; nil if more bytes are needed.
    /// - Throws: if the bytes are malformed. The connection cannot be parsed further.
    package mutating func next() throws(RTSPError) -> Item? {
        // Some cameras send blank lines between messages and packets.
        while start < bytes.count, bytes[start] == 0x0D || bytes[start] == 0x0A {
            start += 1
            searched = 0
        }
        if skipped != nil || isJunk { try skipJunk() }
        guard skipped == nil, start < bytes.count else { return nil }
        if bytes[start] == UInt8(ascii: "$") { return nextPacket() }
        return try nextMessage()
    }

    // MARK: Junk

    /// Whether the next bytes begin neither a packet nor a message.
    private var isJunk: Bool {
        guard !channels.isEmpty, start < bytes.count, bytes[start] != UInt8(ascii: "$") else {
            return false
        }
        // A message begins with a method or the protocol's name.
        let end = bytes[start...].prefix(Self.longestMethod).firstIndex { !Self.isLetter($0) }
        guard let end else { return waitingBytes >= Self.longestMethod }
        return end == start || ![UInt8(ascii: " "), UInt8(ascii: "/")].contains(bytes[end])
    }

    private static let longestMethod = 32

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    /// Skips bytes until a packet or a response begins, or might begin.
    private mutating func skipJunk() throws(RTSPError) {
        var count = skipped ?? 0
        while start < bytes.count {
            guard let isItem = isItem(at: start) else { break }
            if isItem {
                skipped = nil
                return
            }
            start += 1
            count += 1
        }
        skipped = count
        searched = 0
        guard count <= maximumHeadBytes else {
            throw .malformedMessage("\(count) bytes are neither messages nor packets")
        }
    }

    /// Whether a packet or a response begins at an index; nil: more bytes are needed.
    private func isItem(at index: Int) -> Bool? {
        let rest = bytes[index...]
        guard rest.first == UInt8(ascii: "$") else {
            let name = Array("RTSP/1.".utf8)
            guard rest.starts(with: name.prefix(rest.count)) else { return false }
            return rest.count >= name.count ? true : nil
        }
        guard rest.count > 1 else { return nil }
        guard channels.contains(bytes[index + 1]) else { return false }
        // The size, and the version of RTP and RTCP.
        guard rest.count > 4 else { return nil }
        let size = Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])
        return size >= Self.leastPacketBytes && bytes[index + 4] >> 6 == 2
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
        // A server that does not know the version answers with the page alone.
        guard first != UInt8(ascii: "<"), !bytes[start...].starts(with: "HTTP/".utf8) else {
            throw .malformedMessage("it is HTTP: is this the RTSP port (554)?")
        }
        guard (0x41...0x5A).contains(first) || (0x61...0x7A).contains(first) else {
            throw .malformedMessage("byte \(first) starts neither a message nor a packet")
        }
        guard let end = headEnd() else {
            guard waitingBytes <= maximumHeadBytes else {
                throw .tooLarge(part: "message's header", limitBytes: maximumHeadBytes)
            }
            searched = max(0, waitingBytes - 3)
            return nil
        }
        guard end.head - start <= maximumHeadBytes else {
            throw .tooLarge(part: "message's header", limitBytes: maximumHeadBytes)
        }
        let head = try RTSPHead(parsing: bytes[start..<end.head])
        var size = 0
        let lengths = head.values("content-length")
        if let text = lengths.first {
            guard let number = Int(text), number >= 0, lengths.allSatisfy({ $0 == text }) else {
                let found = printable(lengths.joined(separator: ", "), limit: 40)
                throw .malformedMessage("Content-Length \"\(found)\"")
            }
            guard number <= maximumBodyBytes else {
                throw .tooLarge(part: "message's body", limitBytes: maximumBodyBytes)
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
            throw .malformedMessage("\"\(printable(head.firstLine))\" is no request line")
        }
        return .request(head)
    }

    /// Indices of the header's end and the body's start.
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
