import Glibc
import MP4
package import Media

/// Identifies a file's content without reading it.
package struct FileStamp: Hashable, Sendable {
    package var sizeBytes: Int64
    /// Nanoseconds since 1970 (UTC).
    package var modifiedNanoseconds: Int64

    package init(sizeBytes: Int64, modifiedNanoseconds: Int64) {
        self.sizeBytes = sizeBytes
        self.modifiedNanoseconds = modifiedNanoseconds
    }

    /// Content of a file; nil if it does not exist.
    package init?(_ path: String) {
        guard let status = FileSystem.status(path) else { return nil }
        sizeBytes = Int64(clamping: status.sizeBytes)
        modifiedNanoseconds = status.modified.nanoseconds
    }
}

/// The content of a finished segment, from the heads of its fragments: no media is read.
package struct SegmentContent: Sendable {
    package var stamp: FileStamp
    /// ``SegmentKey/revision``.
    package var revision: UInt32
    /// SHA-256 of the last `moof`; nil for a file of another origin, or without fragments.
    package var chain: Digest?
    /// Duration of its presentation; nil if the index is unreadable.
    package var lengthNanoseconds: Int64?
    /// Records by spool: non-adjacent ranges, ascending.
    package var records: [(spool: SpoolID, ranges: [ClosedRange<UInt64>])]
    /// Data to continue its source after it; nil if it cannot be determined.
    package var continuation: SegmentContinuation?

    /// Reads a file. A damaged one is read as far as possible.
    /// - Returns: nil for a file that is still growing, or left so by a crash.
    /// - Throws: when the file does not exist or cannot be read.
    package init?(_ path: String) throws(ArchiveError) {
        guard let stamp = FileStamp(path) else {
            throw .system(operation: "open", path: path, errno: ENOENT)
        }
        self.stamp = stamp
        let finished = FinishedFile(path)
        revision = finished?.revision ?? 0
        lengthNanoseconds = finished.map { max(0, $0.lengthNanoseconds) }
        let descriptor = try FileSystem.open(path)
        defer { close(descriptor) }
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: descriptor)
            var scanner = try FragmentScanner(source)
            guard scanner.layout.isFinished else { return nil }
            var last: Range<Int64>?
            while let fragment = try scanner.next() { last = fragment.moof }
            chain = try last.map { range throws(MP4Error) in
                Digest(of: try source.read(at: range.lowerBound, count: range.count))
            }
            do throws(MP4Error) {
                continuation = SegmentContinuation(try SegmentSurvey(of: source))
            } catch {
                // Its numbers are known nevertheless.
                continuation = nil
            }
        } catch {
            if case .unreadable(_, let code) = error {
                throw .system(operation: "read", path: path, errno: code)
            }
            // Not a recording of this program.
            chain = nil
        }
        records = chain == nil ? [] : SegmentNumbers.read(path).ranges
    }
}

extension ArchiveLayout {
    /// The record of a session's other stored files; not a valid source name.
    package static let storedName = ".stored"

    package func stored(_ session: String) -> String {
        "\(self.session(session))/\(Self.storedName)"
    }
}
