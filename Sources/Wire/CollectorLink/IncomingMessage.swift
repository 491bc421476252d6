/// A message as the collector's socket delivered it, without its payload's bytes.
package struct IncomingMessage: Hashable, Sendable {
    /// The connection that delivered it.
    package var peer: PeerID
    /// Its network address, for the log.
    package var address: String
    /// The rights of the connection's key; nil where keys are not in use.
    package var right: WritingRight?
    /// The first part.
    package var header: [UInt8]
    /// Size of the second part, if there is one.
    package var payloadSizeBytes: Int?
    /// Number of parts after the second.
    package var extraParts: Int

    /// The owner of its budgets: the name of the connection's key; where keys are not in use, its address.
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
