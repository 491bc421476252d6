import Files
import Media

/// The name of a segment's file: `2026-11-20T22-40-00.000Z.mp4`. Composed (``SegmentKey/fileName``) and parsed here only.
///
/// A file that another program has put into a source's directory may have any other name with the suffix: it is read, and
/// has no ``origin``. Names sort by origin.
package struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
    private static let suffix = ".mp4"

    package let description: String

    package init(stem: String) { description = stem + Self.suffix }

    /// Nil for any other name than a segment's.
    package init?(_ name: String) {
        guard name.hasSuffix(Self.suffix),
            !name.utf8.contains(where: { [UInt8(ascii: "/"), 0].contains($0) })
        else { return nil }
        description = name
    }

    /// The instant at which it begins; nil for a file of another program.
    package var origin: UTCTime? { UTCTime(fileName: stem) }

    /// The name without the suffix: `2026-11-20T22-40-00.000Z`.
    package var stem: String { String(description.dropLast(Self.suffix.count)) }

    /// The name of its companion file.
    package func name(_ companion: SegmentCompanion) -> String { companion.path(of: description) }

    /// The stem of a file's name; the name itself if it is not a segment's.
    package static func stem(of name: String) -> String { SegmentName(name)?.stem ?? name }

    /// The segment's name, from the path of the segment or of a companion file; for any other file, its own name.
    package static func segment(of path: String) -> String {
        let name = Path.name(of: path)
        return SegmentCompanion.parse(name)?.segment.description ?? name
    }

    package static func < (left: SegmentName, right: SegmentName) -> Bool {
        left.description < right.description
    }
}

extension SegmentKey {
    /// The name of its file.
    package var fileName: String { SegmentName(stem: origin.fileName).description }
}

/// A companion file of a segment: the segment's name with an additional suffix.
package enum SegmentCompanion: String, CaseIterable, Sendable {
    /// The segment before it has its name: without a fragment, or an incomplete copy. Recovery removes it.
    case unnamed = ".new"
    /// The segment while it is being removed (``SegmentRemoval``).
    case removing = ".removing"
    /// An incomplete download of the segment.
    case fetching = ".fetching"
    /// The proof that a store has it (``SegmentProof``).
    case proof = ".json"
    /// The record of its started upload.
    case upload = ".upload"

    /// The companion's path or key, from the segment's path or key.
    package func path(of segment: String) -> String { segment + rawValue }

    /// - Returns: nil for any other file's name.
    package static func parse(_ name: String) -> (segment: SegmentName, companion: Self)? {
        for companion in allCases where name.hasSuffix(companion.rawValue) {
            return SegmentName(String(name.dropLast(companion.rawValue.count))).map {
                ($0, companion)
            }
        }
        return nil
    }
}

/// The segments in a source's directory and their companion files, by name.
package struct SegmentNames: Sendable {
    /// In the order of their origins.
    package private(set) var segments: [SegmentName] = []
    private var companions: [SegmentName: Set<SegmentCompanion>] = [:]

    /// - Parameter names: all names in the directory.
    package init(_ names: [String]) {
        for name in names {
            if let segment = SegmentName(name) {
                segments.append(segment)
            } else if let (segment, companion) = SegmentCompanion.parse(name) {
                companions[segment, default: []].insert(companion)
            }
        }
        segments.sort()
    }

    package func has(_ companion: SegmentCompanion, of segment: SegmentName) -> Bool {
        companions[segment]?.contains(companion) ?? false
    }

    /// Names of all files of a kind, sorted.
    package func names(_ companion: SegmentCompanion) -> [String] {
        companions.filter { $0.value.contains(companion) }.keys.sorted().map { $0.name(companion) }
    }

    /// Segments whose media is in the store only, by origin: those with a proof, without a file, and without the rest of an
    /// interrupted removal.
    package func moved(of source: SourceKey) -> [SegmentKey] {
        if companions.isEmpty { return [] }
        let present = Set(segments)
        return companions.compactMap { name, companions in
            guard companions.contains(.proof), !companions.contains(.removing),
                !present.contains(name)
            else { return nil }
            return SegmentKey(source, name)
        }.sorted()
    }
}
