/// First bytes of a header part: number and type (length-delimited) of the envelope's field.
enum EnvelopeTag {
    static let samples: UInt8 = 2 << 3 | 2
    static let clockProbe: UInt8 = 6 << 3 | 2
    static let heartbeat: UInt8 = 7 << 3 | 2
    /// Numbers above 15 need two bytes.
    static let welcome: [UInt8] = [0x82, 0x01]
    static let clockReply: [UInt8] = [0x9A, 0x01]

    /// The content of the only message in a header part, if it is of this kind and nothing follows it.
    static func content(of header: [UInt8], tag: UInt8) -> Range<Int>? {
        guard header.first == tag, var reader = FieldReader(header, 1..<header.count),
            let content = reader.content(), reader.isAtEnd
        else { return nil }
        return content
    }
}
