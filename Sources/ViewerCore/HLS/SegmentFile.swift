package import Archive
import Files
import Library
package import Media
package import Recordings

/// A recorded file in playlists.
package struct SegmentFile: Hashable, Sendable {
    /// Its name without the suffix: `2026-11-20T22-40-00.000Z`.
    package var name: String
    /// Start of its timeline, nanoseconds of session time.
    package var originNanoseconds: Int64
    /// ``SegmentKey/revision``. Not 0: the heads of its fragments are rewritten when sent.
    package var revision: UInt32
    /// Formats of its tracks.
    package var formats: [TrackFormat]
    /// Size of its initialization segment; nil if unknown. It is in the playlist, because FFmpeg 5.1 keeps the end of the previous
    /// byte range on a reused connection, and would wait for bytes that are never sent.
    package var initializationBytes: Int64?

    package init(
        name: String, originNanoseconds: Int64, revision: UInt32 = 0, formats: [TrackFormat]
    ) {
        self.name = name
        self.originNanoseconds = originNanoseconds
        self.revision = revision
        self.formats = formats
    }

    /// - Parameter key: nil for a single file; its name is then the last part of its path.
    package init(_ file: RecordedFile, key: SegmentKey?) {
        let name = key?.fileName ?? Path.name(of: file.path)
        self.init(
            name: SegmentName.stem(of: name), originNanoseconds: file.originNanoseconds ?? 0,
            revision: file.revision,
            formats: file.formats)
        initializationBytes = file.initializationBytes
    }

    /// The URI of its media initialization section (RFC 8216 §3.3), relative to the playlist.
    package var initializationURI: String { uri("\(name).init") }

    /// The URI of its media, relative to the playlist. It contains the revision, so responses are immutable.
    package var mediaURI: String {
        guard revision != 0 else { return uri(name) }
        let digits = String(revision, radix: 16)
        let padded = String(repeating: "0", count: 8 - digits.count) + digits
        return uri("\(name).\(padded)")
    }

    private func uri(_ stem: String) -> String { pathSegment("\(SegmentName(stem: stem))") }
}

/// The resource of a URI in a media playlist: the inverse of ``SegmentFile/initializationURI`` and ``SegmentFile/mediaURI``.
package enum SegmentResource: Hashable, Sendable {
    /// `ftyp` and the initial `moov` of a file.
    case initialization(file: String)
    /// Bytes of a file; revision 0: as they were recorded.
    case media(file: String, revision: UInt32)

    /// - Parameter name: the last segment of the URI's path, percent-decoded.
    package init?(_ name: String) {
        guard let stem = SegmentName(name)?.stem else { return nil }
        let dot = stem.lastIndex(of: ".")
        let file = dot.map { String(stem[..<$0]) } ?? ""
        let end = dot.map { String(stem[stem.index(after: $0)...]) } ?? ""
        if end == "init", !file.isEmpty {
            self = .initialization(file: file)
        } else if let revision = Self.revision(end), !file.isEmpty {
            self = .media(file: file, revision: revision)
        } else if !stem.isEmpty {
            self = .media(file: stem, revision: 0)
        } else {
            return nil
        }
    }

    private static func revision(_ text: String) -> UInt32? {
        let isHexadecimal = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
        guard isHexadecimal, text.utf8.count == 8, let value = UInt32(text, radix: 16), value != 0
        else { return nil }
        return value
    }
}
