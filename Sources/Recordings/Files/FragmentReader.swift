package import Archive
import Media

/// Reads a source's fragments, file after file, without keeping any.
package struct FragmentReader {
    private var files: ArraySlice<RecordedSource.File>
    private var cursor: FileCursor?
    /// Files that are far away are entered shortly before this session time.
    private let from: Int64?
    /// The first of the files may be of no use from here on: not looked at yet.
    private var undecidedFrom: Int64?
    /// Fragments that are read before the one with which decoding can begin.
    static let nearFragments = 4
    /// A file's leading pictures (open groups) are presented before it begins: 16 of them at 8 a second.
    static let leadingNanoseconds: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - from: session time, nanoseconds: files that end before it are left out. Who wants to decode there needs the keyframe before,
    ///     which may be in the file before: that one is read too.
    ///   - to: files that begin at it or later are left out, except for one with leading pictures.
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

    /// The next fragment; nil at the end.
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

    /// The same reader without the files that begin at a time or later, except for one with leading pictures.
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

    /// Goes on to shortly before a time, session time in nanoseconds: whatever is seen or heard from then on, and what it takes to
    /// decode it, is still to come. Several readers of one range can be copies of one that has skipped.
    ///
    /// What cannot be read is left to ``next()``.
    package mutating func skip(to from: Int64) {
        // Sound and pictures of one instant lie within a fragment or two of each other.
        var recent: [FragmentReader] = []
        do throws(ArchiveError) {
            var ahead = self
            var last: RecordedFile?
            while true {
                let before = ahead
                guard let fragment = try ahead.next(),
                    fragment.startNanoseconds ?? .min <= from
                else { return }
                // In the first fragments of a file there is what did not get into the one before.
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

    /// Whether all that is presented from here on, and what it takes to decode it, is in the second file or later.
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
