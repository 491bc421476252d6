import Media

/// How much of an archive stays on the local disk, where an object store has all of it.
///
/// What is evicted is still in the archive: its proof, its ledger and its description stay, and readers get its media from the store. So
/// only segments that the store is proven to have are evicted, and protected or open ones never are: protection also means that a
/// recording is at hand when the network is not.
package struct LocalCachePolicy: Hashable, Sendable {
    /// Segments that ended earlier are evicted.
    package var maximumAgeNanoseconds: Int64?
    /// Maximum size of all media on the disk together, open and protected segments included.
    package var maximumBytes: UInt64?

    package init(maximumAgeNanoseconds: Int64? = nil, maximumBytes: UInt64? = nil) {
        self.maximumAgeNanoseconds = maximumAgeNanoseconds
        self.maximumBytes = maximumBytes
    }

    /// The segments that should leave the disk now, oldest first. Those that are not proven are left out: the younger ones of the others then
    /// have to make the room.
    ///
    /// - Parameters:
    ///   - segments: all segments, in any order.
    ///   - minimumFreeBytes: the disk's free space that retention asks for (``RetentionPolicy/minimumFreeBytes``): with a store,
    ///     it evicts, and removes nothing from the archive.
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
            else { break }
            total = total.clampedSubtracting(segment.sizeBytes)
            free.addClamped(segment.sizeBytes)
            evicted.append(segment)
        }
        return evicted
    }
}
