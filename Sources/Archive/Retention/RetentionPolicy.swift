import Media

/// What an archive may keep. Without any limit it keeps everything.
///
/// Limits apply together: a segment goes when any of them asks for it. Only finished segments go, oldest first, whichever source and
/// session they are of; those of protected sessions never.
package struct RetentionPolicy: Hashable, Sendable {
    /// Segments that ended longer ago than this go.
    package var maximumAgeNanoseconds: Int64?
    /// What all segments together may have, open and protected ones included.
    package var maximumBytes: UInt64?
    /// What has to stay free on the disk.
    package var minimumFreeBytes: UInt64?

    package init(
        maximumAgeNanoseconds: Int64? = nil, maximumBytes: UInt64? = nil,
        minimumFreeBytes: UInt64? = nil
    ) {
        self.maximumAgeNanoseconds = maximumAgeNanoseconds
        self.maximumBytes = maximumBytes
        self.minimumFreeBytes = minimumFreeBytes
    }

    /// Whether it never asks for anything.
    package var keepsEverything: Bool {
        maximumAgeNanoseconds == nil && maximumBytes == nil && minimumFreeBytes == nil
    }

    /// What has to go now, oldest first.
    ///
    /// - Parameters:
    ///   - segments: all there are, in any order.
    ///   - freeBytes: what the disk has left.
    ///   - now: the wall clock.
    package func expired(
        of segments: [ArchivedSegment], freeBytes: UInt64, now: UTCTime
    ) -> [ExpiredSegment] {
        var total = segments.reduce(0) { $0 + $1.sizeBytes }
        var free = freeBytes
        var expired: [ExpiredSegment] = []
        let candidates = segments.filter { !$0.isProtected && !$0.isOpen }
            .sorted { ($0.ended, $0.path) < ($1.ended, $1.path) }
        for segment in candidates {
            guard let cause = cause(for: segment, total: total, free: free, now: now) else {
                // The limits in bytes are met, and all others are younger.
                break
            }
            total -= segment.sizeBytes
            free += segment.sizeBytes
            expired.append(ExpiredSegment(segment: segment, cause: cause))
        }
        return expired
    }

    private func cause(
        for segment: ArchivedSegment, total: UInt64, free: UInt64, now: UTCTime
    ) -> ExpiredSegment.Cause? {
        if let maximumAgeNanoseconds,
            now.nanoseconds.clampedSubtracting(segment.ended.nanoseconds) > maximumAgeNanoseconds
        {
            return .age
        }
        if let maximumBytes, total > maximumBytes { return .size }
        if let minimumFreeBytes, free < minimumFreeBytes { return .freeSpace }
        return nil
    }
}

/// A segment as the retention sees it: from names and inodes alone.
package struct ArchivedSegment: Hashable, Sendable {
    package var session: String
    package var source: String
    package var path: String
    package var sizeBytes: UInt64
    /// When it was written last, which for a finished segment is when it ended.
    package var ended: UTCTime
    package var isProtected: Bool
    /// Whether its session still goes on: its last file of each source may be growing.
    package var isOpen: Bool

    package init(
        session: String, source: String, path: String, sizeBytes: UInt64, ended: UTCTime,
        isProtected: Bool, isOpen: Bool
    ) {
        self.session = session
        self.source = source
        self.path = path
        self.sizeBytes = sizeBytes
        self.ended = ended
        self.isProtected = isProtected
        self.isOpen = isOpen
    }
}

/// A segment that has to go, and why.
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
