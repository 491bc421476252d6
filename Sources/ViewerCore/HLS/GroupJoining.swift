import Media

/// Decides when a new media segment starts at a keyframe: groups of pictures are joined to segments of about ``targetNanoseconds``.
///
/// The decision is made at the keyframe, when the length of its group is unknown. It is expected to be that of the last group, or of
/// longer ones before, whose weight decays. So an additional keyframe does not make a segment too long, and a segment exceeds the
/// target by more than the tolerance only if a group is longer than expected.
struct GroupJoining: Hashable, Sendable {
    /// Decay of the expected length with each shorter group.
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
