import RTSP

/// Takes a client's bytes apart: requests, and packets interleaved with them (RFC 2326 §10.12), which are left out.
///
/// A value: it holds what has not been taken yet, at most one message and what came behind it.
package struct ClientReader: Sendable {
    package enum Item: Hashable, Sendable {
        case request(ClientRequest)
        /// Reports of the receiver: that one came is all that is used.
        case packet
    }

    /// A request with a token and a query; clients send a dozen headers.
    package static let maximumHeadBytes = 16_384
    /// Parameters of GET_PARAMETER and SET_PARAMETER, which are read and not used.
    package static let maximumBodyBytes = 16_384
    /// Of one message, and of a packet behind it.
    private static let maximumWaitingBytes = maximumHeadBytes + maximumBodyBytes + 65_540

    private var bytes: [UInt8] = []
    private var start = 0
    /// Bytes of an unfinished head that are known to hold no end.
    private var searched = 0
    /// Bytes of a packet that are still to come, and are left out.
    private var skipping = 0

    package init() {}

    package var waitingBytes: Int { bytes.count - start }

    /// - Throws: when more waits than a client that takes its answers can have sent.
    package mutating func add(_ new: some Collection<UInt8>) throws(RTSPServerError) {
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        let skipped = min(skipping, new.count)
        skipping -= skipped
        bytes.append(contentsOf: new.dropFirst(skipped))
        guard bytes.count <= Self.maximumWaitingBytes else {
            throw .tooLarge(part: "requests that wait", limitBytes: Self.maximumWaitingBytes)
        }
    }

    /// The next whole item; nil: more bytes are needed.
    /// - Throws: when the bytes are none of either. The connection cannot be read on then.
    package mutating func next() throws(RTSPServerError) -> Item? {
        while start < bytes.count, bytes[start] == 0x0D || bytes[start] == 0x0A {
            start += 1
            searched = 0
        }
        guard start < bytes.count else { return nil }
        if bytes[start] == UInt8(ascii: "$") { return takePacket() }
        return try takeRequest()
    }

    private mutating func takePacket() -> Item? {
        guard waitingBytes >= 4 else { return nil }
        let size = 4 + Int(bytes[start + 2]) << 8 + Int(bytes[start + 3])
        let present = min(size, waitingBytes)
        start += present
        skipping = size - present
        return .packet
    }

    private mutating func takeRequest() throws(RTSPServerError) -> Item? {
        let first = bytes[start]
        guard (0x41...0x5A).contains(first) else {
            throw .malformedMessage("byte \(first) begins neither a request nor a packet")
        }
        guard let end = headEnd() else {
            guard waitingBytes <= Self.maximumHeadBytes else {
                throw .tooLarge(part: "request's header", limitBytes: Self.maximumHeadBytes)
            }
            searched = max(0, waitingBytes - 3)
            return nil
        }
        guard end.head - start <= Self.maximumHeadBytes else {
            throw .tooLarge(part: "request's header", limitBytes: Self.maximumHeadBytes)
        }
        let head: RTSPHead
        do throws(RTSPError) {
            head = try RTSPHead(parsing: bytes[start..<end.head])
        } catch {
            throw .malformedMessage("\(error)")
        }
        var size = 0
        let lengths = head.values("content-length")
        if let text = lengths.first {
            guard lengths.count == 1, let number = Int(text), number >= 0 else {
                throw .malformedMessage("its Content-Length is no number")
            }
            guard number <= Self.maximumBodyBytes else {
                throw .tooLarge(part: "request's body", limitBytes: Self.maximumBodyBytes)
            }
            size = number
        }
        guard bytes.count - end.body >= size else { return nil }
        start = end.body + size
        searched = 0
        return .request(try ClientRequest(head))
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
