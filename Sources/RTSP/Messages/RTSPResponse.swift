/// A camera's response (RFC 2326 §7).
package struct RTSPResponse: Hashable, Sendable {
    package let status: Int
    package let reason: String
    package let head: RTSPHead
    package let body: [UInt8]

    init(_ head: RTSPHead, body: [UInt8]) throws(RTSPError) {
        let parts = head.firstLine.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let status = Int(parts[1]), (100...999).contains(status) else {
            throw .malformedMessage("\"\(printable(head.firstLine))\" is no status line")
        }
        self.status = status
        reason = parts.count > 2 ? printable(parts[2]) : ""
        self.head = head
        self.body = body
    }

    /// `CSeq` of the request; nil if the camera omits it.
    package var sequence: UInt32? { head.value("cseq").flatMap { UInt32($0) } }

    /// The status for logs: "453 Not Enough Bandwidth".
    package var summary: String { reason.isEmpty ? "\(status)" : "\(status) \(reason)" }
}
