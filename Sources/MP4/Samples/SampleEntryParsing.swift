import Media

extension SampleEntry {
    /// Maximum number of sample entries of a track.
    private static let maximumEntries = 256

    /// The entries of `stsd` (ISO/IEC 14496-12 §8.5.2).
    static func parseAll(_ stsd: BoxView) throws(MP4Error) -> [SampleEntry] {
        var fields = stsd.fields
        _ = try fields.versionAndFlags(newest: 1)
        let count = try fields.entryCount(entrySizeBytes: 8)
        guard count > 0, count <= maximumEntries else {
            throw stsd.invalid("\(count) sample entries")
        }
        let children = try stsd.children(skipping: 8)
        guard children.count >= count else {
            throw stsd.invalid("\(count) sample entries announced, \(children.count) present")
        }
        var entries: [SampleEntry] = []
        for child in children.prefix(count) { entries.append(try parse(child)) }
        return entries
    }

    private static func parse(_ box: BoxView) throws(MP4Error) -> SampleEntry {
        if let codec = VideoCodec(sampleEntry: "\(box.type)") {
            return try parseVisual(box, codec)
        }
        let codecs = AudioCodec.all(sampleEntry: "\(box.type)")
        return codecs.isEmpty ? SampleEntry(type: box.type) : try parseAudio(box, codecs)
    }

    /// Bytes of VisualSampleEntry before its boxes (§12.1.3).
    static let visualFieldsSizeBytes: Int64 = 78

    private static func parseVisual(
        _ box: BoxView, _ codec: VideoCodec
    ) throws(MP4Error) -> SampleEntry {
        var entry = SampleEntry(type: box.type)
        var fields = box.fields
        try fields.skip(24)
        entry.width = try fields.u16()
        entry.height = try fields.u16()
        try fields.skip(50)
        let children = try box.children(skipping: visualFieldsSizeBytes)
        let configurationBox = codec.coding.configurationBox
        let description = try children.required(FourCC(configurationBox.type), in: box)
        let configuration = try configurationBox.configuration(in: description)
        do {
            let record = try codec.coding.configuration(parsing: configuration)
            entry.nalLengthSize = record.lengthSize
            var format = VideoFormat(
                codec, parameterSets: record.parameterSets, width: UInt32(entry.width),
                height: UInt32(entry.height))
            if let pasp = children.first("pasp") {
                format.setPixelShape(try pixelShape(pasp))
            }
            entry.format = .video(format)
        } catch let error as BitstreamError {
            throw description.invalid(error.description)
        } catch {
            throw description.invalid("\(error)")
        }
        return entry
    }

    /// PixelAspectRatioBox (ISO/IEC 14496-12 §12.1.4); nil when it is invalid.
    private static func pixelShape(_ pasp: BoxView) throws(MP4Error) -> SampleAspectRatio? {
        var fields = pasp.fields
        return SampleAspectRatio(reducing: Int64(try fields.u32()), Int64(try fields.u32()))
    }

    /// Bytes of AudioSampleEntry before its boxes (§12.2.3); QuickTime's versions 1 and 2 have more.
    static func audioFieldsSizeBytes(quickTimeVersion: UInt16) -> Int64 {
        switch quickTimeVersion {
        case 1: 28 + 16
        case 2: 28 + 36
        default: 28
        }
    }

    private static func parseAudio(
        _ box: BoxView, _ codecs: [AudioCodec]
    ) throws(MP4Error) -> SampleEntry {
        var entry = SampleEntry(type: box.type)
        var fields = box.fields
        try fields.skip(8)
        let version = try fields.u16()
        try fields.skip(6)
        entry.channels = try fields.u16()
        try fields.skip(6)
        entry.sampleRate = try fields.u32() >> 16
        let boxes = try box.children(
            skipping: audioFieldsSizeBytes(quickTimeVersion: version))
        for codec in codecs {
            guard let configuration = try configuration(of: codec, in: boxes) else { continue }
            do throws(BitstreamError) {
                entry.format = .audio(try codec.coding.format(parsing: configuration))
            } catch {
                // An unsupported kind of audio with the same object type.
                entry.format = nil
            }
        }
        return entry
    }

    /// Nil if the entry is of another codec, or has no configuration: QuickTime puts `esds` in `wave`.
    private static func configuration(
        of codec: AudioCodec, in boxes: [BoxView]
    ) throws(MP4Error) -> [UInt8]? {
        switch codec.coding.configurationBox {
        case .elementaryStream:
            guard let esds = boxes.first("esds") else { return nil }
            let stream = try ElementaryStream(parsing: esds.fields)
            return stream.codec == codec ? stream.decoderSpecificInfo : nil
        case .own(let box):
            guard let found = boxes.first(FourCC(box.type)) else { return nil }
            return try box.configuration(in: found)
        }
    }
}

/// The elementary stream descriptor in `esds` (ISO/IEC 14496-1 §7.2.6.5).
struct ElementaryStream {
    /// `objectTypeIndication`: 0x40 is MPEG-4 audio.
    private(set) var objectType: UInt8?
    private(set) var maximumBitRate: UInt32 = 0
    private(set) var averageBitRate: UInt32 = 0
    private(set) var decoderSpecificInfo: [UInt8]?

    /// Nil for a codec that recordings do not have.
    var codec: AudioCodec? {
        objectType.flatMap { type in
            AudioCodec.all.first {
                guard case .elementaryStream(let types) = $0.coding.configurationBox else {
                    return false
                }
                return types.contains(type)
            }
        }
    }

    /// Parses the payload of `esds`.
    init(parsing payload: FieldReader) throws(MP4Error) {
        var fields = payload
        _ = try fields.versionAndFlags()
        var stream = try Self.descriptor(&fields, tag: 3)
        try stream.skip(2)
        let flags = try stream.u8()
        if flags & 0x80 != 0 { try stream.skip(2) }
        if flags & 0x40 != 0 { try stream.skip(Int(try stream.u8())) }
        if flags & 0x20 != 0 { try stream.skip(2) }
        var decoder = try Self.descriptor(&stream, tag: 4)
        objectType = try decoder.u8()
        try decoder.skip(4)
        maximumBitRate = try decoder.u32()
        averageBitRate = try decoder.u32()
        guard decoder.bytesLeft > 0 else { return }
        var specific = try Self.descriptor(&decoder, tag: 5)
        decoderSpecificInfo = try specific.raw(specific.bytesLeft)
    }

    /// The content of the next descriptor, which must have `tag`.
    private static func descriptor(
        _ fields: inout FieldReader, tag: UInt8
    ) throws(MP4Error) -> FieldReader {
        let found = try fields.u8()
        guard found == tag else {
            throw fields.invalid("descriptor \(found) where \(tag) should be")
        }
        var size = 0
        for _ in 0..<4 {
            let byte = try fields.u8()
            size = size << 7 | Int(byte & 0x7F)
            if byte & 0x80 == 0 { break }
        }
        return try fields.nested(size)
    }
}
