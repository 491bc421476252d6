/// Divides a stream's NAL units into access units with one picture each, independently of the container's packets
/// (ISO/IEC 14496-10 §7.4.1.2.3, ITU-T H.265 §7.4.2.4.4).
///
/// An access unit begins with the first delimiter, parameter set or SEI message after a picture, or with the first
/// slice of another picture. Both fields of an H.264 frame are one picture here, with all NAL units between them.
/// NAL units without a picture belong to the next picture. So an access unit is complete when the next one begins.
///
/// A value: it keeps positions of NAL units and the active parameter sets, no media.
package struct AccessUnitAssembler: Sendable {
    /// The position of a NAL unit.
    package struct Position: Hashable, Sendable {
        /// The packet's number, assigned by the caller.
        package var packet: Int
        /// Its bytes in the packet.
        package var range: Range<Int>
    }

    /// One access unit.
    package struct Unit: Sendable {
        /// Its NAL units, in order.
        package var positions: [Position]
        package var picture: CodedPicture
        /// The packet with the picture's first slice, which determines the picture's times.
        package var pictureIn: Int
    }

    /// NAL units of one access unit. A slice has at least one macroblock, but real pictures have a few hundred slices at most.
    package static let maximumNALUnits = 65_536

    private let codec: VideoCodec
    private var table: ParameterSetTable
    private var current: Unit?
    /// NAL units after the present picture's slices, which may belong to the next picture.
    private var ahead: [Position] = []
    private var aheadNotes: CodedPicture
    /// Whether one of them can only precede a picture.
    private var isBoundaryAhead = false

    /// - Parameter parameterSets: those of the container.
    package init(_ codec: VideoCodec, parameterSets: [[UInt8]] = []) {
        self.init(keeping: ParameterSetTable(codec))
        configure(parameterSets)
    }

    /// Adds parameter sets from outside the stream.
    package mutating func configure(_ parameterSets: [[UInt8]]) {
        for set in parameterSets { insert(set) }
    }

    /// The packet with the first slice of the incomplete access unit.
    package var pictureIn: Int? { current?.pictureIn }

    /// The lowest number of a packet that is still needed; nil if none is.
    package var oldestPacket: Int? { (current?.positions.first ?? ahead.first)?.packet }

    /// Adds the NAL units of the next packet.
    /// - Returns: the access units that are complete, in order.
    /// - Throws: when too many would be held; nothing is changed then.
    package mutating func add(
        packet: Int, _ bytes: Span<UInt8>, _ units: [NALUnit]
    ) throws(BitstreamError) -> [Unit] {
        let all = (current?.positions.count ?? 0) + ahead.count + units.count
        guard all <= Self.maximumNALUnits else {
            throw .invalid(.accessUnit, field: "number of NAL units", value: UInt64(all))
        }
        var complete: [Unit] = []
        for unit in units {
            let position = Position(packet: packet, range: unit.range)
            let own = bytes.extracting(unit.range)
            if codec.kind(of: unit) == .slice {
                if let last = addSlice(unit, own, at: position) { complete.append(last) }
            } else {
                addOther(unit, own, at: position)
            }
        }
        return complete
    }

    /// End of the stream: the last access unit. NAL units that precede a missing picture are dropped.
    package mutating func finish() -> Unit? {
        defer { self = AccessUnitAssembler(keeping: table) }
        return current
    }

    private init(keeping table: ParameterSetTable) {
        codec = table.codec
        self.table = table
        aheadNotes = CodedPicture(table.codec)
    }

    /// Adds a slice; returns the access unit that ended before it, if any.
    private mutating func addSlice(
        _ unit: NALUnit, _ bytes: Span<UInt8>, at position: Position
    ) -> Unit? {
        guard var present = current else {
            begin(with: unit, bytes, at: position)
            return nil
        }
        let boundary = SliceBoundary(
            hasPreamble: isBoundaryAhead,
            isInNewPacket: position.packet != present.positions.last?.packet)
        guard present.picture.ends(before: unit, bytes, with: table, at: boundary) else {
            present.positions += ahead + [position]
            present.picture.add(unit, bytes, with: table)
            current = present
            clearAhead()
            return nil
        }
        begin(with: unit, bytes, at: position)
        return present
    }

    private mutating func begin(
        with unit: NALUnit, _ bytes: Span<UInt8>, at position: Position
    ) {
        var picture = aheadNotes
        picture.add(unit, bytes, with: table)
        current = Unit(positions: ahead + [position], picture: picture, pictureIn: position.packet)
        clearAhead()
    }

    private mutating func clearAhead() {
        ahead = []
        aheadNotes = CodedPicture(codec)
        isBoundaryAhead = false
    }

    private mutating func addOther(_ unit: NALUnit, _ bytes: Span<UInt8>, at position: Position) {
        switch codec.kind(of: unit) {
        case .parameterSet:
            insert(bytes.withUnsafeBufferPointer(Array.init))
            isBoundaryAhead = true
        case .delimiter, .preamble:
            isBoundaryAhead = true
        case .prefix:
            break
        case .slice, .suffix:
            if ahead.isEmpty, current != nil {
                current?.positions.append(position)
                return
            }
        }
        ahead.append(position)
        aheadNotes.note(unit, bytes)
    }

    private mutating func insert(_ set: [UInt8]) {
        do throws(BitstreamError) {
            _ = try table.insert(set)
        } catch {
            // The recorder of the stream reports it; slices that refer to the set are separated by position.
        }
    }
}
