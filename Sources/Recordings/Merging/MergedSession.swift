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
    ///   - isRecording: whether a collector records into an archive, by its index; nil: unknown.
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

/// All archives' files of a source, by the segments that they are files of.
struct CopiedFiles: Sendable {
    /// In the order of their beginnings.
    let all: [CopiedFile]
    /// Files of one segment.
    let segments: [[CopiedFile]]
    /// By name: a file's segment, and the file of the first archive.
    private let places: [String: (segment: Int, file: CopiedFile)]

    init(_ files: [CopiedFile]) {
        all = files.sorted {
            ($0.originNanoseconds, $0.copy) < ($1.originNanoseconds, $1.copy)
        }
        var segments: [[CopiedFile]] = []
        var slots: [Int64: Int] = [:]
        var places: [String: (segment: Int, file: CopiedFile)] = [:]
        for file in all {
            var place = segments.count
            if let slot = file.slot {
                place = slots[slot, default: place]
                slots[slot] = place
            }
            if place == segments.count { segments.append([]) }
            segments[place].append(file)
            if places[file.name] == nil { places[file.name] = (place, file) }
        }
        self.segments = segments
        self.places = places
    }

    /// The first archive's file of that name.
    func file(named name: String) -> CopiedFile? { places[name]?.file }

    /// The segment in which a file of that name is: a part in another format has a name of its own, which comes behind.
    func segment(of name: String) -> [CopiedFile]? {
        if let place = places[name] { return segments[place.segment] }
        return segments.last { $0.count > 1 && $0[0].name < name }
    }

    /// Files that begin in a range of the timeline.
    func files(from: Int64, through: Int64) -> ArraySlice<CopiedFile> {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].originNanoseconds < from { low = middle + 1 } else { high = middle }
        }
        return all[low...].prefix { $0.originNanoseconds <= through }
    }
}

/// An archive's file of a source in a session of several.
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

extension CopiedFile {
    /// Collectors' grids agree to within their clocks' bounds.
    private static let alignmentNanoseconds: Int64 = 100_000_000
    /// Names have milliseconds, and a session's zero is between two.
    private static let roundingNanoseconds: Int64 = 2_000_000

    /// What one archive has of a source.
    /// - Parameters:
    ///   - listed: its folder.
    ///   - copy: the archive's place in the session.
    ///   - path: a file of the archive in messages.
    static func all(
        _ listed: [StoredEntry], of source: SourceKey, copy place: Int, in session: MergedSession,
        path: (StoredPath) -> String
    ) -> [CopiedFile] {
        let copy = session.copies[place]
        let length = max(1, session.manifest.segmentNanoseconds)
        let limit = UInt64(min(alignmentNanoseconds, length / 4))
        let zero = copy.manifest.zeroTime.nanoseconds
        let isAligned =
            session.zero.nanoseconds.clampedSubtracting(zero)
            .clampedAdding(copy.shift.nanoseconds).magnitude <= limit
            && copy.shift.nanoseconds.magnitude <= limit
        return listed.compactMap { entry in
            guard !entry.isFolder, let key = SegmentKey(source, fileName: entry.name) else {
                return nil
            }
            let own = key.origin.nanoseconds.clampedSubtracting(zero)
            let origin = own.clampedAdding(copy.shift.nanoseconds)
            let settled = own.clampedAdding(roundingNanoseconds)
            let slot = settled >= 0 ? settled / length : (settled - length + 1) / length
            let file = StoredPath.source(source) / entry.name
            return CopiedFile(
                copy: place, path: file, entry: entry,
                state: MergeMemory.FileState(
                    path: path(file), sizeBytes: entry.sizeBytes,
                    modifiedNanoseconds: entry.modifiedNanoseconds),
                name: isAligned
                    ? entry.name
                    : session.zero.advanced(by: origin).fileName + ArchiveLayout.segmentSuffix,
                originNanoseconds: isAligned ? own : origin, slot: isAligned ? slot : nil)
        }
    }
}
