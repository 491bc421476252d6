/// Where a source's samples go on after some were dropped: with the next one at which decoding can begin. Those before it
/// refer to samples that were dropped, and are dropped as well.
///
/// One for each source, in every queue that drops: in front of a spool and in it, the collector's feed, a viewer's groups
/// of pictures and its watchers.
package struct KeyframeGate: Hashable, Sendable {
    /// Whether samples are dropped until decoding can begin.
    package private(set) var isSkipping: Bool

    /// - Parameter isSkipping: whether the first sample has to be one at which decoding can begin.
    package init(isSkipping: Bool = false) { self.isSkipping = isSkipping }

    /// Samples were dropped.
    /// - Returns: whether this is news: none was dropped since decoding began last.
    @discardableResult
    package mutating func skip() -> Bool {
        defer { isSkipping = true }
        return !isSkipping
    }

    /// Whether the next sample passes; otherwise it has to be dropped.
    /// - Parameter beginsDecodable: whether decoding can begin with it (``DecodingStart/isPossible(at:hasVideo:)``).
    package mutating func admits(beginsDecodable: Bool) -> Bool {
        if beginsDecodable { isSkipping = false }
        return !isSkipping
    }
}
