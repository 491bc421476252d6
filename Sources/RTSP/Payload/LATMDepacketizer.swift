import Media

/// Depacketizes MP4A-LATM (RFC 6416 §4). An AudioMuxElement spans one RTP packet or several with one timestamp; the marker is set
/// on the last one.
package struct LATMDepacketizer: Depacketizer {
    private let payload: LATMPayload
    /// Duration of one AAC packet, in ticks of the RTP clock.
    private let ticks: UInt32
    /// The incomplete AudioMuxElement.
    private var element: AccessUnit?
    /// Set after a loss: the beginning of ``element`` may be missing.
    private var isBroken = false
    private var items: [DepacketizedItem] = []

    package init(_ payload: LATMPayload, clockRate: UInt32) {
        self.payload = payload
        ticks = payload.format.packetTicks(clockRate: clockRate)
    }

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
        var open = element ?? AccessUnit(ordered)
        element = nil
        open.extend(to: ordered)
        open.data += packet.payload
        if open.data.count > AccessUnit.maximumBytes {
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

    private mutating func finish(_ element: AccessUnit) {
        defer { isBroken = false }
        guard let units = units(in: element) else {
            // The loss of its beginning is already reported.
            if isBroken { return }
            let reason = "the lengths of AAC (LATM) do not match its bytes"
            return hole(.malformed(reason), element.lastArrivalNanoseconds, dropped: 1)
        }
        items += units.map { .unit($0) }
    }

    /// The AAC packets of an element; nil if it is damaged.
    ///
    /// A length precedes each packet: bytes of 255, and a smaller last byte, are added (ISO/IEC 14496-3 §1.7.3.1, PayloadLengthInfo).
    private func units(in element: AccessUnit) -> [AccessUnit]? {
        let bytes = element.data
        var offset = 0
        var units: [AccessUnit] = []
        for index in 0..<payload.subframes {
            var size = 0
            var part: UInt8 = 255
            while part == 255 {
                guard offset < bytes.count else { return nil }
                part = bytes[offset]
                size += Int(part)
                offset += 1
            }
            guard size > 0, size <= bytes.count - offset else { return nil }
            var unit = element
            unit.timestamp &+= UInt32(index) &* ticks
            unit.data = Array(bytes[offset..<(offset + size)])
            units.append(unit)
            offset += size
        }
        // Some senders pad. After a loss, only an exact fit proves that the element is complete.
        return isBroken && offset != bytes.count ? nil : units
    }

    private mutating func hole(
        _ cause: StreamHole.Cause, _ arrival: Int64, dropped: Int
    ) {
        items.append(.soundHole(cause, arrivalNanoseconds: arrival, dropped: dropped))
    }
}
