/// A message as the collector's socket delivered it, without its payload's bytes.
package struct IncomingMessage: Hashable, Sendable {
    /// The connection that it came over.
    package var peer: PeerID
    /// Where that comes from, for the log.
    package var address: String
    /// The first part.
    package var header: [UInt8]
    /// Size of the second part, if there is one.
    package var payloadSizeBytes: Int?
    /// Parts behind the second.
    package var extraParts: Int

    package init(
        peer: PeerID, address: String, header: [UInt8], payloadSizeBytes: Int? = nil,
        extraParts: Int = 0
    ) {
        self.peer = peer
        self.address = address
        self.header = header
        self.payloadSizeBytes = payloadSizeBytes
        self.extraParts = extraParts
    }
}
