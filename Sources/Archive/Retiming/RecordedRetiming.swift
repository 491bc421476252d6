package import MP4

extension RetimingRecord {
    /// Maximum size of a record: a day of clock exchanges has a few thousand knots.
    private static let maximumBytes: Int64 = 64 << 20

    /// Reads the record at the end of the active index, without the index's tables.
    /// - Returns: nil for a file that was not retimed, or has no index yet.
    package static func inForce(
        _ file: some ByteSource, _ layout: RecordingLayout
    ) throws(MP4Error) -> RetimingRecord? {
        guard layout.isFinished, !layout.isCutShort else { return nil }
        var boxes = BoxReader(file, in: layout.fragments.upperBound..<file.sizeBytes)
        guard let index = try boxes.next(), index.type == "moov" else { return nil }
        var children = BoxReader(file, in: index.payload)
        while let child = try children.next() {
            guard child.type == "uuid" else { continue }
            let type = try file.read(at: child.payloadOffset - 16, count: 16)
            guard type == userType else { continue }
            guard child.end - child.payloadOffset <= maximumBytes else {
                throw .invalid(
                    box: child.type, offset: child.offset,
                    reason: "the record of its retiming is too large")
            }
            let payload = try file.read(
                at: child.payloadOffset, count: Int(child.end - child.payloadOffset))
            do throws(MalformedRecord) {
                return try RetimingRecord(parsing: payload)
            } catch {
                throw .invalid(
                    box: child.type, offset: child.offset,
                    reason: "the record of its retiming is \(error)")
            }
        }
        return nil
    }
}
