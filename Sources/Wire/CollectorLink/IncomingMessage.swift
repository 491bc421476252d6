/// A message as the collector's socket delivered it, without its payload's bytes.
package struct IncomingMessage: Hashable, Sendable {
    /// The connection that it came over.
    package var peer: PeerID
    /// Where that comes from, for the log.
    package var address: String
    /// What the connection's key allows; nil where no keys are asked for.
    package var right: WritingRight?
    /// The first part.
    package var header: [UInt8]
    /// Size of the second part, if there is one.
    package var payloadSizeBytes: Int?
    /// Parts behind the second.
    package var extraParts: Int

    /// Who answers for what it asks for: the name of the connection's key; where no keys are asked for, its address.
    var owner: String { right?.name ?? address }

    package init(
        peer: PeerID, address: String, right: WritingRight? = nil, header: [UInt8],
        payloadSizeBytes: Int? = nil, extraParts: Int = 0
    ) {
        self.peer = peer
        self.address = address
        self.right = right
        self.header = header
        self.payloadSizeBytes = payloadSizeBytes
        self.extraParts = extraParts
    }
}
