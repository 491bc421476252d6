import Media

/// Names the fields of known boxes (ISO/IEC 14496-12, -14, -15), for ``BoxTree``.
///
/// Fields that were read before the damage in a box are kept.
struct BoxContent {
    private(set) var fields: [BoxField] = []
    /// Bytes of payload before the box's children; nil if it is no container.
    private(set) var childrenStart: Int64?

    private let header: BoxHeader
    private let tableRows: Int
    private var reader: FieldReader
    /// The payload continues after the bytes that were read.
    private let isPartial: Bool

    /// - Parameters:
    ///   - header: of the box.
    ///   - payload: its payload, or the start of it.
    ///   - tableRows: maximum number of rows of a table that are kept.
    init(_ header: BoxHeader, payload: [UInt8], tableRows: Int) {
        self.header = header
        self.tableRows = tableRows
        isPartial = payload.count < header.payload.count
        reader = FieldReader(
            payload, in: 0..<payload.count, base: header.payloadOffset, box: header.type)
    }

    /// Boxes that contain only boxes.
    private static let containers: Set<FourCC> = [
        "moov", "trak", "edts", "mdia", "minf", "dinf", "stbl", "mvex", "moof", "traf", "mfra",
        "udta", "tref",
    ]

    /// Reads the fields.
    ///
    /// - Throws: when the box ends before its fields, or for an invalid field.
    mutating func decode() throws(MP4Error) {
        if Self.containers.contains(header.type) {
            childrenStart = 0
            return
        }
        let type = "\(header.type)"
        if VideoCodec(sampleEntry: type) != nil { return try decodeVisualEntry() }
        if let codec = VideoCodec.all.first(where: { $0.coding.configurationBox.type == type }) {
            return try decodeVideoConfiguration(codec)
        }
        if !AudioCodec.all(sampleEntry: type).isEmpty { return try decodeAudioEntry() }
        for codec in AudioCodec.all {
            guard case .own(let box) = codec.coding.configurationBox, box.type == type else {
                continue
            }
            return try addFields(of: configuration(in: box), codec)
        }
        switch header.type {
        case "ftyp", "styp": try decodeFileType()
        case "mvhd": try decodeMovieHeader()
        case "tkhd": try decodeTrackHeader()
        case "mdhd": try decodeMediaHeader()
        case "hdlr": try decodeHandler()
        case "elst": try decodeEdits()
        case "stsd", "dref", "meta": try decodeEntryList()
        case "esds": try decodeElementaryStream()
        case "colr", "pasp", "btrt": try decodePresentation()
        case "stts", "ctts", "stsc", "stss", "stco", "co64", "stsz", "stz2":
            try decodeTable()
        case "mehd", "trex", "mfhd", "tfhd", "tfdt": try decodeFragmentHeader()
        case "trun": try decodeRun()
        default: break
        }
    }

    private mutating func add(_ name: String, _ value: BoxValue) {
        fields.append(BoxField(name, value))
    }

    private mutating func add(_ name: String, _ value: some UnsignedInteger) {
        add(name, .unsigned(UInt64(value)))
    }

    /// Version and flags of a full box, as fields too.
    @discardableResult
    private mutating func fullBox() throws(MP4Error) -> (version: UInt8, flags: UInt32) {
        let (version, flags) = try reader.versionAndFlags(newest: 1)
        add("version", version)
        add("flags", flags)
        return (version, flags)
    }

    // MARK: Movie and tracks

    private mutating func decodeFileType() throws(MP4Error) {
        add("major_brand", .text(try reader.fourCC().description))
        add("minor_version", try reader.u32())
        var brands: [String] = []
        while reader.bytesLeft >= 4 { brands.append(try reader.fourCC().description) }
        add("compatible_brands", .text(brands.joined(separator: " ")))
    }

    private mutating func decodeMovieHeader() throws(MP4Error) {
        let (version, _) = try fullBox()
        add("creation_time", try reader.time(version: version))
        add("modification_time", try reader.time(version: version))
        add("timescale", try reader.u32())
        add("duration", try reader.time(version: version))
        try reader.skip(76)
        add("next_track_ID", try reader.u32())
    }

    private mutating func decodeTrackHeader() throws(MP4Error) {
        let (version, _) = try fullBox()
        add("creation_time", try reader.time(version: version))
        add("modification_time", try reader.time(version: version))
        add("track_ID", try reader.u32())
        try reader.skip(4)
        add("duration", try reader.time(version: version))
        try reader.skip(52)
        add("width", try reader.u32() >> 16)
        add("height", try reader.u32() >> 16)
    }

    private mutating func decodeMediaHeader() throws(MP4Error) {
        let (version, _) = try fullBox()
        add("creation_time", try reader.time(version: version))
        add("modification_time", try reader.time(version: version))
        add("timescale", try reader.u32())
        add("duration", try reader.time(version: version))
        let packed = try reader.u16()
        let letters = [10, 5, 0].map { UInt8(packed >> UInt16($0) & 31) + 0x60 }
        add("language", .text(String(decoding: letters, as: UTF8.self)))
    }

