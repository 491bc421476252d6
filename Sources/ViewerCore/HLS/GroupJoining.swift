import Media

/// When a new media segment begins at a keyframe: groups of pictures are joined until a segment is about ``targetNanoseconds``
/// long.
///
/// The decision is made at the keyframe, before the length of the group that begins there is known; it is taken to be as long as the
/// one before. So a segment is at most the target, and the tolerance, longer than its last group.
struct GroupJoining: Hashable, Sendable {
    let targetNanoseconds: Int64

    /// Keyframes are not exactly on their schedule.
    private var toleranceNanoseconds: Int64 { targetNanoseconds / 16 }

    /// - Parameters:
    ///   - elapsedNanoseconds: from the beginning of the segment to the keyframe.
    ///   - groupNanoseconds: length of the group that ends at the keyframe.
    func beginsSegment(elapsedNanoseconds: Int64, groupNanoseconds: Int64) -> Bool {
        elapsedNanoseconds.clampedAdding(groupNanoseconds)
            > targetNanoseconds.clampedAdding(toleranceNanoseconds)
    }
}
