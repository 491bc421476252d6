import Archive
import Catalog
import Media
import Recordings

/// Number and total size of segments, including those whose media is in a store that is not read here.
struct SegmentTotals: Hashable {
    private(set) var segments = 0
    private(set) var sizeBytes: UInt64 = 0

    init(segments: Int = 0, sizeBytes: UInt64 = 0) {
        self.segments = segments
        self.sizeBytes = sizeBytes
    }

    /// - Parameter growingBytes: size of the files that grow; the row has that of the others.
    init(_ row: CatalogListing, growingBytes: UInt64) {
        segments = row.segments
        sizeBytes = row.sizeBytes.clampedAdding(growingBytes)
    }

    /// Adds a source's segments.
    /// - Throws: if not all can be read; those that can be are added.
    mutating func add(_ source: SourceKey, in library: RecordingLibrary) throws(ArchiveError) {
        let entries = try library.store.list(.source(source))
        for entry in entries where !entry.isFolder && SegmentName(entry.name) != nil {
            add(entry.sizeBytes)
        }
        // As in a catalog. A bucket has none; each of several archives may have one.
        guard library.isLocal || !library.members.isEmpty else { return }
        for moved in try library.movedProofs(of: source, in: entries) {
            add(moved.proof.sizeBytes)
        }
    }

    private mutating func add(_ size: Int64) {
        segments += 1
        sizeBytes.addClamped(UInt64(clamping: size))
    }
}
