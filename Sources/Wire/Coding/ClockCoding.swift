import SwiftProtobuf

extension ClockProbe {
    func encoded() -> Tributary_V1_ClockProbe {
        var message = Tributary_V1_ClockProbe()
        message.t1 = t1
        return message
    }

    init(decoding message: Tributary_V1_ClockProbe) {
        t1 = message.t1
    }
}

extension ClockReply {
    func encoded() -> Tributary_V1_ClockReply {
        var message = Tributary_V1_ClockReply()
        message.t1 = t1
        message.t2 = t2
        message.t3 = t3
        return message
    }

    init(decoding message: Tributary_V1_ClockReply) {
        t1 = message.t1
        t2 = message.t2
        t3 = message.t3
    }

    /// The answer to a header part, if that is a clock probe: for the thread that receives, before anything else is
    /// done with the message.
    ///
    /// - Parameters:
    ///   - header: the header part of any message.
    ///   - receivedAt: the collector's clock when the message was taken in, nanoseconds.
    ///   - sentAt: the same clock right before this call.
    /// - Returns: the header part to send back, or nil for any other message.
    package static func bytes(
        answering header: UnsafeRawBufferPointer, receivedAt: Int64, sentAt: Int64
    ) -> [UInt8]? {
        guard
            mayAnswer(header),
            case .clockProbe(let probe)? = try? WireMessage(decoding: Array(header))
        else { return nil }
        return WireMessage.clockReply(ClockReply(t1: probe.t1, t2: receivedAt, t3: sentAt))
            .encoded()
    }

    /// Whether a header can be that of a clock probe: its first byte, field 6 of the envelope and length-delimited, tells
    /// nearly every other message apart.
    package static func mayAnswer(_ header: UnsafeRawBufferPointer) -> Bool {
        let probeTag: UInt8 = 6 << 3 | 2
        return header.first == probeTag && header.count <= maximumProbeBytes
    }

    /// Far more than a probe needs, for additions.
    private static let maximumProbeBytes = 128
}

extension ReportedExchange {
    func encoded() -> Tributary_V1_ClockExchange {
        var message = Tributary_V1_ClockExchange()
        message.t1 = t1
        message.t2 = t2
        message.t3 = t3
        message.t4 = t4
        message.epoch = epoch
        return message
    }

    static func decode(
        _ messages: [Tributary_V1_ClockExchange], _ field: String
    ) throws(WireError) -> [ReportedExchange] {
        try FieldChecks.count(messages.count, field, 0...WireLimits.exchangesPerMessage)
        var exchanges: [ReportedExchange] = []
        for message in messages {
            exchanges.append(
                ReportedExchange(
                    t1: try FieldChecks.time(message.t1, "ClockExchange.t1"),
                    t2: try FieldChecks.time(message.t2, "ClockExchange.t2"),
                    t3: try FieldChecks.time(message.t3, "ClockExchange.t3"),
                    t4: try FieldChecks.time(message.t4, "ClockExchange.t4"),
                    epoch: message.epoch))
        }
        return exchanges
    }
}
