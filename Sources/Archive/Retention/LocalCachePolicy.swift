import Media

/// Limits of the part of an archive on the local disk, if an object store has all of it.
///
/// Evicted segments are still in the archive: their proofs, ledgers and descriptions stay, and readers get the media
/// from the store. So only segments that the store is proven to have are evicted. Protected or open ones never are:
/// protection also means that a recording is available without the network.
package struct LocalCachePolicy: Hashable, Sendable {
    /// Segments that ended earlier are evicted.
    package var maximumAgeNanoseconds: Int64?
    /// Maximum size of all media on the disk together, open and protected segments included.
    package var maximumBytes: UInt64?

    package init(maximumAgeNanoseconds: Int64? = nil, maximumBytes: UInt64? = nil) {
        self.maximumAgeNanoseconds = maximumAgeNanoseconds
        self.maximumBytes = maximumBytes
    }

    /// Whether a limit depends on the wall clock.
    package var usesClock: Bool { maximumAgeNanoseconds != nil }

    /// The segments to be evicted now, oldest first. Unproven ones are skipped, so that younger ones have to free the
    /// space.
    ///
    /// - Parameters:
    ///   - segments: all segments, in any order.
    ///   - minimumFreeBytes: the minimum free space of retention (``RetentionPolicy/minimumFreeBytes``): with a store,
    ///     it causes evictions, and no removals from the archive.
    ///   - freeBytes: the disk's free space.
    ///   - now: the wall clock; nil while it is not trusted.
    package func evicted(
        of segments: [ArchivedSegment], minimumFreeBytes: UInt64?, freeBytes: UInt64,
        now: UTCTime?
    ) -> [ArchivedSegment] {
        let local = segments.filter { $0.place != .store }
        var total = local.lazy.map(\.sizeBytes).clampedSum
        var free = freeBytes
        var evicted: [ArchivedSegment] = []
        let candidates = local.filter {
            $0.place == .diskAndStore && !$0.isProtected && !$0.isOpen
        }.sorted { ($0.ended, $0.path) < ($1.ended, $1.path) }
        for segment in candidates {
            let isOld: Bool
            if let now, let maximumAgeNanoseconds {
                let age = now.nanoseconds.clampedSubtracting(segment.ended.nanoseconds)
                isOld = age > maximumAgeNanoseconds
            } else {
                isOld = false
            }
            guard
                isOld || maximumBytes.map({ total > $0 }) ?? false
                    || minimumFreeBytes.map({ free < $0 }) ?? false
            else { continue }
            total = total.clampedSubtracting(segment.sizeBytes)
            free.addClamped(segment.sizeBytes)
            evicted.append(segment)
        }
        return evicted
    }
}
