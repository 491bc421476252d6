package import Media

/// Puts access units together from packets of video (RFC 6184, RFC 7798).
///
/// An access unit ends where the timestamp changes. The marker bit says it earlier; some cameras set it on parameter sets and
/// messages too, or on every slice, so that it ends nothing without a slice, and nothing at all before it has been right for a while.
/// A unit of which a packet is missing is never given: a hole stands in its place.
package struct VideoDepacketizer: Sendable {
    private struct Current {
        var timestamp: UInt32
        var firstNumber: Int64
        var lastNumber: Int64
        var firstArrival: Int64
        var lastArrival: Int64
        var data: [UInt8] = []
        var slices = 0
        /// Of all slices so far: no other picture refers to this one.
        var isDisposable = true
        /// A packet of it had the marker, behind a slice.
        var isMarked = false
        /// What is wrong with it.
        var flaw: StreamHole.Cause?
        /// Only what is within it is missing.
        var isFlawInside = true
    }

    /// How many units in a row have to end with the marker before it is believed.
    private static let trustedUnits = 8

    private let payload: any VideoPayload.Type
    var codec: VideoCodec { payload.codec }
    private var current: Current?
    /// A fragmented NAL unit that is not complete.
    private var fragment: [UInt8]?
    /// Units in a row that ended with their only marker.
    private var rightMarkers = 0
    /// The marker was seen to be wrong: it is never believed again.
    private var isMarkerWrong = false
    private var items: [DepacketizedItem] = []

    package init(_ codec: VideoCodec) {
        guard let payload = videoPayloads.first(where: { $0.codec == codec }) else {
            preconditionFailure("every codec of recordings has a payload format")
        }
        self.payload = payload
    }

    private var isMarkerTrusted: Bool { !isMarkerWrong && rightMarkers >= Self.trustedUnits }

    /// Takes the next packet in order; what is complete now.
    package mutating func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        let packet = ordered.packet
        if let loss = ordered.loss { note(loss, before: ordered) }
        if let open = current, open.timestamp != packet.timestamp {
            dropFragment("a fragmented NAL unit has no end")
            if open.slices > 0, open.flaw == nil {
                rightMarkers = open.isMarked ? rightMarkers + 1 : 0
            }
            finish()
        }
        do throws(RTSPError) {
            try take(packet.payload, ordered)
        } catch {
            spoil(.malformed("\(error)"), ordered)
        }
        touch(ordered)
        if packet.marker, fragment == nil, let open = current, open.slices > 0 {
            if isMarkerTrusted { finish() } else { current?.isMarked = true }
        }
        defer { items = [] }
        return items
    }

    /// Nothing follows: the last unit, if it is known to be complete.
    package mutating func finishStream() -> [DepacketizedItem] {
        fragment = nil
        if let open = current, open.isMarked, open.flaw == nil { finish() }
        current = nil
        defer { items = [] }
        return items
    }

    // MARK: Losses

    private mutating func note(_ loss: PacketLoss, before ordered: PacketWindow.Ordered) {
        let hadFragment = fragment != nil
        fragment = nil
        guard var open = current else {
            items.append(
                .hole(
                    StreamHole(
                        cause: .lost(loss), arrivalNanoseconds: ordered.arrivalNanoseconds)))
            return
        }
        let isInside = open.timestamp == ordered.packet.timestamp && loss != .restart
        if isInside || !open.isMarked || hadFragment {
            if open.flaw == nil {
                open.flaw = .lost(loss)
                open.isFlawInside = isInside
            } else {
                items.append(
                    .hole(
                        StreamHole(
                            cause: .lost(loss), arrivalNanoseconds: ordered.arrivalNanoseconds,
                            isHarmless: true)))
                open.isFlawInside = open.isFlawInside && isInside
            }
            current = open
            if !isInside { finish(noticedAt: ordered.arrivalNanoseconds) }
        } else {
            // It was whole; whatever is missing lies between it and the next one.
            finish()
            items.append(
                .hole(
                    StreamHole(
                        cause: .lost(loss), arrivalNanoseconds: ordered.arrivalNanoseconds)))
        }
    }

    private mutating func spoil(_ cause: StreamHole.Cause, _ ordered: PacketWindow.Ordered) {
        fragment = nil
        open(ordered)
        if current?.flaw == nil { current?.flaw = cause }
        current?.isFlawInside = true
    }

    private mutating func dropFragment(_ reason: String) {
        guard fragment != nil else { return }
        fragment = nil
        if current?.flaw == nil { current?.flaw = .malformed(reason) }
    }

    // MARK: Units

    private mutating func open(_ ordered: PacketWindow.Ordered) {
        guard current == nil else { return }
        current = Current(
            timestamp: ordered.packet.timestamp, firstNumber: ordered.number,
            lastNumber: ordered.number, firstArrival: ordered.arrivalNanoseconds,
            lastArrival: ordered.arrivalNanoseconds)
    }

    private mutating func touch(_ ordered: PacketWindow.Ordered) {
        current?.lastNumber = ordered.number
        current?.lastArrival = ordered.arrivalNanoseconds
    }

    private mutating func finish(noticedAt arrival: Int64? = nil) {
        guard let open = current else { return }
        current = nil
        if let flaw = open.flaw {
            items.append(
                .hole(
                    StreamHole(
                        cause: flaw, arrivalNanoseconds: arrival ?? open.lastArrival,
                        droppedUnits: 1,
                        isHarmless: open.isFlawInside && open.isDisposable && open.slices > 0)))
            return
        }
        guard !open.data.isEmpty else { return }
        items.append(
            .unit(
                AccessUnit(
                    timestamp: open.timestamp, firstNumber: open.firstNumber,
                    lastNumber: open.lastNumber, firstArrivalNanoseconds: open.firstArrival,
                    lastArrivalNanoseconds: open.lastArrival, data: open.data)))
    }

    // MARK: Payloads

    private mutating func take(
        _ payload: [UInt8], _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        // Some cameras send packets without anything in them.
        guard !payload.isEmpty else { return }
        switch try self.payload.content(of: payload) {
        case .unit:
            endFragment(ordered)
            try takeUnits(payload[...], ordered)
        case .units(let ranges):
            endFragment(ordered)
            for range in ranges { try append(payload[range], ordered) }
        case .fragment(let isStart, let isEnd, let header, let body):
            try takeFragment(
                payload[body...], header: header, isStart: isStart, isEnd: isEnd, ordered)
        case .ignored: break
        }
    }

    /// A NAL unit in a packet of its own; with start codes, as some cameras send it, several.
    private mutating func takeUnits(
        _ payload: ArraySlice<UInt8>, _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        guard hasStartCode(payload) else { return try append(payload, ordered) }
        let stream = Array(payload)
        let units: [NALUnit]
        do throws(BitstreamError) {
            units = try AnnexB.nalUnits(in: stream.span)
        } catch {
            throw .malformedPayload("\(error)")
        }
        for unit in units { try append(stream[unit.range], ordered) }
    }

    private mutating func takeFragment(
        _ body: ArraySlice<UInt8>, header: [UInt8], isStart: Bool, isEnd: Bool,
        _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        if isStart {
            endFragment(ordered)
            fragment = header
        }
        open(ordered)
        guard var unit = fragment else {
            // Behind a loss the unit is given up already. Cameras also send empty fragments behind the last.
            if current?.flaw == nil, !body.isEmpty {
                // Its beginning was lost together with everything before it, or never sent.
                current?.flaw = .malformed("a fragmented NAL unit has no beginning")
                current?.isFlawInside = false
            }
            return
        }
        guard unit.count + body.count <= AccessUnit.maximumBytes else {
            throw .malformedPayload("a NAL unit is longer than \(AccessUnit.maximumBytes) bytes")
        }
        // Some cameras change the type within a unit: that of its first fragment counts.
        fragment = nil
        unit.append(contentsOf: body)
        fragment = unit
        if isEnd { endFragment(ordered) }
    }

    /// Some cameras leave the end bit out: with no packet missing, what follows is the end.
    private mutating func endFragment(_ ordered: PacketWindow.Ordered) {
        guard let unit = fragment else { return }
        fragment = nil
        do throws(RTSPError) {
            // More than its header.
            if unit.count > payload.fragmentHeaderBytes { try append(unit[...], ordered) }
        } catch {
            spoil(.malformed("\(error)"), ordered)
        }
    }

    private mutating func append(
        _ unit: ArraySlice<UInt8>, _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        var unit = unit
        // A NAL unit never ends in a zero (ISO/IEC 14496-10 §7.4.1): some cameras pad.
        while unit.last == 0 { unit = unit.dropLast() }
        guard !unit.isEmpty else { return }
        let kind = codec.kind(of: Array(unit.prefix(2)))
        let isSlice = kind == .slice
        if let open = current, open.isMarked, beginsPicture(kind, unit), open.slices > 0 {
            // The marker was right, and the timestamp is that of the picture before.
            finish()
        } else if let open = current, open.isMarked, isSlice {
            isMarkerWrong = true
            current?.isMarked = false
        }
        open(ordered)
        guard let size = current?.data.count, size + unit.count + 4 <= AccessUnit.maximumBytes
        else {
            throw .malformedPayload(
                "an access unit is longer than \(AccessUnit.maximumBytes) bytes")
        }
        let length = UInt32(unit.count)
        current?.data.append(contentsOf: bigEndian(length))
        current?.data.append(contentsOf: unit)
        if isSlice {
            if current?.slices == 0, payload.isFirstSlice(unit) == false {
                // Slices before it never came, after a loss that is already reported.
                if current?.flaw == nil {
                    current?.flaw = .malformed("a picture without its first slice")
                }
                current?.isFlawInside = false
            }
            current?.slices += 1
            if !payload.isDisposable(unit) { current?.isDisposable = false }
        }
    }

    /// A unit that can only stand before the first slice of a picture, or is that slice.
    private func beginsPicture(_ kind: NALUnitKind?, _ unit: ArraySlice<UInt8>) -> Bool {
        switch kind {
        case .delimiter, .parameterSet, .preamble: true
        case .slice: payload.isFirstSlice(unit) ?? false
        case .prefix, .suffix, nil: false
        }
    }
}
