/// The rule for dropping media when space is exhausted: before a spool, in it, and in memory.
///
/// Whole groups of pictures are dropped, oldest first; the rest of a partly dropped group follows (`KeyframeGate`, module
/// `Media`). Dropping is reported when it starts, and again only after there was ample space in between.
///
/// A value: its owner consults it before storing media, and records a gap for dropped media.
package struct DropPolicy: Hashable, Sendable {
    /// Limit of stored bytes.
    package let limitBytes: Int
    /// Dropping was reported, and the amount has not been well below the limit since.
    private var isReported = false

    package init(limitBytes: Int) { self.limitBytes = limitBytes }

    /// Whether this amount exceeds the limit.
    package func isExceeded(by keptBytes: Int) -> Bool { keptBytes > limitBytes }

    /// Whether this amount is well below the limit.
    package func hasPlentyOfRoom(keptBytes: Int) -> Bool { keptBytes < limitBytes / 2 }

    /// Records a drop.
    /// - Returns: whether it has to be reported.
    package mutating func reportsDrop() -> Bool {
        defer { isReported = true }
        return !isReported
    }

    /// Records the present amount: after a time well below the limit, the next drop is reported again.
    package mutating func note(keptBytes: Int) {
        if hasPlentyOfRoom(keptBytes: keptBytes) { isReported = false }
    }
}
