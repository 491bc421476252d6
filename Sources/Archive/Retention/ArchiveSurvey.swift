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
        package var owner: SourceKey
        /// Its present path.
        package var path: String
    }

    /// Sizes and ends of segments whose media is in the store only, by the paths of their proofs. A cache: a proof does
    /// not change once the media has been removed, and reading it is slower than reading a name.
    package struct MovedSegments: Sendable {
        struct Figures: Sendable {
            var sizeBytes: UInt64
            var ended: UTCTime
        }

        var figures: [String: Figures] = [:]

        package init() {}
    }

    /// Surveys an archive.
    /// - Throws: when a directory cannot be read. A session with an unexpected entry is left unchanged.
    package init(of layout: ArchiveLayout) throws(ArchiveError) {
        var moved = MovedSegments()
        try self.init(of: layout, layout.sessionNames(), moved: &moved)
    }

    /// - Parameters:
    ///   - sessions: the sessions to survey.
    ///   - moved: cached data about segments in the store; updated by the survey.
    package init(
        of layout: ArchiveLayout, _ sessions: [String], moved: inout MovedSegments
    ) throws(ArchiveError) {
        var found = MovedSegments()
        for session in sessions {
            let before = self
            do throws(ArchiveError) {
                try survey(session, layout, known: moved, &found)
            } catch {
                // The session keeps its files, and the limits apply to the others.
                guard error.isForEntry else { throw error }
                self = before
            }
        }
        moved = found
    }

    private mutating func survey(
        _ session: String, _ layout: ArchiveLayout, known: MovedSegments,
        _ moved: inout MovedSegments
    ) throws(ArchiveError) {
        let isProtected = FileSystem.exists(layout.protection(session))
        let found = segments.count
        let stagedBefore = staged.count
        var hasMoved = false
        for source in try layout.sourceNames(session) {
            let owner = SourceKey(session: session, source: source)
            let directory = layout.source(owner)
            let names = try layout.names(owner)
            for segment in names.moved(of: owner) {
                hasMoved = true
                try survey(segment, layout, isProtected: isProtected, known: known, &moved)
            }
            for name in names.segments {
                let path = "\(directory)/\(name)"
                // Removed by another program since the directory was read, or not a file.
                guard let status = FileSystem.status(path) else { continue }
                segments.append(
                    ArchivedSegment(
                        owner, path: path, sizeBytes: status.allocatedBytes, ended: status.modified,
                        isProtected: isProtected,
                        // Names sort by time: all but the last segment are followed by another one, so they are finished.
                        isOpen: name == names.segments.last,
                        place: names.has(.proof, of: name) || names.has(.upload, of: name)
                            ? .diskAndStore : .disk))
            }
            staged += names.names(.removing).map {
                StagedSegment(owner: owner, path: "\(directory)/\($0)")
            }
        }
        let isFinished = isFinished(session, layout)
        if isFinished {
            for index in found..<segments.count { segments[index].isOpen = false }
        }
        let isEmpty = segments.count == found && staged.count == stagedBefore && !hasMoved
        if isFinished, isEmpty, !isProtected { emptySessions.append(session) }
    }

    /// A segment whose media is in the store only. One with a damaged proof is left unchanged: `verify` reports it.
    private mutating func survey(
        _ segment: SegmentKey, _ layout: ArchiveLayout, isProtected: Bool, known: MovedSegments,
        _ moved: inout MovedSegments
    ) throws(ArchiveError) {
        let path = layout.path(of: segment, .proof)
        if let figures = known.figures[path] {
            moved.figures[path] = figures
        } else {
            do throws(ArchiveError) {
                moved.figures[path] = try SegmentProof.read(segment, in: layout).map {
                    MovedSegments.Figures(
                        sizeBytes: UInt64($0.sizeBytes),
                        ended: UTCTime(nanoseconds: $0.modifiedNanoseconds))
                }
            } catch {
                guard case .malformed = error else { throw error }
            }
        }
        guard let figures = moved.figures[path] else { return }
        segments.append(
            ArchivedSegment(
                segment.owner, path: layout.segment(segment), sizeBytes: figures.sizeBytes,
                ended: figures.ended, isProtected: isProtected, isOpen: false, place: .store))
    }

    /// Whether a session is complete. A session with an unreadable description is left unchanged.
    private func isFinished(_ session: String, _ layout: ArchiveLayout) -> Bool {
        do throws(ArchiveError) {
            return try SessionManifest.read(layout.manifest(session)).state == .finished
        } catch {
            return false
        }
    }
}
