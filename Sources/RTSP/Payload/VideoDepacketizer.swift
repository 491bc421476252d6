package import Media

/// Reassembles access units of video (RFC 6184, RFC 7798).
///
/// An access unit ends where the timestamp changes. The marker bit signals the end earlier, but some cameras also set it on parameter
/// sets and SEI messages, or on every slice. The marker is ignored before the first slice, and until ``trustedUnits`` units in a row
/// ended with it. A unit that lacks a packet is replaced by a hole.
///
/// Some cameras give two pictures one timestamp. They are divided at a marker, or where the slices' headers show another picture.
///
/// Parameter sets, delimiters and messages that arrive without a slice are added to the next unit, also if their timestamp is another
/// one. Units that end a picture are dropped if that picture is complete already.
package struct VideoDepacketizer: Depacketizer {
    /// NAL units that precede a picture.
    private struct Preamble {
        var data: [UInt8]
        /// Extended sequence number of their first packet.
        var firstNumber: Int64
    }

    private struct Current {
        var unit: AccessUnit
        var slices = 0
        /// All slices so far are of a picture that is not a reference.
        var isDisposable = true
        /// A packet at or after its first slice had the marker.
        var isMarked = false
        /// The first defect.
        var flaw: StreamHole.Cause?
        /// All missing packets belong to this unit.
        var isFlawInside = true
        /// NAL units after the last slice that precede a picture: the next one, unless another slice follows.
        var following: Preamble?
        /// Beginnings of the first slices of its fields.
        var firsts: [[UInt8]] = []

        /// Adds the units after the last slice to this unit.
        mutating func joinFollowing() {
            if let following { unit.data += following.data }
            following = nil
        }
    }

    /// Number of consecutive units that must end with the marker before the marker is trusted.
    private static let trustedUnits = 8
    /// Limit of NAL units that are kept for the next picture: larger ones are dropped.
    private static let mostPreambleBytes = 256 << 10
    /// Bytes of a slice that contain the beginning of its header.
    private static let headerBytes = 64

    private let payload: any VideoPayload.Type
    var codec: VideoCodec { payload.codec }
    /// The known parameter sets.
    private var table: ParameterSetTable
    private var current: Current?
    /// NAL units without a slice, for the next picture.
    private var preamble: Preamble?
    /// Timestamp of the last unit that a trusted marker ended.
    private var markedTimestamp: UInt32?
    /// A fragmented NAL unit that is not complete.
    private var fragment: [UInt8]?
    /// Units in a row that ended with their only marker.
    private var rightMarkers = 0
    /// The marker was wrong once: it is never trusted again.
    private var isMarkerWrong = false
    private var items: [DepacketizedItem] = []

    /// - Parameter format: from the description; nil if it has none.
    package init(_ codec: VideoCodec, _ format: VideoFormat? = nil) {
        guard let payload = videoPayloads.first(where: { $0.codec == codec }) else {
            preconditionFailure("every codec of recordings has a payload format")
        }
        self.payload = payload
        table = ParameterSetTable(codec)
        for set in format?.parameterSets ?? [] { note(parameterSet: set) }
    }

    private mutating func note(parameterSet set: [UInt8]) {
        do throws(BitstreamError) {
            _ = try table.insert(set)
        } catch {
            // The recorder reports it. Without it, pictures with one timestamp are not divided.
            return
        }
    }

    private var isMarkerTrusted: Bool { !isMarkerWrong && rightMarkers >= Self.trustedUnits }

    package mutating func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem] {
        let packet = ordered.packet
        if let loss = ordered.loss { note(loss, before: ordered) }
        if let open = current, open.unit.timestamp != packet.timestamp {
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
        if packet.marker { current?.joinFollowing() }
        if current?.following == nil { current?.unit.extend(to: ordered) }
        if packet.marker, fragment == nil, let open = current, open.slices > 0 {
            if isMarkerTrusted {
                finish()
                markedTimestamp = packet.timestamp
            } else {
                current?.isMarked = true
            }
        }
        defer { items = [] }
        return items
    }

    package mutating func finishStream() -> [DepacketizedItem] {
        let isCut = fragment != nil
        fragment = nil
        if let open = current, open.slices > 0 || open.flaw != nil {
            // Without markers that can be trusted, the picture may be complete. With them, its end has not arrived.
            let isUnclear = isMarkerWrong || rightMarkers == 0 && !open.isMarked
            // No picture follows that refers to it.
            current?.isDisposable = true
            if open.flaw == nil, isUnclear {
                current?.flaw = .malformed("the stream ended before the end of a picture was known")
            }
            if open.flaw != nil || isUnclear || open.isMarked && !isCut { finish() }
        }
        current = nil
        defer { items = [] }
        return items
    }

    // MARK: Losses

    private mutating func note(_ loss: PacketLoss, before ordered: PacketWindow.Ordered) {
        let hadFragment = fragment != nil
        fragment = nil
        defer {
            // The picture that they precede may be lost.
            preamble = nil
            markedTimestamp = nil
        }
        guard var open = current else { return report(loss, before: ordered) }
        let isInside = open.unit.timestamp == ordered.packet.timestamp && loss != .restart
        if !isInside, !hadFragment, open.slices == 0, open.flaw == nil {
            // No part of a picture has arrived.
            current = nil
            report(loss, before: ordered)
        } else if isInside || !open.isMarked || isMarkerWrong || hadFragment {
            if open.flaw == nil {
                open.flaw = .lost(loss)
                open.isFlawInside = isInside
            } else {
                report(loss, before: ordered, isHarmless: true)
                open.isFlawInside = open.isFlawInside && isInside
            }
            current = open
            if !isInside { finish(noticedAt: ordered.arrivalNanoseconds) }
        } else {
            // It was complete: the lost packets are between it and the next unit.
            finish()
            report(loss, before: ordered)
        }
    }

    private mutating func report(
        _ loss: PacketLoss, before ordered: PacketWindow.Ordered, isHarmless: Bool = false
    ) {
        items.append(
            .hole(
                StreamHole(
                    cause: .lost(loss), arrivalNanoseconds: ordered.arrivalNanoseconds,
                    isHarmless: isHarmless)))
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
        var unit = AccessUnit(ordered)
        if let preamble {
            // Its arrival is that of the picture: these units may have arrived a picture earlier.
            unit.data = preamble.data
            unit.firstNumber = preamble.firstNumber
        }
        preamble = nil
        current = Current(unit: unit)
    }

    private mutating func finish(noticedAt arrival: Int64? = nil) {
        guard let open = current else { return }
        current = nil
        preamble = open.following
        if let flaw = open.flaw {
            items.append(
                .hole(
                    StreamHole(
                        cause: flaw,
                        arrivalNanoseconds: arrival ?? open.unit.lastArrivalNanoseconds,
                        droppedUnits: 1,
                        isHarmless: open.isFlawInside && open.isDisposable && open.slices > 0)))
            return
        }
        if open.slices > 0 {
            items.append(.unit(open.unit))
        } else if (1...Self.mostPreambleBytes).contains(open.unit.data.count) {
            preamble = Preamble(data: open.unit.data, firstNumber: open.unit.firstNumber)
        }
    }

    // MARK: Payloads

    private mutating func take(
        _ payload: [UInt8], _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        // Some cameras send empty packets.
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

    /// Processes a packet with a single NAL unit. Some cameras send several in one packet, with start codes.
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
            divide(before: (header + body.prefix(Self.headerBytes))[...])
            fragment = header
        }
        open(ordered)
        guard var unit = fragment else {
            // After a loss the unit is dropped anyway. Some cameras send empty fragments after the last one.
            if current?.flaw == nil, !body.isEmpty {
                // Its beginning was lost with the packets before it, or never sent.
                current?.flaw = .malformed("a fragmented NAL unit has no beginning")
                current?.isFlawInside = false
            }
            return
        }
        guard unit.count + body.count <= AccessUnit.maximumBytes else {
            throw .malformedPayload("a NAL unit is longer than \(AccessUnit.maximumBytes) bytes")
        }
        // Some cameras change the NAL unit type between fragments: the first one is used.
        fragment = nil
        unit.append(contentsOf: body)
        fragment = unit
        if isEnd { endFragment(ordered) }
    }

    /// Completes the fragmented unit. Some cameras omit the end bit: without a loss, the next unit ends it.
    private mutating func endFragment(_ ordered: PacketWindow.Ordered) {
        guard let unit = fragment else { return }
        fragment = nil
        do throws(RTSPError) {
            // A unit without a payload is ignored.
            if unit.count > payload.fragmentHeaderBytes { try append(unit[...], ordered) }
        } catch {
            spoil(.malformed("\(error)"), ordered)
        }
    }

    private mutating func append(
        _ unit: ArraySlice<UInt8>, _ ordered: PacketWindow.Ordered
    ) throws(RTSPError) {
        var unit = unit
        // A NAL unit does not end with a zero byte (ISO/IEC 14496-10 §7.4.1), but some cameras pad.
        while unit.last == 0 { unit = unit.dropLast() }
        guard !unit.isEmpty else { return }
        let kind = codec.kind(of: Array(unit.prefix(2)))
        let isSlice = kind == .slice
        divide(before: unit)
        if let open = current, open.isMarked, isSlice {
            isMarkerWrong = true
            current?.isMarked = false
        }
        if kind?.isParameterSet == true { note(parameterSet: Array(unit)) }
        // The picture that it ends is complete.
        if kind == .suffix, current?.unit.data.isEmpty ?? true { return }
        open(ordered)
        if isSlice { current?.joinFollowing() }
        let size = (current?.unit.data.count ?? 0) + (current?.following?.data.count ?? 0)
        guard size + unit.count + 4 <= AccessUnit.maximumBytes else {
            throw .malformedPayload(
                "an access unit is longer than \(AccessUnit.maximumBytes) bytes")
        }
        let length = UInt32(unit.count)
        if !isSlice, beginsPicture(kind, unit), let open = current, open.slices > 0 {
            var following = open.following ?? Preamble(data: [], firstNumber: ordered.number)
            following.data += bigEndian(length) + unit
            current?.following = following
            return
        }
        current?.unit.data.append(contentsOf: bigEndian(length))
        current?.unit.data.append(contentsOf: unit)
        if isSlice { noteSlice(unit, ordered) }
    }

    /// Ends the picture before a NAL unit that begins another one with the same timestamp.
    /// - Parameter unit: the NAL unit, or its beginning.
    private mutating func divide(before unit: ArraySlice<UInt8>) {
        guard let open = current, open.slices > 0 else { return }
        let kind = codec.kind(of: Array(unit.prefix(2)))
        if open.isMarked {
            // The marker was right.
            if beginsPicture(kind, unit) { finish() }
            return
        }
        guard kind == .slice, open.flaw == nil, payload.isFirstSlice(unit) == true else { return }
        switch payload.relation(of: unit.prefix(Self.headerBytes), to: open.firsts, table) {
        case .other:
            rightMarkers = 0
            finish()
        case .secondField: current?.firsts.append(Array(unit.prefix(Self.headerBytes)))
        case .same: break
        }
    }

    private mutating func noteSlice(_ unit: ArraySlice<UInt8>, _ ordered: PacketWindow.Ordered) {
        if current?.slices == 0, payload.isFirstSlice(unit) == false {
            var reason = "a picture without its first slice"
            if markedTimestamp == ordered.packet.timestamp {
                isMarkerWrong = true
                reason = "the camera marked the end of a picture before its last slice"
            }
            // The slices before it were lost, which may be reported already.
            if current?.flaw == nil { current?.flaw = .malformed(reason) }
            current?.isFlawInside = false
        }
        if current?.slices == 0 { current?.firsts = [Array(unit.prefix(Self.headerBytes))] }
        current?.slices += 1
        if !payload.isDisposable(unit) { current?.isDisposable = false }
    }

    /// Whether a NAL unit starts a new picture: it precedes the first slice, or is that slice.
    private func beginsPicture(_ kind: NALUnitKind?, _ unit: ArraySlice<UInt8>) -> Bool {
        switch kind {
        case .delimiter, .parameterSet, .preamble: true
        case .slice: payload.isFirstSlice(unit) ?? false
        case .prefix, .suffix, nil: false
        }
    }
}
