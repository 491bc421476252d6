/// Groups the messages to be sent at one moment: consecutive batches of samples share one message.
///
/// Each keeps its own header and payload part, so a message of several is the concatenation of their parts. Nothing is
/// encoded or copied again, and a batch is numbered, kept, credited and hashed independently of its group.
package struct RecordGroups: Sendable {
    private var current: (range: Range<Int>, bytes: Int)?
    private var groups: [Range<Int>] = []

    private init() {}

    /// The indices of each message's headers and payloads, in order.
    /// - Parameters:
    ///   - messages: headers, and the sizes of their payloads in bytes; nil: without a payload.
    ///   - takesSeveral: whether the collector supports several records per message.
    package static func of(
        _ messages: some Sequence<(header: [UInt8], payloadBytes: Int?)>, takesSeveral: Bool
    ) -> [Range<Int>] {
        var groups = RecordGroups()
        for (index, message) in messages.enumerated() {
            let bytes = takesSeveral ? message.payloadBytes : nil
            groups.add(
                index, bytes: message.header.first == EnvelopeTag.samples ? bytes : nil)
        }
        groups.close()
        return groups.groups
    }

    /// - Parameter bytes: nil: it is not grouped.
    private mutating func add(_ index: Int, bytes: Int?) {
        guard let bytes else {
            close()
            return groups.append(index..<index + 1)
        }
        if let current, current.range.count < WireLimits.recordsPerMessage,
            current.bytes + bytes <= WireLimits.messageBytes
        {
            self.current = (current.range.lowerBound..<index + 1, current.bytes + bytes)
            return
        }
        close()
        current = (index..<index + 1, bytes)
    }

    private mutating func close() {
        if let current { groups.append(current.range) }
        current = nil
    }
}
