/// Divides a stream's NAL units into access units with one picture each, whatever packets a container had
/// (ISO/IEC 14496-10 §7.4.1.2.3).
///
/// An access unit begins with the first delimiter, parameter set or message behind a picture, or with the first slice of another
/// picture (§7.4.1.2.4). Both fields of a frame are one picture here, with all that comes between them. NAL units without a picture
/// belong to the picture that follows. So an access unit is complete when the next one begins.
///
/// A value: it keeps places of NAL units and the parameter sets in force, no media.
package struct AccessUnitAssembler: Sendable {
    /// Where a NAL unit is.
    package struct Place: Hashable, Sendable {
        /// The packet's number, as the caller counts.
        package var packet: Int
        /// Its bytes in the packet.
        package var range: Range<Int>
    }

    /// One access unit.
    package struct Unit: Hashable, Sendable {
        /// Its NAL units, in order.
        package var places: [Place]
        package var picture: CodedPicture
        /// The packet with the picture's first slice: its times are the picture's.
        package var pictureIn: Int
    }

    /// NAL units of one access unit. A slice has at least one macroblock, but real pictures have a few hundred slices at most.
    package static let maximumNALUnits = 65_536

    private var table = ParameterSetTable()
    private var current: Unit?
    /// What came behind the present picture's slices and may belong to the next picture.
    private var ahead: [Place] = []
    private var aheadNotes = CodedPicture()
    /// Among it is something that only stands in front of a picture.
    private var isBoundaryAhead = false

    /// - Parameter format: the parameter sets that the container has.
    package init(_ format: H264Format? = nil) {
        if let format { configure(format) }
    }

    /// Takes parameter sets from outside the stream.
    package mutating func configure(_ format: H264Format) {
        for set in format.sequenceParameterSets + format.pictureParameterSets { insert(set) }
    }

    /// The packet with the first slice of the access unit that is not complete yet.
    package var pictureIn: Int? { current?.pictureIn }

    /// The lowest number of a packet that is still needed; nil when none is.
    package var oldestPacket: Int? { (current?.places.first ?? ahead.first)?.packet }

    /// Takes the NAL units of the next packet.
    /// - Returns: the access units that are complete now, in order.
    /// - Throws: when too many would be held; nothing has changed then.
    package mutating func add(
        packet: Int, _ bytes: Span<UInt8>, _ units: [NALUnit]
    ) throws(BitstreamError) -> [Unit] {
        let all = (current?.places.count ?? 0) + ahead.count + units.count
        guard all <= Self.maximumNALUnits else {
            throw .invalid(.accessUnit, field: "number of NAL units", value: UInt64(all))
        }
        var complete: [Unit] = []
        for unit in units {
            let place = Place(packet: packet, range: unit.range)
            let own = bytes.extracting(unit.range)
            if unit.type.isSlice {
                if let last = addSlice(unit, own, at: place) { complete.append(last) }
            } else {
                addOther(unit, own, at: place)
            }
        }
        return complete
    }

    /// Nothing follows: the last access unit. What stands in front of a picture that never came is left out.
    package mutating func finish() -> Unit? {
        defer { self = AccessUnitAssembler(keeping: table) }
        return current
    }

    private init(keeping table: ParameterSetTable) {
        self.table = table
    }

    /// Takes a slice; the access unit that ended before it, if one did.
    private mutating func addSlice(
        _ unit: NALUnit, _ bytes: Span<UInt8>, at place: Place
    ) -> Unit? {
        let header = CodedPicture.header(of: unit, bytes, with: table)
        let isIDR = unit.type == .idrSlice
        guard var present = current else {
            begin(with: header, isIDR: isIDR, at: place)
            return nil
        }
        guard begins(header, unit, at: place, after: present) else {
            present.places += ahead + [place]
            present.picture.add(header, isIDR: isIDR)
            current = present
            clearAhead()
            return nil
        }
        begin(with: header, isIDR: isIDR, at: place)
        return present
    }

    private func begins(
        _ header: SliceHeader?, _ unit: NALUnit, at place: Place, after present: Unit
    ) -> Bool {
        guard let header, let last = present.picture.last, let first = present.picture.first else {
            // Partitions B and C follow their A. Of what cannot be read, only the packet says it.
            return isBoundaryAhead
                || unit.type != .slicePartition && place.packet != present.places.last?.packet
        }
        guard isBoundaryAhead || header.beginsPicture(after: last, first: first) else {
            return false
        }
        return present.picture.hasSecondField || !header.isSecondField(of: first)
    }

    private mutating func begin(with header: SliceHeader?, isIDR: Bool, at place: Place) {
        var picture = aheadNotes
        picture.add(header, isIDR: isIDR)
        current = Unit(places: ahead + [place], picture: picture, pictureIn: place.packet)
        clearAhead()
    }

    private mutating func clearAhead() {
        ahead = []
        aheadNotes = CodedPicture()
        isBoundaryAhead = false
    }

    private mutating func addOther(_ unit: NALUnit, _ bytes: Span<UInt8>, at place: Place) {
        switch unit.type {
        case .sequenceParameterSet, .pictureParameterSet:
            insert(bytes.withUnsafeBufferPointer(Array.init))
            isBoundaryAhead = true
        case .accessUnitDelimiter, .supplementalEnhancementInformation:
            isBoundaryAhead = true
        case .other(14...18):
            // Prefix NAL units also stand between the slices of a picture: the next slice tells.
            break
        case .nonIDRSlice, .slicePartition, .idrSlice, .endOfSequence, .endOfStream, .filler,
            .sequenceParameterSetExtension, .other:
            if ahead.isEmpty, current != nil {
                current?.places.append(place)
                return
            }
        }
        ahead.append(place)
        aheadNotes.note(unit, bytes)
    }

    private mutating func insert(_ set: [UInt8]) {
        do throws(BitstreamError) {
            _ = try table.insert(set)
        } catch {
            // Whoever records the stream reports it; slices that refer to the set are told apart by their places.
        }
    }
}
