package import MP4
import Media

/// A finished file's size, and the data at the start of its index: no media is read.
package struct FinishedFile: Hashable, Sendable {
    package var lengthNanoseconds: Int64
    package var sizeBytes: Int64
    /// ``SegmentKey/revision``.
    package var revision: UInt32

    /// Nil for a growing, truncated or unreadable file: `verify` reports the damage.
    package init?(_ path: String) {
        do {
            guard let file = try FileSystem.withFile(path, { try Self.read($0) }) else {
                return nil
            }
            self = file
        } catch {
            return nil
        }
    }

    /// The same for an open file.
    package init?(reading source: some ByteSource) {
        do {
            guard let file = try Self.read(source) else { return nil }
            self = file
        } catch {
            return nil
        }
    }

    package init(lengthNanoseconds: Int64, sizeBytes: Int64, revision: UInt32) {
        self.lengthNanoseconds = lengthNanoseconds
        self.sizeBytes = sizeBytes
        self.revision = revision
    }

    private static func read(_ file: some ByteSource) throws -> FinishedFile? {
        let layout = try RecordingLayout(of: file)
        guard layout.isFinished, !layout.isCutShort else { return nil }
        var boxes = BoxReader(file, in: layout.fragments.upperBound..<file.sizeBytes)
        guard let index = try boxes.next(), index.type == "moov" else { return nil }
        let summary = try MovieSummary(of: index, from: file)
        return FinishedFile(
            lengthNanoseconds: try rescale(
                Int64(clamping: summary.duration), from: summary.timescale, to: .nanoseconds),
            sizeBytes: file.sizeBytes,
            revision: try RetimingRecord.inForce(file, layout)?.revision ?? 0)
    }
}
