import RTSP

/// Parses a client's requests, and discards the packets interleaved with them (RFC 2326 §10.12).
package struct ClientReader: Sendable {
    package enum Item: Hashable, Sendable {
        case request(ClientRequest)
        /// A receiver report. Its content is not used.
        case packet
    }

    /// A request with a token and a query; clients send a dozen headers.
    package static let maximumHeadBytes = 16_384
    /// Parameters of GET_PARAMETER and SET_PARAMETER, which are discarded.
    package static let maximumBodyBytes = 16_384
    /// One message, and the packet after it.
    private static let maximumWaitingBytes = maximumHeadBytes + maximumBodyBytes + 65_540

    private var reader = RTSPReader(
        maximumHeadBytes: maximumHeadBytes, maximumBodyBytes: maximumBodyBytes)

    package init() {}

    package var waitingBytes: Int { reader.waitingBytes }

    /// Adds received bytes.
    /// - Throws: if more than one message and packet are waiting, because the client sends requests without awaiting responses.
    package mutating func add(_ new: some Collection<UInt8>) throws(RTSPServerError) {
        reader.add(new)
        guard waitingBytes <= Self.maximumWaitingBytes else {
            throw .tooLarge(part: "queued requests", limitBytes: Self.maximumWaitingBytes)
        }
    }

    /// - Returns: the next complete item; nil if more bytes are needed.
    /// - Throws: if the bytes are malformed. The connection cannot be parsed further.
    package mutating func next() throws(RTSPServerError) -> Item? {
        let item: RTSPReader.Item?
        do throws(RTSPError) { item = try reader.next() } catch { throw RTSPServerError(error) }
        switch item {
        case nil: return nil
        case .packet: return .packet
        case .request(let head): return .request(try ClientRequest(head))
        case .response: throw .malformedMessage("it is a response")
        }
    }
}
