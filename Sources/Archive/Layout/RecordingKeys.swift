import Media

/// One source's part of a session.
package struct SourceKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var session: String
    package var source: String

    package init(session: String, source: String) {
        self.session = session
        self.source = source
    }

    package var description: String { "\(session)/\(source)" }

    package static func < (left: SourceKey, right: SourceKey) -> Bool {
        (left.session, left.source) < (right.session, right.source)
    }
}

/// Identifies one segment of one source. Files, rows and objects are found by it; its location is the store's concern
/// (``ArchiveLayout``).
///
/// A segment is distinguished from others of its source by its origin, not by its index. The origin is part of the file name, so
/// it is known without reading the file, and does not change when other segments are removed.
package struct SegmentKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var owner: SourceKey
    /// The instant at which it begins, as in its file name: whole milliseconds.
    package let origin: UTCTime
    /// Version of the file's content: 0 as recorded, ``RetimingRecord/revision`` after retiming. Files with equal keys
    /// are equal.
    package var revision: UInt32

    package init(_ owner: SourceKey, origin: UTCTime, revision: UInt32 = 0) {
        self.owner = owner
        self.origin = UTCTime(nanoseconds: origin.nanoseconds.floored(to: 1_000_000))
        self.revision = revision
    }

    /// Nil for a name without an origin.
    package init?(_ owner: SourceKey, _ name: SegmentName) {
        guard let origin = name.origin else { return nil }
        self.init(owner, origin: origin)
    }

    /// From a file name; nil for a name that is not a segment's.
    package init?(_ owner: SourceKey, fileName: String) {
        guard let name = SegmentName(fileName) else { return nil }
        self.init(owner, name)
    }

    package var session: String { owner.session }
    package var source: String { owner.source }

    /// Its path below the directory of sessions, and its object's key (``SessionFile``).
    package var description: String { "\(owner)/\(fileName)" }

    /// The path and key of its companion file.
    package func path(_ companion: SegmentCompanion) -> String {
        companion.path(of: description)
    }

    package static func < (left: SegmentKey, right: SegmentKey) -> Bool {
        (left.owner, left.origin, left.revision) < (right.owner, right.origin, right.revision)
    }
}

extension Int64 {
    /// The greatest multiple of `step` that is not greater than the value.
    fileprivate func floored(to step: Int64) -> Int64 {
        let rest = self % step
        return rest < 0 ? clampedSubtracting(rest + step) : self - rest
    }
}
