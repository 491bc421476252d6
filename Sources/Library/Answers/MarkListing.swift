package import Archive
import Recordings

/// A listed mark, as printed by `tributary mark --json` and by the viewer.
package struct MarkListing: Codable, Hashable, Sendable {
    package var id: String
    /// Session time.
    package var atNanoseconds: Int64
    /// The same instant in UTC.
    package var time: String
    package var text: String
    /// The source concerned; nil: all of them.
    package var source: String?

    /// - Parameter zero: the session's.
    package init(_ mark: SessionMarks.Mark, zero: UTCTime) {
        id = mark.id
        atNanoseconds = mark.atNanoseconds
        time = zero.advanced(by: mark.atNanoseconds).description
        text = mark.text
        source = mark.source
    }
}
