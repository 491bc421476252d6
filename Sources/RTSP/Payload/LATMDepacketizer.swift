import Media

/// Takes AAC packets out of MP4A-LATM (RFC 6416 §4): an AudioMuxElement in one RTP packet, or in several of one timestamp, the last
/// of which has the marker.
package struct LATMDepacketizer: Sendable {
    private struct Element {
        var timestamp: UInt32
        var firstNumber: Int64
        var lastNumber: Int64
        var firstArrival: Int64
        var lastArrival: Int64
        var bytes: [UInt8] = []
    }

    private let payload: LATMPayload
    /// Duration of one AAC packet, in ticks of the RTP clock.
    private let ticks: UInt32
    private var element: Element?
    /// Behind a loss: ``element`` may lack its beginning.
    private var isBroken = false
    private var items: [DepacketizedItem] = []

    package init(_ payload: LATMPayload, clockRate: UInt32) {
        self.payload = payload
        ticks = AACDepacketizer.ticks(payload.format, clockRate: clockRate)
    }

    /// Takes the next packet in order; what is complete now.
    package mutating func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        let packet = ordered.packet
        if let loss = ordered.loss {
            hole(.lost(loss), ordered.arrivalNanoseconds, dropped: element == nil ? 0 : 1)
            element = nil
            isBroken = true
        }
        if let open = element, open.timestamp != packet.timestamp {
            // Some senders never set the marker.
            element = nil
            finish(open)
        }
        var open =
            element
            ?? Element(
                timestamp: packet.timestamp, firstNumber: ordered.number,
                lastNumber: ordered.number, firstArrival: ordered.arrivalNanoseconds,
                lastArrival: ordered.arrivalNanoseconds)
        element = nil
        open.lastNumber = ordered.number
        open.lastArrival = ordered.arrivalNanoseconds
        open.bytes += packet.payload
        if open.bytes.count > AccessUnit.maximumBytes {
            let reason = "an element of AAC (LATM) has no end"
            hole(.malformed(reason), ordered.arrivalNanoseconds, dropped: 1)
        } else if packet.marker {
            finish(open)
        } else {
            element = open
        }
        defer { items = [] }
        return items
    }

    private mutating func finish(_ element: Element) {
        defer { isBroken = false }
        guard let units = units(in: element) else {
            // The rest of an element whose beginning was lost is no second loss.
            if isBroken { return }
            let reason = "the lengths of AAC (LATM) do not match its bytes"
            return hole(.malformed(reason), element.lastArrival, dropped: 1)
        }
        items += units.map { .unit($0) }
    }

    /// The AAC packets of an element; nil: it is damaged.
    ///
    /// Each follows its length: a sum of bytes of which the last is less than 255 (ISO/IEC 14496-3 §1.7.3.1, PayloadLengthInfo).
    private func units(in element: Element) -> [AccessUnit]? {
        let bytes = element.bytes
        var place = 0
        var units: [AccessUnit] = []
        for index in 0..<payload.subframes {
            var size = 0
            var part: UInt8 = 255
            while part == 255 {
                guard place < bytes.count else { return nil }
                part = bytes[place]
                size += Int(part)
                place += 1
            }
            guard size > 0, size <= bytes.count - place else { return nil }
            units.append(
                AccessUnit(
                    timestamp: element.timestamp &+ UInt32(index) &* ticks,
                    firstNumber: element.firstNumber, lastNumber: element.lastNumber,
                    firstArrivalNanoseconds: element.firstArrival,
                    lastArrivalNanoseconds: element.lastArrival,
                    data: Array(bytes[place..<(place + size)])))
            place += size
        }
        // Some senders pad. Behind a loss, only an exact fit shows that the beginning is there.
        return isBroken && place != bytes.count ? nil : units
    }

    private mutating func hole(
        _ cause: StreamHole.Cause, _ arrival: Int64, dropped: Int
    ) {
        // Each AAC packet is decoded right behind any other.
        items.append(
            .hole(
                StreamHole(
                    cause: cause, arrivalNanoseconds: arrival, droppedUnits: dropped,
                    isHarmless: true)))
    }
}
