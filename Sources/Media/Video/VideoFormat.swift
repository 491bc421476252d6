/// A track of pictures: its codec, its parameter sets and the picture's size.
package struct VideoFormat: Hashable, Sendable {
    package var codec: VideoCodec
    /// NAL units, header included, without start code or length; by kind, in the order of ``ParameterSetKind``.
    package var parameterSets: [[UInt8]]
    /// Width of the cropped picture in pixels.
    package var width: UInt32
    /// Height of the cropped picture in pixels.
    package var height: UInt32
    /// Display orientation.
    package var orientation: PictureOrientation
    /// The pixel shape, if the container's differs from that of the parameter sets (`pasp`, `DisplayWidth`).
    package var sampleAspectRatio: SampleAspectRatio?

    package init(
        _ codec: VideoCodec, parameterSets: [[UInt8]], width: UInt32, height: UInt32,
        orientation: PictureOrientation = .upright, sampleAspectRatio: SampleAspectRatio? = nil
    ) {
        self.codec = codec
        self.orientation = orientation
        self.sampleAspectRatio = sampleAspectRatio
        self.width = width
        self.height = height
        self.parameterSets = Self.sorted(parameterSets, codec)
    }

    /// By kind; sets of a kind keep their order.
    private static func sorted(_ sets: [[UInt8]], _ codec: VideoCodec) -> [[UInt8]] {
        func rank(_ set: [UInt8]) -> UInt8 {
            guard case .parameterSet(let kind) = codec.kind(of: set) else { return .max }
            return kind.rawValue
        }
        return sets.enumerated().sorted {
            (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
        }.map(\.element)
    }

    /// The sets of a kind, in order.
    package func sets(_ kind: ParameterSetKind) -> [[UInt8]] {
        parameterSets.filter { codec.kind(of: $0) == .parameterSet(kind) }
    }

    /// The properties of pictures in the first sequence parameter set.
    package func properties() throws(BitstreamError) -> PictureProperties {
        guard let first = sets(.sequence).first,
            let pictures = try codec.coding.parse(first, .sequence).pictures
        else { throw .truncated(.sequenceParameterSet, offset: 0) }
        return pictures
    }

    /// The properties of pictures; nil for invalid sets, which their user reports.
    package var knownProperties: PictureProperties? {
        do throws(BitstreamError) {
            return try properties()
        } catch {
            return nil
        }
    }

    /// The number of reordered pictures that any of the sets allows; nil if one does not state it.
    package func maximumReorderedFrames() throws(BitstreamError) -> UInt32? {
        var most: UInt32 = 0
        for set in sets(.sequence) {
            guard
                let reordered = try codec.coding.parse(set, .sequence).pictures?
                    .maximumReorderedFrames
            else { return nil }
            most = max(most, reordered)
        }
        return most
    }

    /// The decoder's configuration record: the content of `avcC`, `hvcC`, and of extradata.
    /// - Parameter lengthSize: bytes of each length in the samples; ours have 4.
    package func record(lengthSize: Int = 4) throws(BitstreamError) -> [UInt8] {
        try codec.coding.record(for: self, lengthSize: lengthSize)
    }
}

/// The properties of pictures in a sequence parameter set, whatever the codec.
package struct PictureProperties: Hashable, Sendable {
    /// The duration of a frame, as parameter sets state it.
    package struct FrameDuration: Hashable, Sendable {
        package var ticks: UInt64
        /// Ticks per second.
        package var timescale: UInt32
    }

    /// The cropped picture, in pixels.
    package var width: UInt32
    package var height: UInt32
    /// `profile_idc`, `general_profile_idc`.
    package var profile: UInt8
    /// `chroma_format_idc`: 0 monochrome, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    package var chromaFormat: UInt8
    package var lumaBitDepth: UInt8
    package var chromaBitDepth: UInt8
    /// Nil when unspecified.
    package var sampleAspectRatio: SampleAspectRatio?
    /// Nil when unspecified.
    package var colour: ColourDescription?
    /// Nil when unspecified.
    package var frameDuration: FrameDuration?
    /// Maximum number of pictures that precede one in decoding order and follow it in presentation; nil if unspecified.
    package var maximumReorderedFrames: UInt32?

    /// The properties in a file's sample entry: a change needs another description. Decoders read the rest of a set
    /// (timing, reordering, levels) themselves.
    package var appearance: PictureProperties {
        var appearance = self
        appearance.frameDuration = nil
        appearance.maximumReorderedFrames = nil
        return appearance
    }

    /// FFmpeg's name of the pixels' memory layout.
    package var pixelFormat: PixelFormat {
        let depth = max(lumaBitDepth, chromaBitDepth)
        let layout =
            switch chromaFormat {
            case 0: "gray"
            case 2: "yuv422p"
            case 3: "yuv444p"
            default: "yuv420p"
            }
        return PixelFormat(name: depth > 8 ? "\(layout)\(depth)le" : layout)
    }
}

extension VideoFormat {
    /// A format with the picture size of its first sequence parameter set.
    package init(_ codec: VideoCodec, parsing sets: [[UInt8]]) throws(BitstreamError) {
        var kinds: Set<ParameterSetKind> = []
        var size: (width: UInt32, height: UInt32)?
        for set in sets {
            guard case .parameterSet(let kind) = codec.kind(of: set) else {
                guard !set.isEmpty else { throw .truncated(.parameterSets, offset: 0) }
                throw .invalid(
                    .parameterSets, field: "nal_unit_type",
                    value: UInt64(NALUnit.header(of: set.span)))
            }
            kinds.insert(kind)
            guard kind == .sequence else { continue }
            let pictures = try codec.coding.parse(set, kind).pictures
            if size == nil, let pictures { size = (pictures.width, pictures.height) }
        }
        guard let size else { throw .truncated(.sequenceParameterSet, offset: 0) }
        for kind in codec.coding.neededSets where !kinds.contains(kind) {
            throw .truncated(
                kind == .video ? .videoParameterSet : .pictureParameterSet, offset: 0)
        }
        self.init(codec, parameterSets: sets, width: size.width, height: size.height)
    }

    /// A format from the extradata of an encoder or demuxer: a configuration record, or Annex B.
    ///
    /// The record's length size is ignored: samples of this format have 4-byte lengths.
    package init(_ codec: VideoCodec, extradata: [UInt8]) throws(BitstreamError) {
        let sets: [[UInt8]]
        if extradata.first == 1 {
            sets = try codec.coding.configuration(parsing: extradata).parameterSets
        } else {
            sets = try AnnexB.nalUnits(in: extradata.span)
                .filter { codec.kind(of: $0).isParameterSet }.map { Array(extradata[$0.range]) }
        }
        try self.init(codec, parsing: sets)
    }

    /// The format of an access unit's own parameter sets; nil without all kinds.
    ///
    /// - Parameters:
    ///   - accessUnit: as in the container: with lengths if `extradata` is a configuration record, otherwise Annex B.
    ///   - extradata: the track's extradata in the container.
    package init?(
        _ codec: VideoCodec, inBand accessUnit: Span<UInt8>, extradata: [UInt8]
    ) throws(BitstreamError) {
        let framing = try NALUnitFraming(codec, configuration: extradata)
        try self.init(codec, inBand: accessUnit, framing: framing)
    }

    /// The format of an access unit's own parameter sets; nil without all kinds.
    package init?(
        _ codec: VideoCodec, inBand accessUnit: Span<UInt8>,
        framing: NALUnitFraming = .lengthPrefixed(size: 4)
    ) throws(BitstreamError) {
        var sets: [[UInt8]] = []
        for unit in try framing.units(in: accessUnit) where codec.kind(of: unit).isParameterSet {
            sets.append(accessUnit.extracting(unit.range).withUnsafeBufferPointer(Array.init))
        }
        guard DecoderConfiguration(lengthSize: 4, parameterSets: sets).isComplete(codec) else {
            return nil
        }
        try self.init(codec, parsing: sets)
    }
}

extension CodedTrack {
    /// The codec, if recordings can have it.
    package var videoCodec: VideoCodec? { VideoCodec(libraryName: codec) }

    /// Whether the container describes the coding of all packets. Otherwise the first packet does: ADTS; `avc3` and
    /// `hev1`, or an entry with an empty configuration (ISO/IEC 14496-15 §5.4.2, §8.4.1).
    package var isDescribed: Bool {
        get throws(BitstreamError) {
            guard let videoCodec, configuration.first == 1 else { return !configuration.isEmpty }
            return try videoCodec.coding.configuration(parsing: configuration)
                .isComplete(videoCodec)
        }
    }

    /// Whether the stream has timing information (ISO/IEC 14496-10 §E.2.1, ITU-T H.265 §E.3.1); true for codecs that
    /// recordings do not have.
    package var hasOwnRate: Bool {
        guard let videoCodec else { return true }
        do throws(BitstreamError) {
            return try VideoFormat(videoCodec, extradata: configuration).properties()
                .frameDuration != nil
        } catch {
            // The user of an invalid configuration reports it.
            return false
        }
    }
}
