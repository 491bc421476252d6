package import Archive
import Media

/// The times of a source's samples in a file of one of several archives.
package struct CopiedSpans: Sendable {
    /// The collector's name; the archive's number, in the order in which archives were given, if it is unknown.
    package var collector: String
    /// Session time in nanoseconds, in order, without overlaps.
    package var spans: [Range<Int64>]
    /// Identifies the file and its contents.
    let state: MergeMemory.FileState
    /// Whether pauses within the file are left out of ``spans``, because another archive may have their samples.
    let isDivided: Bool
}

extension MergedStore {
    /// The times of a source's samples in each archive, in the order of the files' starts.
    ///
    /// Files whose segment is in several archives are read as a whole, once per content: merging them reads as much.
    /// - Parameters:
    ///   - range: session time, nanoseconds: other files may be left out; nil: all.
    ///   - jointNanoseconds: shorter pauses do not divide a span.
    ///   - known: earlier results.
    /// - Returns: nil: one archive has the session.
    package func copiedSpans(
        of source: SourceKey, in range: Range<Int64>?, jointNanoseconds: Int64,
        known: [CopiedSpans]
    ) throws(ArchiveError) -> [CopiedSpans]? {
        let session = try session(source.session)
        guard session.copies.count > 1 else { return nil }
        let files = try files(of: source, in: session)
        let remembered = Dictionary(known.map { ($0.state, $0) }) { $1 }
        let length = session.manifest.segmentNanoseconds
            .clampedAdding(RecordedSession.overlapNanoseconds)
        var found: [CopiedSpans] = []
        for group in files.segments {
            if let range, let first = group.first, let last = group.last {
                let end = last.originNanoseconds.clampedAdding(length)
                guard first.originNanoseconds < range.upperBound, end > range.lowerBound else {
                    continue
                }
            }
            let isShared =
                Set(group.map(\.copy)).count > 1 || !Self.around(group, files, session).isEmpty
            for file in group {
                if let same = remembered[file.state], same.isDivided || !isShared {
                    found.append(same)
                    continue
                }
                let joint = isShared ? jointNanoseconds : nil
                guard let spans = try spans(of: file, in: session, dividedBy: joint) else {
                    continue
                }
                let copy = session.copies[file.copy]
                found.append(
                    CopiedSpans(
                        collector: copy.manifest.collector ?? "archive \(copy.member + 1)",
                        spans: spans, state: file.state, isDivided: isShared))
            }
        }
        return found
    }

    /// - Parameter joint: nil: one span from the first to the last sample.
    /// - Returns: empty for a damaged file; nil: the file may be readable later without a change.
    private func spans(
        of file: CopiedFile, in session: MergedSession, dividedBy joint: Int64?
    ) throws(ArchiveError) -> [Range<Int64>]? {
        do throws(ArchiveError) {
            let opened = try recorded(file, in: session)
            guard let joint else {
                return try RecordedSpan(of: opened).map {
                    [$0.startNanoseconds..<$0.endNanoseconds]
                } ?? []
            }
            return try opened.spans(jointNanoseconds: joint)
        } catch {
            try leaveOut(error, file, session)
            return error.isForContent ? [] : nil
        }
    }
}

extension RecordedFile {
    /// Times with samples, session time in nanoseconds: longer pauses divide them. Of a damaged file, those before the damage.
    func spans(jointNanoseconds joint: Int64) throws(ArchiveError) -> [Range<Int64>] {
        var cursor = try FileCursor(self)
        var spans: [Range<Int64>] = []
        do throws(ArchiveError) {
            while let fragment = try cursor.next() {
                let shown = fragment.samples.filter { !$0.isHidden }.map {
                    $0.ptsNanoseconds..<max($0.ptsNanoseconds, $0.endNanoseconds)
                }
                spans += Self.joined(shown, within: joint)
            }
        } catch {
            guard error.isForContent else { throw error }
        }
        return Self.joined(spans, within: joint)
    }

    private static func joined(
        _ spans: [Range<Int64>], within joint: Int64
    ) -> [Range<Int64>] {
        var joined: [Range<Int64>] = []
        for span in spans.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last,
                span.lowerBound.clampedSubtracting(last.upperBound) <= joint
            {
                joined[joined.count - 1] =
                    last.lowerBound..<max(last.upperBound, span.upperBound)
            } else {
                joined.append(span)
            }
        }
        return joined
    }
}
