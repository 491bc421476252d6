extension H264Format {
    /// A format with the picture size of its first sequence parameter set.
    package init(
        parsing sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]]
    ) throws(BitstreamError) {
        guard let first = sequenceParameterSets.first else {
            throw .truncated(.sequenceParameterSet, offset: 0)
        }
        guard !pictureParameterSets.isEmpty else {
            throw .truncated(.pictureParameterSet, offset: 0)
        }
        for set in pictureParameterSets {
            guard let header = set.first else {
                throw .truncated(.pictureParameterSet, offset: 0)
            }
            guard NALUnitType(header: header) == .pictureParameterSet else {
                throw .invalid(
                    .pictureParameterSet, field: "nal_unit_type", value: UInt64(header & 0x1F))
            }
        }
        let parameters = try SequenceParameterSet(parsing: first)
        for other in sequenceParameterSets.dropFirst() {
            _ = try SequenceParameterSet(parsing: other)
        }
        self.init(
            sequenceParameterSets: sequenceParameterSets,
            pictureParameterSets: pictureParameterSets, width: parameters.width,
            height: parameters.height)
    }

    /// A format from the extradata of an encoder or demuxer: an avcC record, or Annex B.
    ///
    /// The record's length size is ignored: samples of this format have 4-byte lengths.
    package init(extradata: [UInt8]) throws(BitstreamError) {
        if extradata.first == 1 {
            let record = try AVCDecoderConfiguration(parsing: extradata)
            try self.init(
                parsing: record.sequenceParameterSets,
                pictureParameterSets: record.pictureParameterSets)
            return
        }
        let units = try AnnexB.nalUnits(in: extradata.span)
        func bytes(_ type: NALUnitType) -> [[UInt8]] {
            units.filter { $0.type == type }.map { Array(extradata[$0.range]) }
        }
        try self.init(
            parsing: bytes(.sequenceParameterSet),
            pictureParameterSets: bytes(.pictureParameterSet))
    }

    /// The format of an access unit's own parameter sets; nil without both kinds.
    ///
    /// - Parameters:
    ///   - accessUnit: as in the container: with lengths if `extradata` is an avcC record, otherwise Annex B.
    ///   - extradata: the track's extradata in the container.
    package init?(
        inBand accessUnit: Span<UInt8>, extradata: [UInt8]
    ) throws(BitstreamError) {
        var sequenceSets: [[UInt8]] = []
        var pictureSets: [[UInt8]] = []
        func take(_ unit: NALUnit) {
            switch unit.type {
            case .sequenceParameterSet:
                sequenceSets.append(
                    accessUnit.extracting(unit.range).withUnsafeBufferPointer(Array.init))
            case .pictureParameterSet:
                pictureSets.append(
                    accessUnit.extracting(unit.range).withUnsafeBufferPointer(Array.init))
            default: break
            }
        }
        if extradata.first == 1 {
            let record = try AVCDecoderConfiguration(parsing: extradata)
            var cursor = NALUnitCursor(lengthSize: record.lengthSize)
            while let unit = try cursor.next(in: accessUnit) { take(unit) }
        } else {
            for unit in try AnnexB.nalUnits(in: accessUnit) { take(unit) }
        }
        guard !sequenceSets.isEmpty, !pictureSets.isEmpty else { return nil }
        try self.init(parsing: sequenceSets, pictureParameterSets: pictureSets)
    }
}

extension AACFormat {
    /// A format with the core's rate and channels of an AudioSpecificConfig.
    package init(parsing configuration: [UInt8]) throws(BitstreamError) {
        let parsed = try AudioSpecificConfig(parsing: configuration)
        self.init(
            configuration: configuration, sampleRate: parsed.sampleRate,
            channels: parsed.channels)
    }
}

extension CodedTrack {
    /// Whether the container describes the coding of all packets. Otherwise the first packet does: ADTS; H.264 as
    /// `avc3`, or as an `avc1` with an empty `avcC` (ISO/IEC 14496-15 §5.4.2).
    package var isDescribed: Bool {
        get throws(BitstreamError) {
            guard codec == "h264", configuration.first == 1 else { return !configuration.isEmpty }
            let record = try AVCDecoderConfiguration(parsing: configuration)
            return !record.sequenceParameterSets.isEmpty && !record.pictureParameterSets.isEmpty
        }
    }
}

extension CodedTrack {
    /// Whether the H.264 stream has timing information (ISO/IEC 14496-10 §E.2.1); true for other codecs.
    package var hasOwnRate: Bool {
        guard codec == "h264" else { return true }
        do throws(BitstreamError) {
            let set = try H264Format(extradata: configuration).sequenceParameterSets[0]
            return try SequenceParameterSet(parsing: set).usability?.timing != nil
        } catch {
            // The user of an invalid configuration reports it.
            return false
        }
    }
}
