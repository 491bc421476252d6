package import Archive
import Media

/// Consecutive fragments of one source's recording, as byte ranges with times.
///
/// A fragment's position in its file never changes. After retiming, the `moof` boxes in the file have outdated times:
/// ``RecordedFile/revision`` is not 0 then, and senders of fragments must write new `moof` boxes.
package struct PlaybackRange: Sendable {
    /// The fragments of one file.
    package struct File: Sendable {
        package var file: RecordedFile
        /// Nil for a file that was selected by path.
        package var key: SegmentKey?
        /// In file order; at least one.
        package var fragments: [RecordedFragment]
    }

    package var source: String
    /// In the order of time; files without fragments in the range are omitted.
    package var files: [File]
}

extension RecordedFragment {
    /// Presentation time of the first shown sample, session time in nanoseconds; nil if none is shown.
    package var startNanoseconds: Int64? {
        samples.lazy.filter { !$0.isHidden }.map(\.ptsNanoseconds).min()
    }

    /// End of the last sample, session time in nanoseconds.
    package var endNanoseconds: Int64? {
        samples.lazy.filter { !$0.isHidden }.map(\.endNanoseconds).max()
    }

    /// Presentation time of its first picture if that is a keyframe, session time in nanoseconds: decoding from the fragment
    /// shows everything from then on. In a file without video, its start. Nil if decoding cannot start with the fragment.
    package var decodableFromNanoseconds: Int64? {
        guard file.format(.video) != nil else { return startNanoseconds }
        return samples.first { $0.track == .video }.flatMap {
            $0.flags.contains(.keyframe) ? $0.ptsNanoseconds : nil
        }
    }
}

extension RecordedSource {
    /// The fragments needed to show a range: from the last one at or before its start at which decoding can start, to the
    /// last one that starts before its end.
    ///
    /// Reads `moof` boxes, but no media. Files outside of the range are not opened, except for the previous one.
    /// - Parameter range: session time, nanoseconds.
    package func playback(_ range: Range<Int64>) throws(ArchiveError) -> PlaybackRange {
        var found: [PlaybackRange.File] = []
        var files = files[...]
        if let holding = files.lastIndex(where: { $0.originNanoseconds <= range.lowerBound }) {
            // Pictures at its start may be in the previous file.
            files = files[max(holding - 1, files.startIndex)...]
        }
        for file in files.prefix(while: { $0.originNanoseconds < range.upperBound }) {
            var cursor = try FileCursor(file.opened())
            if cursor.file.isDistant {
                cursor.skip(to: range.lowerBound, margin: FragmentReader.nearFragments)
            }
            var fragments: [RecordedFragment] = []
            while let fragment = try cursor.next() {
                // In a file, a fragment presents nothing before the start of the previous one.
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
        // It ends before the range and is not needed for decoding: the source starts or has a gap there.
        if let first = found.first, found.count > 1,
            first.fragments.allSatisfy({ $0.endNanoseconds ?? .min <= range.lowerBound }),
            found[1].fragments.first?.decodableFromNanoseconds != nil
        {
            found.removeFirst()
        }
        return PlaybackRange(source: name, files: found)
    }
}
