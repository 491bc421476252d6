package import Archive
import Media

extension RecordingLibrary {
    /// Identifies what is recorded of a source in a range: while it stays the same, so do the samples in the range and their times.
    ///
    /// Opens the files in the range.
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: nil: the end, which moves while the source is being recorded.
    package func state(
        of source: SourceKey, from: Int64?, until: Int64?
    ) throws(ArchiveError) -> Digest {
        let recorded = try RecordedSource(
            source, in: store, zero: manifest(source.session).zeroTime, segmentNanoseconds: 0)
        var files = recorded.files[...]
        if let from, let holding = files.lastIndex(where: { $0.originNanoseconds <= from }) {
            files = files[max(holding - 1, files.startIndex)...]
        }
        if let until { files = files.prefix { $0.originNanoseconds < until } }
        var text = ""
        for file in files {
            let opened = try file.opened()
            text += "\(file.path) \(opened.revision)"
            if !opened.isFinished {
                let end = try RecordedSpan(of: opened)?.endNanoseconds ?? .min
                // What is behind the range may grow. Pictures that are presented earlier than they are decoded are soon there.
                let isBehind = until.map { end.clampedSubtracting($0) > 2_000_000_000 } ?? false
                text += isBehind ? " behind" : " \(try opened.source().sizeBytes)"
            }
            text += "\n"
        }
        return Digest(of: Array(text.utf8))
    }
}
