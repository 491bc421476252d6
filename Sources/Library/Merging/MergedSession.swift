package import Archive
import Media

/// One session that several archives have, as it is read from all of them.
package struct MergedSession: Sendable {
    /// What one archive has of it.
    package struct Copy: Sendable {
        /// The archive's place among those that were given.
        package var member: Int
        /// The collector's name, or what was given as the archive where that is not known.
        package var archive: String
        package var manifest: SessionManifest
        package var shift: SessionShift
    }

    /// In the order of their names: the first one's timeline is the session's.
    package let copies: [Copy]
    /// The description of all of them together.
    package let manifest: SessionManifest

    /// - Parameters:
    ///   - copies: at least one, in the order of their names.
    ///   - isRecording: whether a collector records into an archive, by its place; nil: nobody knows.
    init(_ copies: [Copy], isRecording: (Int) -> Bool?) {
        precondition(!copies.isEmpty)
        self.copies = copies
        var manifest = copies[0].manifest
        var sources: [String: SessionManifest.Source] = [:]
        for copy in copies {
            for source in copy.manifest.sources {
                guard var known = sources[source.name] else {
                    sources[source.name] = source
                    continue
                }
                if known.tracks.isEmpty { known.tracks = source.tracks }
                known.isComplete = known.isComplete || source.isComplete
                sources[source.name] = known
            }
        }
        manifest.sources = sources.values.sorted { $0.name < $1.name }
        // One that was left open by a collector that is away is not being recorded, if another one has ended it.
        let open = copies.filter { $0.manifest.state == .recording }
        let isOver =
            !open.isEmpty && open.count < copies.count
            && open.allSatisfy { isRecording($0.member) == false }
        if open.isEmpty || isOver {
            manifest.state = .finished
            manifest.end =
                copies.compactMap(\.manifest.end).max { $0.at < $1.at } ?? manifest.end
        } else {
            manifest.state = .recording
            manifest.end = nil
        }
        self.manifest = manifest
    }

    package var name: String { manifest.session }
    package var zero: UTCTime { manifest.zeroTime }
}

/// An archive's files of a source in a session of several.
struct CopiedFile: Sendable {
    /// Its archive's place in the session.
    var copy: Int
    /// In its archive's store.
    var path: StoredPath
    var entry: StoredEntry
    var state: MergeMemory.FileState
    /// The name under which it is listed.
    var name: String
    /// Its beginning as its name says, nanoseconds of the session's timeline.
    var originNanoseconds: Int64
    /// The segment's number where its archive has the session's grid; nil: it has another one, and the file stands alone.
    var slot: Int64?
}
