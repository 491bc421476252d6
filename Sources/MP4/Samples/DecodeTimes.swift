/// The decode times of a fragment's tracks: the `tfdt` boxes of a `moof` (ISO/IEC 14496-12 §8.8.12).
///
/// They can be overwritten in place, without changing the fragment's size.
package struct DecodeTimes: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        package var trackID: UInt32
        /// File offset of the number.
        package var offset: Int64
        package var sizeBytes: Int
        package var ticks: UInt64
    }

    package private(set) var fields: [Field] = []

    /// - Parameters:
    ///   - moof: the whole box.
    ///   - offset: its file offset.
    package init(of moof: [UInt8], at offset: Int64) throws(MP4Error) {
        let source = MemorySource(moof)
        var boxes = BoxReader(source)
        guard let box = try boxes.next(), box.type == "moof" else {
            throw .noBox(offset: offset)
        }
        var children = BoxReader(source, in: box.payload)
        while let child = try children.next() {
            guard child.type == "traf" else { continue }
            if let field = try Self.field(in: child, source, at: offset) { fields.append(field) }
        }
    }

    private static func field(
        in fragment: BoxHeader, _ source: MemorySource, at offset: Int64
    ) throws(MP4Error) -> Field? {
        var trackID: UInt32?
        var field: Field?
        var boxes = BoxReader(source, in: fragment.payload)
        while let box = try boxes.next() {
            switch box.type {
            case "tfhd":
                let bytes = try source.read(at: box.payloadOffset, count: 8)
                trackID = UInt32(bytes[4...].bigEndian(at: 0, count: 4))
            case "tfdt":
                let version = try source.read(at: box.payloadOffset, count: 1)[0]
                let size = version == 1 ? 8 : 4
                let bytes = try source.read(at: box.payloadOffset + 4, count: size)
                field = Field(
                    trackID: 0, offset: offset + box.payloadOffset + 4, sizeBytes: size,
                    ticks: bytes[...].bigEndian(at: 0, count: size))
            default: continue
            }
        }
        guard let trackID, var field else { return nil }
        field.trackID = trackID
        return field
    }
}
