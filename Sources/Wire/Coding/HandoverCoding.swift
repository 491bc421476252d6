import SwiftProtobuf

extension HeldRange {
    func encoded() -> Tributary_V1_HeldRecords {
        var message = Tributary_V1_HeldRecords()
        message.collector = collector
        message.firstSequence = sequences.lowerBound
        message.lastSequence = sequences.upperBound
        return message
    }

    /// Ascending and disjoint.
    static func decode(
        _ messages: [Tributary_V1_HeldRecords]
    ) throws(WireError) -> [HeldRange] {
        try FieldChecks.count(messages.count, "Source.held", 0...WireLimits.heldRanges)
        var held: [HeldRange] = []
        for message in messages {
            let first = try FieldChecks.sequence(
                message.firstSequence, "HeldRecords.first_sequence")
            let last = try FieldChecks.sequence(message.lastSequence, "HeldRecords.last_sequence")
            guard first <= last, first > held.last?.sequences.upperBound ?? 0 else {
                throw .malformed("Source.held has the records \(first) to \(last) out of order")
            }
            held.append(
                HeldRange(
                    collector: try FieldChecks.text(
                        message.collector, "HeldRecords.collector", limit: WireLimits.labelBytes),
                    sequences: first...last))
        }
        return held
    }
}

extension SessionClock {
    func encoded() -> Tributary_V1_SessionClock {
        var message = Tributary_V1_SessionClock()
        message.session = session
        message.zeroUtcNanoseconds = zeroUTCNanoseconds
        message.zero = zeroNanoseconds
        message.zeroError = UInt64(zeroErrorNanoseconds)
        message.segment = UInt64(segmentNanoseconds)
        return message
    }

    init(decoding message: Tributary_V1_SessionClock) throws(WireError) {
        guard SourceName.isValid(message.session) else {
            throw .name(
                "\"\(printable(message.session, limit: WireLimits.nameBytes))\" is not a session's name"
            )
        }
        session = message.session
        zeroUTCNanoseconds = try FieldChecks.time(
            message.zeroUtcNanoseconds, "SessionClock.zero_utc_nanoseconds")
        zeroNanoseconds = try FieldChecks.time(message.zero, "SessionClock.zero")
        zeroErrorNanoseconds = try FieldChecks.interval(
            message.zeroError, "SessionClock.zero_error")
        segmentNanoseconds = try FieldChecks.interval(
            message.segment, "SessionClock.segment", limit: WireLimits.segmentNanoseconds)
        guard segmentNanoseconds > 0 else { throw .malformed("SessionClock.segment is 0") }
    }
}

extension SessionOffer {
    func encoded() -> Tributary_V1_SessionOffer {
        var message = Tributary_V1_SessionOffer()
        message.clock = clock.encoded()
        message.collector = collector
        message.exchange = exchange.encoded()
        return message
    }

    init(decoding message: Tributary_V1_SessionOffer) throws(WireError) {
        clock = try SessionClock(decoding: message.clock)
        collector = try FieldChecks.text(
            message.collector, "SessionOffer.collector", limit: WireLimits.labelBytes)
        guard
            let exchange = try ReportedExchange.decode(
                message.hasExchange ? [message.exchange] : [], "SessionOffer.exchange"
            ).first
        else { throw .malformed("SessionOffer.exchange is missing") }
        self.exchange = exchange
    }
}
