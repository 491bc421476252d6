import FoundationEssentials
package import Media
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
        message.releaseSeconds = releaseSeconds
        if let clock { message.clock = Data(clock.bytes) }
        return message
    }

    init(decoding message: Tributary_V1_ClockReply) {
        t1 = message.t1
        t2 = message.t2
        t3 = message.t3
        releaseSeconds = message.releaseSeconds
        clock = EpochID(message.clock)
    }

    /// The answer to a header part, if that is a clock probe: used by the receiving thread before it processes the
    /// message in any other way.
    ///
    /// - Parameters:
    ///   - header: the header part of any message.
    ///   - receivedAt: the collector's clock when the message was received, nanoseconds.
    ///   - releaseSeconds: ``releaseSeconds`` of the reply.
    ///   - clock: ``clock`` of the reply.
    ///   - now: reads the same clock; called last of all.
    /// - Returns: the header part to send back; nil for any other message.
    package static func bytes(
        answering header: UnsafeRawBufferPointer, receivedAt: Int64, releaseSeconds: UInt32 = 0,
        clock: EpochID? = nil, now: () -> Int64
    ) -> [UInt8]? {
        guard header.first == EnvelopeTag.clockProbe, header.count <= maximumProbeBytes,
            let probe = ClockProbe(header: Array(header))
        else { return nil }
        return ClockReply(
            t1: probe.t1, t2: receivedAt, t3: now(), releaseSeconds: releaseSeconds, clock: clock
        ).header
    }

    /// Far more than a probe needs, to allow for later additions.
    private static let maximumProbeBytes = 128

    /// The header part as the general encoder would write it, in much less time: the time after `t3` counts as network delay.
    private var header: [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(64)
        // Seven bits a byte (protobuf.dev, "Encoding").
        func append(_ tag: UInt8, _ value: UInt64) {
            content.append(tag)
            var rest = value
            while rest >= 0x80 {
                content.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            content.append(UInt8(rest))
        }
        for (tag, value) in zip([UInt8](arrayLiteral: 1 << 3, 2 << 3, 3 << 3), [t1, t2, t3]) {
            // Zigzag.
            append(tag, UInt64(bitPattern: value << 1 ^ value >> 63))
        }
        if releaseSeconds > 0 { append(4 << 3, UInt64(releaseSeconds)) }
        if let clock {
            // Length-delimited.
            append(5 << 3 | 2, UInt64(EpochID.byteCount))
            content += clock.bytes
        }
        return EnvelopeTag.clockReply + [UInt8(content.count)] + content
    }
}

extension ClockProbe {
    /// Parses a header part; nil for any other message.
    fileprivate init?(header: [UInt8]) {
        if let range = EnvelopeTag.content(of: header, tag: EnvelopeTag.clockProbe),
            var reader = FieldReader(header, range),
            reader.tag() == FieldReader.Tag(number: 1, isLengthDelimited: false),
            let t1 = reader.signedVarint(), reader.isAtEnd
        {
            self.init(t1: t1)
        } else if case .clockProbe(let probe)? = try? WireMessage(decoding: header) {
            self = probe
        } else {
            return nil
        }
    }
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
