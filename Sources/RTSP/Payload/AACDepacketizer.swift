/// Depacketizes AAC (RFC 3640, modes AAC-hbr and AAC-lbr), aggregated or fragmented.
package struct AACDepacketizer: Depacketizer {
    private struct Fragment {
        var unit: AccessUnit
        var sizeBytes: Int
    }

    private let payload: AACPayload
    /// Duration of one AAC packet, in ticks of the RTP clock.
    private let ticks: UInt32
    private var fragment: Fragment?
    private var items: [DepacketizedItem] = []

    package init(_ payload: AACPayload, clockRate: UInt32) {
        self.payload = payload
        ticks = payload.format.packetTicks(clockRate: clockRate)
    }

    package mutating func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        if let loss = ordered.loss {
            let isWithin = fragment != nil
            fragment = nil
            hole(.lost(loss), ordered, dropped: isWithin ? 1 : 0)
        }
        do throws(RTSPError) {
            try take(ordered)
        } catch {
            fragment = nil
            hole(.malformed("\(error)"), ordered, dropped: 1)
        }
        defer { items = [] }
        return items
    }

    private mutating func hole(
        _ cause: StreamHole.Cause, _ ordered: PacketWindow.Ordered, dropped: Int
    ) {
        items.append(
            .soundHole(
                cause, arrivalNanoseconds: ordered.arrivalNanoseconds, dropped: dropped))
    }

    private mutating func take(_ ordered: PacketWindow.Ordered) throws(RTSPError) {
        let bytes = ordered.packet.payload
        guard !bytes.isEmpty else { return }
        if let open = fragment, open.unit.timestamp != ordered.packet.timestamp {
            fragment = nil
            hole(.malformed("a fragment of AAC has no end"), ordered, dropped: 1)
        }
        let sizes = try sizes(in: bytes)
        var offset = sizes.start
        for (index, size) in sizes.sizes.enumerated() {
            let left = bytes.count - offset
            if size > left || fragment != nil {
                // Only a single AAC packet may be fragmented over RTP packets (RFC 3640 §3.1).
                guard sizes.sizes.count == 1 else {
                    throw .malformedPayload("\(size) bytes of AAC in \(left)")
                }
                return try takeFragment(bytes[offset...], of: size, ordered)
            }
            var unit = AccessUnit(ordered, data: Array(bytes[offset..<(offset + size)]))
            unit.timestamp &+= UInt32(index) &* ticks
            items.append(.unit(unit))
            offset += size
        }
    }

    private mutating func takeFragment(
        _ part: ArraySlice<UInt8>, of size: Int, _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        var open = fragment ?? Fragment(unit: AccessUnit(ordered), sizeBytes: size)
        fragment = nil
        guard open.sizeBytes == size, open.unit.timestamp == ordered.packet.timestamp,
            open.unit.data.count + part.count <= size
        else { throw .malformedPayload("a fragment of AAC does not fit the one before it") }
        open.unit.data.append(contentsOf: part)
        open.unit.extend(to: ordered)
        if open.unit.data.count == size {
            items.append(.unit(open.unit))
        } else {
            fragment = open
        }
    }

    /// The sizes in the header section, and where the data begins.
    private func sizes(in bytes: [UInt8]) throws(RTSPError) -> (sizes: [Int], start: Int) {
        guard bytes.count >= 2 else { throw .malformedPayload("AAC without headers") }
        let bits = Int(bytes[0]) << 8 | Int(bytes[1])
        let start = 2 + (bits + 7) / 8
        guard start <= bytes.count else {
            throw .malformedPayload("\(bits) bits of headers in \(bytes.count - 2) bytes")
        }
        var position = 16
        func read(_ count: Int) -> Int {
            var value = 0
            for _ in 0..<count {
                value = value << 1 | Int(bytes[position >> 3] >> UInt8(7 - position & 7) & 1)
                position += 1
            }
            return value
        }
        var sizes: [Int] = []
        while true {
            let indexBits = sizes.isEmpty ? payload.indexBits : payload.indexDeltaBits
            guard position - 16 + payload.sizeBits + indexBits <= bits else { break }
            let size = read(payload.sizeBits)
            // Some cameras increment the first index; a later one other than 0 means interleaving.
            let delta = read(indexBits)
            guard sizes.isEmpty || delta == 0 else {
                throw .malformedPayload("interleaved AAC is not supported")
            }
            guard size > 0 else { throw .malformedPayload("an AAC packet of no bytes") }
            sizes.append(size)
        }
        guard !sizes.isEmpty else { throw .malformedPayload("AAC without a size") }
        return (sizes, start)
    }
}
