import Files
import Media

/// Limits of an archive, or of its part on the local disk. Without any limit, everything is kept.
///
/// The limits apply together: a segment is removed when any of them requires it. Only finished segments are removed, oldest
/// first, whatever their source and session; those of protected sessions never are.
package struct RemovalLimits: Hashable, Sendable {
    /// Maximum age: segments that ended earlier are removed.
    package var maximumAgeNanoseconds: Int64?
    /// Maximum size of all segments together, open and protected ones included.
    package var maximumBytes: UInt64?
    /// Minimum free space on the disk.
    package var minimumFreeBytes: UInt64?

    package init(
        maximumAgeNanoseconds: Int64? = nil, maximumBytes: UInt64? = nil,
        minimumFreeBytes: UInt64? = nil
    ) {
        self.maximumAgeNanoseconds = maximumAgeNanoseconds
        self.maximumBytes = maximumBytes
        self.minimumFreeBytes = minimumFreeBytes
    }

    /// Whether no limit is set.
    package var keepsEverything: Bool { self == RemovalLimits() }

    /// Whether a limit depends on the wall clock.
    package var usesClock: Bool { maximumAgeNanoseconds != nil }

    /// The limits of the archive and those of its local copies.
    ///
    /// With an object store, limits of the disk alone concern the local copies: a full disk is no reason to remove stored
    /// segments from the store, too.
    /// - Parameter local: further limits of local copies; nil: there is no store.
    package func divided(withStore local: RemovalLimits?) -> (
        archive: RemovalLimits, copies: RemovalLimits
    ) {
        guard var local else { return (self, RemovalLimits()) }
        var archive = self
        local.minimumFreeBytes = minimumFreeBytes
        archive.minimumFreeBytes = nil
        return (archive, local)
    }

    /// The segments to be removed from the archive now, oldest first.
    ///
    /// - Parameters:
    ///   - segments: all segments, in any order.
    ///   - freeBytes: the disk's free space.
    ///   - now: the wall clock; nil while it is not trusted.
    package func expired(
        of segments: [ArchivedSegment], freeBytes: UInt64, now: UTCTime?
    ) -> [ExpiredSegment] {
        removed(of: segments, freeBytes: freeBytes, now: now) { _ in true }
    }

    /// The segments whose local copies are to be removed now, oldest first. Unproven ones are skipped, so that younger ones
    /// have to free the space.
    ///
    /// They are still in the archive: their proofs, ledgers and descriptions stay, and readers get the media from the store. So
    /// only segments that the store is proven to have are evicted. Protection also means that a recording is available without
    /// the network.
    /// - Parameters: as of ``expired(of:freeBytes:now:)``.
    package func evicted(
        of segments: [ArchivedSegment], freeBytes: UInt64, now: UTCTime?
    ) -> [ArchivedSegment] {
        removed(of: segments.filter { $0.place != .store }, freeBytes: freeBytes, now: now) {
            $0.place == .diskAndStore
        }.map(\.segment)
    }

    private func removed(
        of segments: [ArchivedSegment], freeBytes: UInt64, now: UTCTime?,
        where isRemovable: (ArchivedSegment) -> Bool
    ) -> [ExpiredSegment] {
        // 128 bits: the sum of file sizes cannot overflow.
        var total = segments.reduce(UInt128(0)) { $0 + UInt128($1.sizeBytes) }
        var free = freeBytes
        var removed: [ExpiredSegment] = []
        let candidates = segments.filter { !$0.isProtected && !$0.isOpen && isRemovable($0) }
            .sorted { ($0.ended, $0.path) < ($1.ended, $1.path) }
        for segment in candidates {
            guard let cause = cause(for: segment, total: total, free: free, now: now) else {
                continue
            }
            total -= UInt128(segment.sizeBytes)
            if segment.place != .store { free.addClamped(segment.sizeBytes) }
            removed.append(ExpiredSegment(segment: segment, cause: cause))
        }
        return removed
    }

    private func cause(
        for segment: ArchivedSegment, total: UInt128, free: UInt64, now: UTCTime?
    ) -> ExpiredSegment.Cause? {
        if let now, let maximumAgeNanoseconds,
            now.nanoseconds.clampedSubtracting(segment.ended.nanoseconds) > maximumAgeNanoseconds
        {
            return .age
        }
        if let maximumBytes, total > maximumBytes { return .size }
        if let minimumFreeBytes, free < minimumFreeBytes { return .freeSpace }
        return nil
    }
}

/// A segment in a survey, from names and inodes only.
package struct ArchivedSegment: Hashable, Sendable {
    package var owner: SourceKey
    package var path: String
    package var sizeBytes: UInt64
    /// Modification time, which for a finished segment is its end.
    package var ended: UTCTime
    package var isProtected: Bool
    /// Whether its session is still open: the last file of each source may be growing.
    package var isOpen: Bool
    package var place: Location

    /// The location of its media.
    package enum Location: Hashable, Sendable {
        /// On the disk only, as far as its directory shows.
        case disk
        /// On the disk; the store has it, or a part of it.
        case diskAndStore
        /// In the store only.
        case store
    }

    package init(
        _ owner: SourceKey, path: String, sizeBytes: UInt64, ended: UTCTime, isProtected: Bool,
        isOpen: Bool, place: Location = .disk
    ) {
        self.place = place
        self.owner = owner
        self.path = path
        self.sizeBytes = sizeBytes
        self.ended = ended
        self.isProtected = isProtected
        self.isOpen = isOpen
    }

    /// Nil for a file that another program has put there under another name.
    package var key: SegmentKey? { SegmentKey(owner, fileName: Path.name(of: path)) }
}

/// A segment to be removed, and the reason.
package struct ExpiredSegment: Hashable, Sendable {
    package enum Cause: String, Hashable, Sendable {
        case age = "older than is kept"
        case size = "more bytes than are kept"
        case freeSpace = "too little free space"
    }

    package var segment: ArchivedSegment
    package var cause: Cause

    package init(segment: ArchivedSegment, cause: Cause) {
        self.segment = segment
        self.cause = cause
    }
}
