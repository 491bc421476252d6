package import Archive

/// Reads a source's fragments, file after file, without keeping any.
package struct FragmentReader {
    private var files: ArraySlice<RecordedSource.File>
    private var cursor: FileCursor?

    /// - Parameters:
    ///   - from: session time, nanoseconds: files that end before it are left out. Who wants to decode there needs the keyframe before,
    ///     which may be in the file before: that one is read too.
    ///   - to: files that begin at it or later are left out.
    package init(_ source: RecordedSource, from: Int64? = nil, to: Int64? = nil) {
        var files = source.files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[max(holding - 1, files.startIndex)...]
        }
        if let to { files = files.prefix { $0.originNanoseconds < to } }
        self.files = files
    }

    /// The next fragment; nil at the end.
    package mutating func next() throws(ArchiveError) -> RecordedFragment? {
        while true {
            if let fragment = try cursor?.next() { return fragment }
            guard let file = files.popFirst() else { return nil }
            cursor = try FileCursor(file.opened())
        }
    }
}
