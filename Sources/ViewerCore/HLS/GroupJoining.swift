import Media

/// When a new media segment begins at a keyframe: groups of pictures are joined until a segment is about ``targetNanoseconds``
/// long.
///
/// The decision is made at the keyframe, before the length of the group that begins there is known. The group is expected to be
/// as long as those before it: as the last one, or as longer ones, which are forgotten by and by. So a keyframe out of turn
/// does not make a segment too long, and a segment exceeds the target by more than the tolerance only where a group is longer
/// than expected.
struct GroupJoining: Hashable, Sendable {
    /// Of the expected length, this part is forgotten with each shorter group.
    private static let forgottenShare: Int64 = 8

    let targetNanoseconds: Int64
    private var expectedNanoseconds: Int64 = 0

    init(targetNanoseconds: Int64) { self.targetNanoseconds = targetNanoseconds }

    /// Keyframes are not exactly on their schedule.
    private var toleranceNanoseconds: Int64 { targetNanoseconds / 16 }

    /// Whether a keyframe begins a segment; asked once at every keyframe before which time does not jump.
    /// - Parameters:
    ///   - elapsedNanoseconds: from the beginning of the segment to the keyframe.
    ///   - groupNanoseconds: length of the group that ends at the keyframe.
    mutating func beginsSegment(elapsedNanoseconds: Int64, groupNanoseconds: Int64) -> Bool {
        let remembered = expectedNanoseconds - expectedNanoseconds / Self.forgottenShare
        expectedNanoseconds = max(groupNanoseconds, remembered)
        return elapsedNanoseconds.clampedAdding(expectedNanoseconds)
            > targetNanoseconds.clampedAdding(toleranceNanoseconds)
    }
}