    private mutating func decodeHandler() throws(MP4Error) {
        try fullBox()
        try reader.skip(4)
        add("handler_type", .text(try reader.fourCC().description))
        try reader.skip(12)
        let name = try reader.raw(reader.bytesLeft).prefix { $0 != 0 }
        add("name", .text(String(decoding: name, as: UTF8.self)))
    }

    private mutating func decodeEdits() throws(MP4Error) {
        let (version, _) = try fullBox()
        let isWide = version == 1
        try addTable(
            columns: ["segment_duration", "media_time", "media_rate"],
            rowSizeBytes: isWide ? 20 : 12
        ) { reader throws(MP4Error) in
            [
                Int64(clamping: try reader.time(version: version)),
                isWide ? try reader.i64() : Int64(try reader.i32()),
                Int64(try reader.u32() >> 16),
            ]
        }
    }

    // MARK: Sample descriptions

    private mutating func decodeEntryList() throws(MP4Error) {
        try fullBox()
        if header.type == "meta" {
            childrenStart = 4
            return
        }
        childrenStart = 8
        add("entry_count", try reader.u32())
    }

    private mutating func decodeVisualEntry() throws(MP4Error) {
        childrenStart = SampleEntry.visualFieldsSizeBytes
        try reader.skip(6)
        add("data_reference_index", try reader.u16())
        try reader.skip(16)
        add("width", try reader.u16())
        add("height", try reader.u16())
    }

    private mutating func decodeAudioEntry() throws(MP4Error) {
        try reader.skip(6)
        add("data_reference_index", try reader.u16())
        let version = try reader.u16()
        childrenStart = SampleEntry.audioFieldsSizeBytes(quickTimeVersion: version)
        try reader.skip(6)
        add("channelcount", try reader.u16())
        add("samplesize", try reader.u16())
        try reader.skip(4)
        add("samplerate", try reader.u32() >> 16)
    }

    private mutating func decodeVideoConfiguration(_ codec: VideoCodec) throws(MP4Error) {
        let bytes = try configuration(in: codec.coding.configurationBox)
        let record: DecoderConfiguration
        do throws(BitstreamError) {
            record = try codec.coding.configuration(parsing: bytes)
            for (name, value) in try codec.coding.recordFields(bytes) { add(name, value) }
        } catch {
            throw reader.invalid(error.description)
        }
        add("lengthSize", UInt64(record.lengthSize))
        for set in record.parameterSets {
            guard case .parameterSet(let kind) = codec.kind(of: set) else { continue }
            add("\(kind)ParameterSet", .bytes(set))
            guard kind == .sequence else { continue }
            do throws(BitstreamError) {
                if let pictures = try codec.coding.parse(set, kind).pictures {
                    add("picture", .text("\(pictures.width)x\(pictures.height)"))
                }
            } catch {
                throw reader.invalid(error.description)
            }
        }
    }

    private mutating func configuration(in box: ConfigurationBox) throws(MP4Error) -> [UInt8] {
        if box.isFullBox { try fullBox() }
        var rest = reader
        return try rest.raw(rest.bytesLeft)
    }

    private mutating func decodeElementaryStream() throws(MP4Error) {
        let stream = try ElementaryStream(parsing: reader)
        if let type = stream.objectType { add("objectTypeIndication", type) }
        add("maxBitrate", stream.maximumBitRate)
        add("avgBitrate", stream.averageBitRate)
        guard let configuration = stream.decoderSpecificInfo else { return }
        add("decoderSpecificInfo", .bytes(configuration))
        if let codec = stream.codec { try addFields(of: configuration, codec) }
    }

    private mutating func addFields(
        of configuration: [UInt8], _ codec: AudioCodec
    ) throws(MP4Error) {
        do throws(BitstreamError) {
            for field in try codec.coding.fields(configuration) { add(field.name, field.value) }
        } catch {
            throw reader.invalid(error.description)
        }
    }

    private mutating func decodePresentation() throws(MP4Error) {
        switch header.type {
        case "pasp":
            add("hSpacing", try reader.u32())
            add("vSpacing", try reader.u32())
        case "btrt":
            add("bufferSizeDB", try reader.u32())
            add("maxBitrate", try reader.u32())
            add("avgBitrate", try reader.u32())
        default:
            let type = try reader.fourCC()
            add("colour_type", .text(type.description))
            guard type == "nclx" || type == "nclc" else { return }
            add("colour_primaries", try reader.u16())
            add("transfer_characteristics", try reader.u16())
            add("matrix_coefficients", try reader.u16())
            if type == "nclx" { add("full_range_flag", try reader.u8() >> 7) }
        }
    }

