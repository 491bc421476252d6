package import Archive
import Media

/// Reads a source's fragments, across files, without retaining them.
package struct FragmentReader {
    private var files: ArraySlice<RecordedSource.File>
    private var cursor: FileCursor?
    /// Session time to which distant files are seeked.
    private let from: Int64?
    /// Start of the range, until the first file is checked for samples after it.
    private var undecidedFrom: Int64?
    /// Fragments that are read before the one at which decoding starts.
    static let nearFragments = 4
    /// Maximum time by which leading pictures (open GOPs) precede their file: 16 pictures at 8 fps.
    static let leadingNanoseconds: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - from: session time, nanoseconds. Files that end earlier are omitted, except the one with the keyframe before `from`.
    ///   - to: files that start at or after it are omitted, except one with leading pictures.
    package init(_ source: RecordedSource, from: Int64? = nil, to: Int64? = nil) {
        var files = source.files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[max(holding - 1, files.startIndex)...]
            if holding > source.files.startIndex { undecidedFrom = from }
        }
        self.files = files
        self.from = from
        if let to { self.files = Self.limited(self.files, to: to) }
    }

    /// - Returns: the next fragment; nil at the end.
    package mutating func next() throws(ArchiveError) -> RecordedFragment? {
        if let from = undecidedFrom {
            undecidedFrom = nil
            if Self.isSecondEnough(files, from: from) { files.removeFirst() }
        }
        while true {
            if let fragment = try cursor?.next() { return fragment }
            guard let file = files.popFirst() else { return nil }
            var next = try FileCursor(file.opened())
            if let from, next.file.isDistant { next.skip(to: from, margin: Self.nearFragments) }
            cursor = next
        }
    }

    /// A reader without the files that start at or after a time, except one with leading pictures.
    package func limited(to: Int64?) -> FragmentReader {
        guard let to else { return self }
        var limited = self
        limited.files = Self.limited(files, to: to)
        return limited
    }

    private static func limited(
        _ files: ArraySlice<RecordedSource.File>, to: Int64
    ) -> ArraySlice<RecordedSource.File> {
        let before = files.prefix { $0.originNanoseconds < to }
        guard let next = files[before.endIndex...].first,
            next.originNanoseconds < to.clampedAdding(leadingNanoseconds)
        else { return before }
        return files[...before.endIndex]
    }

    /// Seeks to shortly before a session time, nanoseconds. Samples presented from then on, and those needed to decode them, follow.
    /// Copies of the reader can read the same range after that.
    ///
    /// Errors are reported by ``next()``.
    package mutating func skip(to from: Int64) {
        // Audio and video of the same time are at most two fragments apart.
        var recent: [FragmentReader] = []
        do throws(ArchiveError) {
            var ahead = self
            var last: RecordedFile?
            while true {
                let before = ahead
                guard let fragment = try ahead.next(),
                    fragment.startNanoseconds ?? .min <= from
                else { return }
                // A file's first fragments may continue the previous file.
                if let file = last, file !== fragment.file { recent.removeAll() }
                last = fragment.file
                recent.append(before)
                if recent.count > Self.nearFragments { recent.removeFirst() }
                if let start = fragment.decodableFromNanoseconds, start <= from,
                    recent.count == Self.nearFragments
                {
                    self = recent[0]
                }
            }
        } catch {
            return
        }
    }

    /// Whether all samples presented from a time on, and those needed to decode them, are in the second file or later.
    private static func isSecondEnough(
        _ files: ArraySlice<RecordedSource.File>, from: Int64
    ) -> Bool {
        guard let second = files.dropFirst().first,
            second.originNanoseconds.clampedAdding(RecordedSession.overlapNanoseconds) <= from
        else { return false }
        do throws(ArchiveError) {
            var cursor = try FileCursor(second.opened())
            guard let decodable = try cursor.next()?.decodableFromNanoseconds else { return false }
            return decodable <= from
        } catch {
            // The next read reports the error.
            return false
        }
    }
}
