/// Where a fragment says when its tracks' samples are decoded: the `tfdt` boxes of a `moof` (ISO/IEC 14496-12 §8.8.12).
///
/// A fragment whose times have changed keeps its size when the numbers there are overwritten.
package struct DecodeTimes: Hashable, Sendable {
    package struct Place: Hashable, Sendable {
        package var trackID: UInt32
        /// Of the number, in the file.
        package var offset: Int64
        /// 4 or 8.
        package var sizeBytes: Int
        package var ticks: UInt64
    }

    package private(set) var places: [Place] = []

    /// - Parameters:
    ///   - moof: the box, whole.
    ///   - offset: where in the file it begins.
    package init(of moof: [UInt8], at offset: Int64) throws(MP4Error) {
        let source = MemorySource(moof)
        var boxes = BoxReader(source)
        guard let box = try boxes.next(), box.type == "moof" else {
            throw .noBox(offset: offset)
        }
        var children = BoxReader(source, in: box.payload)
        while let child = try children.next() {
            guard child.type == "traf" else { continue }
            if let place = try Self.place(in: child, source, at: offset) { places.append(place) }
        }
    }

    private static func place(
        in fragment: BoxHeader, _ source: MemorySource, at offset: Int64
    ) throws(MP4Error) -> Place? {
        var trackID: UInt32?
        var place: Place?
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
                place = Place(
                    trackID: 0, offset: offset + box.payloadOffset + 4, sizeBytes: size,
                    ticks: bytes[...].bigEndian(at: 0, count: size))
            default: continue
            }
        }
        guard let trackID, var place else { return nil }
        place.trackID = trackID
        return place
    }
}
