/// Drops a source's samples after a loss until decoding can start again: samples before that reference dropped ones.
///
/// One per source in every queue that drops samples: spools, the collector's feed, a viewer's groups of pictures and its
/// watchers.
package struct KeyframeGate: Hashable, Sendable {
    /// Samples are dropped until decoding can start.
    package private(set) var isSkipping: Bool

    /// - Parameter isSkipping: whether decoding must be able to start with the first sample.
    package init(isSkipping: Bool = false) { self.isSkipping = isSkipping }

    /// Samples were dropped.
    /// - Returns: false if the gate was skipping already.
    @discardableResult
    package mutating func skip() -> Bool {
        defer { isSkipping = true }
        return !isSkipping
    }

    /// Whether the next sample passes; if not, it must be dropped.
    /// - Parameter beginsDecodable: whether decoding can start with it (``DecodingStart/isPossible(at:hasVideo:)``).
    package mutating func admits(beginsDecodable: Bool) -> Bool {
        if beginsDecodable { isSkipping = false }
        return !isSkipping
    }
}