    // MARK: Tables

    private mutating func decodeTable() throws(MP4Error) {
        try fullBox()
        switch header.type {
        case "stts":
            try addTable(columns: ["sample_count", "sample_delta"], rowSizeBytes: 8) {
                reader throws(MP4Error) in [Int64(try reader.u32()), Int64(try reader.u32())]
            }
        case "ctts":
            try addTable(columns: ["sample_count", "sample_offset"], rowSizeBytes: 8) {
                reader throws(MP4Error) in [Int64(try reader.u32()), Int64(try reader.i32())]
            }
        case "stsc":
            try addTable(
                columns: ["first_chunk", "samples_per_chunk", "sample_description_index"],
                rowSizeBytes: 12
            ) { reader throws(MP4Error) in
                [Int64(try reader.u32()), Int64(try reader.u32()), Int64(try reader.u32())]
            }
        case "stss":
            try addTable(columns: ["sample_number"], rowSizeBytes: 4) {
                reader throws(MP4Error) in [Int64(try reader.u32())]
            }
        case "stco":
            try addTable(columns: ["chunk_offset"], rowSizeBytes: 4) {
                reader throws(MP4Error) in [Int64(try reader.u32())]
            }
        case "co64":
            try addTable(columns: ["chunk_offset"], rowSizeBytes: 8) {
                reader throws(MP4Error) in [Int64(clamping: try reader.u64())]
            }
        default: try decodeSizes()
        }
    }

    private mutating func decodeSizes() throws(MP4Error) {
        let word = try reader.u32()
        if header.type == "stz2" {
            add("field_size", word & 0xFF)
            add("sample_count", try reader.u32())
        } else if word > 0 {
            add("sample_size", word)
            add("sample_count", try reader.u32())
        } else {
            try addTable(columns: ["entry_size"], rowSizeBytes: 4) {
                reader throws(MP4Error) in [Int64(try reader.u32())]
            }
        }
    }

    /// Reads a number of rows and keeps the first ones.
    private mutating func addTable(
        columns: [String], rowSizeBytes: Int, count told: UInt32? = nil,
        row: (inout FieldReader) throws(MP4Error) -> [Int64]
    ) throws(MP4Error) {
        let count = if let told { told } else { try reader.u32() }
        let available = isPartial ? Int.max : reader.bytesLeft / max(1, rowSizeBytes)
        var first: [[Int64]] = []
        let kept = rowSizeBytes > 0 ? min(Int(count), tableRows) : 0
        while first.count < kept, reader.bytesLeft >= rowSizeBytes {
            first.append(try row(&reader))
        }
        add("entries", .table(count: UInt64(count), columns: columns, first: first))
        guard rowSizeBytes == 0 || Int(count) <= available else {
            throw reader.invalid("\(count) entries, room for \(available)")
        }
    }

    // MARK: Fragments

    private mutating func decodeFragmentHeader() throws(MP4Error) {
        let (version, flags) = try fullBox()
        switch header.type {
        case "mehd": add("fragment_duration", try reader.time(version: version))
        case "mfhd": add("sequence_number", try reader.u32())
        case "tfdt": add("baseMediaDecodeTime", try reader.time(version: version))
        case "trex":
            for name in [
                "track_ID", "default_sample_description_index", "default_sample_duration",
                "default_sample_size", "default_sample_flags",
            ] {
                add(name, try reader.u32())
            }
        default:
            add("track_ID", try reader.u32())
            if flags & 0x1 != 0 { add("base_data_offset", try reader.u64()) }
            if flags & 0x2 != 0 { add("sample_description_index", try reader.u32()) }
            if flags & 0x8 != 0 { add("default_sample_duration", try reader.u32()) }
            if flags & 0x10 != 0 { add("default_sample_size", try reader.u32()) }
            if flags & 0x20 != 0 { add("default_sample_flags", try reader.u32()) }
        }
    }

    private mutating func decodeRun() throws(MP4Error) {
        let (version, flags) = try fullBox()
        let count = try reader.u32()
        if flags & 0x1 != 0 { add("data_offset", .integer(Int64(try reader.i32()))) }
        if flags & 0x4 != 0 { add("first_sample_flags", try reader.u32()) }
        let named: [(UInt32, String)] = [
            (0x100, "sample_duration"), (0x200, "sample_size"), (0x400, "sample_flags"),
            (0x800, "sample_composition_time_offset"),
        ]
        let present = named.filter { flags & $0.0 != 0 }
        try addTable(
            columns: present.map(\.1), rowSizeBytes: 4 * present.count, count: count
        ) { reader throws(MP4Error) in
            var row: [Int64] = []
            for (flag, _) in present {
                let isSigned = flag == 0x800 && version == 1
                row.append(isSigned ? Int64(try reader.i32()) : Int64(try reader.u32()))
            }
            return row
        }
    }
}
