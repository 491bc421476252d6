package import Archive
import Media

/// Fragments of one source's recording that follow each other: byte ranges with times.
///
/// A file's fragments keep their places for ever: while it grows, when it is finished, and after retiming. Of a file that was
/// retimed the bytes of a fragment's head say other times than are true now; ``RecordedFile/revision`` is not 0 then, and who
/// sends the fragments writes heads of its own.
package struct PlaybackRange: Sendable {
    /// The fragments of one file.
    package struct File: Sendable {
        package var file: RecordedFile
        /// Nil: a file that was picked out.
        package var key: SegmentKey?
        /// In the order of their bytes; at least one.
        package var fragments: [RecordedFragment]
    }

    package var source: String
    /// In the order of time; files without wanted fragments are left out.
    package var files: [File]
}

extension RecordedFragment {
    /// When its first sample that players show is presented, nanoseconds of session time; nil: none is shown.
    package var startNanoseconds: Int64? {
        samples.lazy.filter { !$0.isHidden }.map(\.ptsNanoseconds).min()
    }

    /// When its last sample ends, nanoseconds of session time.
    package var endNanoseconds: Int64? {
        samples.lazy.filter { !$0.isHidden }.map(\.endNanoseconds).max()
    }

    /// From when on everything is shown when decoding begins with it, nanoseconds of session time: when its first picture, which is
    /// a keyframe, is presented. Where the file has no pictures, its beginning. Nil: decoding cannot begin with it.
    package var decodableFromNanoseconds: Int64? {
        guard file.format(.video) != nil else { return startNanoseconds }
        return samples.first { $0.track == .video }.flatMap {
            $0.flags.contains(.keyframe) ? $0.ptsNanoseconds : nil
        }
    }
}

extension RecordedSource {
    /// The fragments from which everything in a range can be shown: from the last at or before its beginning with which decoding
    /// can begin, to the last that begins before its end.
    ///
    /// Reads the heads of the files' fragments, no media. Files that begin or end outside of the range are not opened, but for the
    /// one before.
    /// - Parameter range: nanoseconds of session time.
    package func playback(_ range: Range<Int64>) throws(ArchiveError) -> PlaybackRange {
        var found: [PlaybackRange.File] = []
        var files = files[...]
        if let holding = files.lastIndex(where: { $0.originNanoseconds <= range.lowerBound }) {
            // What is presented at its beginning may be in the file before.
            files = files[max(holding - 1, files.startIndex)...]
        }
        for file in files.prefix(while: { $0.originNanoseconds < range.upperBound }) {
            var cursor = try FileCursor(file.opened())
            if cursor.file.isDistant {
                cursor.skip(to: range.lowerBound, margin: FragmentReader.nearFragments)
            }
            var fragments: [RecordedFragment] = []
            while let fragment = try cursor.next() {
                // Within a file, no fragment presents anything before the one that it follows begins.
                if let start = fragment.startNanoseconds, start >= range.upperBound { break }
                if let start = fragment.decodableFromNanoseconds, start <= range.lowerBound {
                    found.removeAll()
                    fragments.removeAll()
                }
                fragments.append(fragment)
            }
            guard !fragments.isEmpty else { continue }
            found.append(
                PlaybackRange.File(file: cursor.file, key: file.key, fragments: fragments))
        }
        // What ends before the range and cannot be decoded up to it, in a source that begins or has a gap there.
        if let first = found.first, found.count > 1,
            first.fragments.allSatisfy({ $0.endNanoseconds ?? .min <= range.lowerBound }),
            found[1].fragments.first?.decodableFromNanoseconds != nil
        {
            found.removeFirst()
        }
        return PlaybackRange(source: name, files: found)
    }
}
