import Glibc

/// The data that retention needs about an archive, from names and inodes: no file is opened.
package struct ArchiveSurvey: Sendable {
    package private(set) var segments: [ArchivedSegment] = []
    /// Segments whose removal was begun and not completed.
    package private(set) var staged: [StagedSegment] = []
    /// Finished, unprotected sessions without media.
    package private(set) var emptySessions: [String] = []

    /// A segment that was renamed for removal.
    package struct StagedSegment: Hashable, Sendable {
        package var session: String
        package var source: String
        /// Its present path.
        package var path: String
    }

    /// Surveys an archive.
    /// - Throws: when a directory cannot be read.
    package init(of layout: ArchiveLayout) throws(ArchiveError) {
        for session in try layout.sessionNames() {
            try survey(session, layout)
        }
    }

    private mutating func survey(
        _ session: String, _ layout: ArchiveLayout
    ) throws(ArchiveError) {
        let isProtected = FileSystem.exists(layout.protection(session))
        let found = segments.count
        let stagedBefore = staged.count
        for source in try layout.sourceNames(session) {
            let directory = layout.source(session, source)
            let names = try FileSystem.names(in: directory)
            let recordings = names.filter { $0.hasSuffix(ArchiveLayout.segmentSuffix) }
            for name in recordings {
                let path = "\(directory)/\(name)"
                // Removed by another program since the directory was read.
                guard let status = FileSystem.status(path) else { continue }
                segments.append(
                    ArchivedSegment(
                        session: session, source: source, path: path,
                        sizeBytes: status.sizeBytes, ended: status.modified,
                        isProtected: isProtected,
                        // Names sort by time: all but the last segment are followed by another one, so they are finished.
                        isOpen: name == recordings.last))
            }
            staged += names.filter { $0.hasSuffix(SegmentRemoval.stagedSuffix) }.map {
                StagedSegment(session: session, source: source, path: "\(directory)/\($0)")
            }
        }
        let isFinished = isFinished(session, layout)
        if isFinished {
            for index in found..<segments.count { segments[index].isOpen = false }
        }
        let isEmpty = segments.count == found && staged.count == stagedBefore
        if isFinished, isEmpty, !isProtected { emptySessions.append(session) }
    }

    /// Whether nothing will be added to a session. A session with an unreadable description is left alone.
    private func isFinished(_ session: String, _ layout: ArchiveLayout) -> Bool {
        do throws(ArchiveError) {
            return try SessionManifest.read(layout.manifest(session)).state == .finished
        } catch {
            return false
        }
    }
}
