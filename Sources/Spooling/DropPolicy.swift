/// The one rule by which media are dropped where no more can be kept: in front of a spool, in it, and in memory.
///
/// Whole groups of pictures are dropped, the oldest first (``NewestGroup`` says what follows for the one that is being captured).
/// Dropping is reported when it begins, and again only after there was plenty of room in between.
///
/// A value: whoever keeps media asks it, and records a gap for what is dropped.
package struct DropPolicy: Hashable, Sendable {
    /// What may be kept, bytes.
    package let limitBytes: Int
    package var newestGroup = NewestGroup()
    /// Dropping was reported, and there has not been plenty of room since.
    private var isReported = false

    package init(limitBytes: Int) { self.limitBytes = limitBytes }

    /// Whether so much is too much.
    package func isExceeded(by keptBytes: Int) -> Bool { keptBytes > limitBytes }

    /// Whether so much leaves room for a while.
    package func hasPlentyOfRoom(keptBytes: Int) -> Bool { keptBytes < limitBytes / 2 }

    /// Records that something was dropped.
    /// - Returns: whether it has to be reported.
    package mutating func reportsDrop() -> Bool {
        defer { isReported = true }
        return !isReported
    }

    /// Records how much is kept now: after plenty of room, the next drop is reported again.
    package mutating func note(keptBytes: Int) {
        if hasPlentyOfRoom(keptBytes: keptBytes) { isReported = false }
    }
}

/// The group of pictures that a source is capturing. Once its beginning was dropped, the rest of it cannot be decoded: it is dropped
/// as well, up to the next keyframe.
package struct NewestGroup: Hashable, Sendable {
    private var isCut = false

    package init() {}

    /// Its beginning is dropped.
    package mutating func dropBeginning() { isCut = true }

    /// Whether the next record has to be dropped.
    /// - Parameter canBeDecoded: whether decoding can begin with it: it has a keyframe, or its source has no pictures.
    package mutating func drops(canBeDecoded: Bool) -> Bool {
        if canBeDecoded { isCut = false }
        return isCut
    }
}
