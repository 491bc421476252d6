package import Media

/// Copies a source's own pictures: each packet becomes an access unit with 4-byte lengths, its NAL units bit for bit.
///
/// Parameter sets are kept in a table by identifier (``ParameterSetTable``).
///
/// - H.264: sets inside the samples stay there. A new format begins where pictures refer to a sequence parameter set of
///   another size, profile, pixel shape or colour; it contains all active sets. Any other added or replaced set does
///   not change the format. From then on, it is inserted into pictures at which decoding can start, so that a file can
///   begin with each of them.
/// - H.265: sets are in the format only (``VideoCoding/allowsSetsInSamples``). A new format begins where decoding can
///   start after any of them has changed; sets that the format has are left out of the samples, unless the samples have
///   replaced them.
///
/// Output begins with the first access point (``AccessPoint``). If that is a gradual one, the pictures until the
/// decoder has recovered are marked as never presented (``SampleFlags/priming``).
package struct VideoCopier: Sendable {
    /// The result for a packet.
    package struct Output: Sendable {
        /// The format from this sample on, if it changes.
        package let newFormat: VideoFormat?
        /// Nil for a picture that cannot be decoded: it refers to others before the start, or before a joint.
        package let sample: EncodedSample?
    }

    /// Message about pictures without a sample.
    package static func leftOut(_ pictures: Int) -> String {
        "\(pictures) pictures that cannot be decoded were left out: they refer to others before the start, or before a joint"
    }

    /// The present format.
    package private(set) var format: VideoFormat

    private let codec: VideoCodec
    private var framing: NALUnitFraming
    private var mayReorder: Bool
    /// The container's properties, which are not in parameter sets.
    private var orientation = PictureOrientation.upright
    private var shape: SampleAspectRatio?
    private var lastDTS: Int64?
    private var table: ParameterSetTable
    /// The properties of pictures in the format.
    private var appearance: PictureProperties
    /// Sets that the format lacks, or that have had another version since it began, or since the last access point if
    /// they are the format's again.
    private var varied: Set<ParameterSetTable.Key> = []
    private var start = DecodingStart()

    /// - Parameter firstPacket: for its parameter sets, if the container has none: `avc3`, `hev1`, or an entry with an
    ///   empty configuration (ISO/IEC 14496-15 §5.4.2, §8.4.1).
    package init(
        _ track: CodedTrack, firstPacket: CodedPacket? = nil
    ) throws(EncodingError) {
        guard let codec = track.videoCodec else {
            throw .notCopied(codec: track.codec, needed: VideoCodec.list("or"))
        }
        self.codec = codec
        let known: VideoFormat?
        do throws(BitstreamError) {
            framing = try NALUnitFraming(codec, configuration: track.configuration)
            known = try Self.description(track, codec, firstPacket)
        } catch {
            throw Self.damage(error, of: codec, atNanoseconds: 0)
        }
        guard var known else { throw .noParameterSets(codec: codec.description) }
        if case .picture(let picture) = track.content {
            orientation = picture.orientation
            shape = picture.sampleAspectRatio
        }
        do throws(BitstreamError) {
            table = try ParameterSetTable(known)
            // The later of two sets with one identifier applies.
            let own = try codec.coding.parse(known.sets(.sequence)[0], .sequence)
            if table.keys.count != known.parameterSets.count {
                known = try table.format(active: own.id, orientation: orientation)
            }
            format = known
            let first = try known.properties()
            appearance = (table.pictures(own.id) ?? first).appearance
            mayReorder = try known.maximumReorderedFrames() != 0
        } catch {
            throw Self.damage(error, of: codec, atNanoseconds: 0)
        }
        format = described(known)
    }

    private static func description(
        _ track: CodedTrack, _ codec: VideoCodec, _ firstPacket: CodedPacket?
    ) throws(BitstreamError) -> VideoFormat? {
        if try track.isDescribed {
            return try VideoFormat(codec, extradata: track.configuration)
        }
        guard let firstPacket else { return nil }
        return try VideoFormat(
            codec, inBand: firstPacket.bytes.bindMemory(to: UInt8.self).span,
            extradata: track.configuration)
    }

    /// The format with the container's properties.
    private func described(_ format: VideoFormat) -> VideoFormat {
        var format = format
        format.orientation = orientation
        format.setPixelShape(shape)
        return format
    }

    private static func damage(
        _ error: BitstreamError, of codec: VideoCodec, atNanoseconds time: Int64
    ) -> EncodingError {
        .damagedSample(
            codec: codec.libraryName, atNanoseconds: time, reason: error.description)
    }

    /// Converts a packet to a sample.
    package mutating func copy(_ packet: CodedPacket) throws(EncodingError) -> Output {
        guard let pts = packet.ptsNanoseconds ?? (mayReorder ? nil : packet.dtsNanoseconds) else {
            throw .noPresentationTimes
        }
        var newFormat: VideoFormat?
        var data: [UInt8]
        let flags: SampleFlags?
        do throws(BitstreamError) {
            let told = try takeConfiguration(packet)
            data = try lengthPrefixed(packet)
            try takeSets(in: data)
            let picture = try CodedPicture(of: data.span, codec, with: table)
            var inForce = varied
            newFormat = try formatChange(at: picture)
            if newFormat != nil { inForce = varied }
            if picture.accessPoint != .none {
                data = try bringing(inForce, into: data)
            } else if newFormat == nil, !told.isEmpty {
                data = try bringing(told, into: data)
            }
            if !codec.coding.allowsSetsInSamples {
                data = try withoutParameterSets(of: format, in: data.span, except: inForce)
            }
            flags = start.flags(of: picture)
        } catch {
            throw Self.damage(error, of: codec, atNanoseconds: packet.dtsNanoseconds)
        }
        guard let flags else { return Output(newFormat: newFormat, sample: nil) }
        // Some containers round two decoding times to the same tick; ours must increase.
        let own = packet.dtsNanoseconds
        let dts = min(pts, lastDTS.map { max(own, $0 + 1) } ?? own)
        lastDTS = dts
        return Output(
            newFormat: newFormat,
            sample: EncodedSample(
                track: .video, ptsNanoseconds: pts, dtsNanoseconds: dts,
                durationNanoseconds: packet.durationNanoseconds, flags: flags, data: data))
    }

    /// Something is missing between the last packet and the next one: pictures are passed on again from the next access point on.
    package mutating func interrupt() { start = DecodingStart() }

    private func lengthPrefixed(_ packet: CodedPacket) throws(BitstreamError) -> [UInt8] {
        let bytes = packet.bytes.bindMemory(to: UInt8.self)
        switch framing {
        case .annexB:
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count + 64)
            try AnnexB.appendLengthPrefixed(bytes.span, to: &result)
            return result
        case .lengthPrefixed(size: 4):
            return Array(bytes)
        case .lengthPrefixed(let size):
            return try withFourByteLengths(bytes.span, lengthSize: size)
        }
    }

    /// Adds the container's new record, if any; returns the changed sets.
    private mutating func takeConfiguration(
        _ packet: CodedPacket
    ) throws(BitstreamError) -> Set<ParameterSetTable.Key> {
        guard let configuration = packet.newConfiguration, !configuration.isEmpty else {
            return []
        }
        let told = try VideoFormat(codec, extradata: configuration)
        framing = try NALUnitFraming(codec, configuration: configuration)
        var changed: Set<ParameterSetTable.Key> = []
        for set in told.parameterSets {
            if let key = try take(set) { changed.insert(key) }
        }
        return changed
    }

    /// Reads the whole access unit, and so checks its lengths.
    private mutating func takeSets(in accessUnit: [UInt8]) throws(BitstreamError) {
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: accessUnit.span) {
            if codec.kind(of: unit).isParameterSet { _ = try take(Array(accessUnit[unit.range])) }
        }
    }

    /// Adds a set to the table; returns its key if that changed something.
    private mutating func take(_ set: [UInt8]) throws(BitstreamError) -> ParameterSetTable.Key? {
        guard try table.insert(set) != .none,
            let key = try ParameterSetTable.key(of: set, codec)
        else { return nil }
        varied.insert(key)
        return key
    }

    /// The new format, if one begins with this picture; nil otherwise. A sequence parameter set is activated where decoding can
    /// start (ISO/IEC 14496-10 §7.4.1.2.1, ITU-T H.265 §7.4.2.4.2).
    private mutating func formatChange(
        at picture: CodedPicture
    ) throws(BitstreamError) -> VideoFormat? {
        guard picture.accessPoint != .none, let id = picture.sequenceID,
            let active = table.pictures(id)?.appearance
        else { return nil }
        let isDue =
            codec.coding.allowsSetsInSamples ? active != appearance : !varied.isEmpty
        guard isDue else { return nil }
        let next = described(try table.format(active: id, orientation: orientation))
        appearance = active
        varied = Set(table.keys).subtracting(try ParameterSetTable(next).keys)
        guard next != format else { return nil }
        format = next
        mayReorder = try format.maximumReorderedFrames() != 0
        return format
    }

    /// The access unit with those of the sets that it does not contain.
    private func bringing(
        _ keys: Set<ParameterSetTable.Key>, into accessUnit: [UInt8]
    ) throws(BitstreamError) -> [UInt8] {
        guard !keys.isEmpty else { return accessUnit }
        let sets = table.withDependents(keys).compactMap { table[$0] }
        return try withParameterSets(sets, in: accessUnit.span, codec)
    }
}
