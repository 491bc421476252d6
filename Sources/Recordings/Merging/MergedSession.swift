package import Archive
import Media

/// A session that several archives have.
package struct MergedSession: Sendable {
    /// One archive's copy.
    package struct Copy: Sendable {
        /// Index of the archive.
        package var member: Int
        /// The collector's name; the archive's path or address if it is unknown.
        package var archive: String
        /// Its session name differs from the merged session's if it is an attached part.
        package var manifest: SessionManifest
        package var shift: SessionShift

        /// A source of the merged session, as the archive has it.
        func own(_ source: SourceKey) -> SourceKey {
            SourceKey(session: manifest.session, source: source.source)
        }

        /// A file or folder of the merged session, as the archive has it.
        func own(_ path: StoredPath) -> StoredPath {
            path.text.split(separator: "/").dropFirst().reduce(.session(manifest.session)) {
                $0 / String($1)
            }
        }
    }

    /// An archive's copy whose description cannot be read, so that the copy is left out.
    package struct Damaged: Sendable {
        /// Index of the archive.
        package var member: Int
        package var session: String
        package var error: ArchiveError
    }

    /// In the order of their names, parts last: the first one's timeline is used.
    package let copies: [Copy]
    package let damaged: [Damaged]
    /// The merged description.
    package let manifest: SessionManifest

    /// - Parameters:
    ///   - copies: at least one, in the order of their names, parts last.
    ///   - damaged: copies that are left out.
    ///   - isRecording: whether a collector is recording into an archive, by index; nil if unknown.
    init(_ copies: [Copy], damaged: [Damaged] = [], isRecording: (Int) -> Bool?) {
        precondition(!copies.isEmpty)
        self.copies = copies
        self.damaged = damaged
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
        // A copy left open by an absent collector is not being recorded if another copy has ended.
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

/// All archives' files of a source, grouped by segment.
struct CopiedFiles: Sendable {
    /// In the order of their starts.
    let all: [CopiedFile]
    /// Files of one segment.
    let segments: [[CopiedFile]]
    /// Those of each copy, in the order of their starts.
    private let own: [Int: [CopiedFile]]
    /// Segment and first archive's file, by name.
    private let places: [String: (segment: Int, file: CopiedFile)]

    init(_ files: [CopiedFile]) {
        var all = files.sorted {
            ($0.originNanoseconds, $0.copy) < ($1.originNanoseconds, $1.copy)
        }
        var segments: [[CopiedFile]] = []
        var slots: [Int64: Int] = [:]
        var places: [String: (segment: Int, file: CopiedFile)] = [:]
        for index in all.indices {
            var place = segments.count
            if let slot = all[index].slot {
                place = slots[slot, default: place]
                slots[slot] = place
            }
            all[index].segment = place
            let file = all[index]
            if place == segments.count { segments.append([]) }
            segments[place].append(file)
            if places[file.name] == nil { places[file.name] = (place, file) }
        }
        self.all = all
        own = Dictionary(grouping: all, by: \.copy)
        self.segments = segments
        self.places = places
    }

    /// The first archive's file with that name.
    func file(named name: String) -> CopiedFile? { places[name]?.file }

    /// The segment of a file name. A part with another format has a name of its own, which sorts after the segment's.
    func segment(of name: String) -> [CopiedFile]? {
        if let place = places[name] { return segments[place.segment] }
        return segments.last { $0.count > 1 && $0[0].name < name }
    }

    /// Files that start in a range of the timeline.
    func files(from: Int64, through: Int64) -> ArraySlice<CopiedFile> {
        all[Self.first(of: all, from: from)...].prefix { $0.originNanoseconds <= through }
    }

    /// The files of each copy next to a range of starts: the last one before it, and the first one after it.
    func beyond(_ range: ClosedRange<Int64>) -> (before: [CopiedFile], after: [CopiedFile]) {
        var found: (before: [CopiedFile], after: [CopiedFile]) = ([], [])
        for (_, files) in own.sorted(by: { $0.key < $1.key }) {
            let low = Self.first(of: files, from: range.lowerBound)
            let high = Self.first(of: files, from: range.upperBound.clampedAdding(1))
            if low > 0 { found.before.append(files[low - 1]) }
            if high < files.count { found.after.append(files[high]) }
        }
        return found
    }

    /// Index of the first of sorted files that starts at an instant or later.
    private static func first(of files: [CopiedFile], from: Int64) -> Int {
        var (low, high) = (0, files.count)
        while low < high {
            let middle = (low + high) / 2
            if files[middle].originNanoseconds < from { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// One archive's file of a source.
struct CopiedFile: Sendable {
    /// Index of the copy in the session.
    var copy: Int
    /// Path in its archive's store.
    var path: StoredPath
    var entry: StoredEntry
    var state: MergeMemory.FileState
    /// Name in listings.
    var name: String
    /// Start according to its name, session time in nanoseconds.
    var originNanoseconds: Int64
    /// The same on its own archive's timeline.
    var ownNanoseconds: Int64
    /// Segment number; nil if its archive has another segment grid, so that the file is not merged.
    var slot: Int64?
    /// Index in ``CopiedFiles/segments``.
    var segment = 0
}

extension CopiedFile {
    /// Maximum deviation of collectors' grids: clocks whose rates differ by 50 ppm deviate by that in eleven hours.
    private static let alignmentNanoseconds: Int64 = 2_000_000_000
    /// The same of a part, whose grid began at another instant: only the bounds of clocks.
    private static let partAlignmentNanoseconds: Int64 = 100_000_000
    /// File names have milliseconds; the zero has nanoseconds.
    private static let roundingNanoseconds: Int64 = 2_000_000

    /// An archive's files of a source.
    /// - Parameters:
    ///   - listed: the entries of its folder.
    ///   - copy: index of the copy in the session.
    ///   - path: makes a path for messages.
    static func all(
        _ listed: [StoredEntry], of source: SourceKey, copy place: Int, in session: MergedSession,
        path: (StoredPath) -> String
    ) -> [CopiedFile] {
        let copy = session.copies[place]
        let length = max(1, session.manifest.segmentNanoseconds)
        let isPart = copy.manifest.session != session.manifest.session
        let limit = UInt64(
            min(isPart ? partAlignmentNanoseconds : alignmentNanoseconds, length / 4))
        let zero = copy.manifest.zeroTime.nanoseconds
        let isSameGrid = copy.manifest.segmentNanoseconds == session.manifest.segmentNanoseconds
        return listed.compactMap { entry in
            guard !entry.isFolder, let key = SegmentKey(source, fileName: entry.name) else {
                return nil
            }
            let own = key.origin.nanoseconds.clampedSubtracting(zero)
            let shift = copy.shift.at(own).nanoseconds
            let isAligned =
                isSameGrid && shift.magnitude <= limit
                && session.zero.nanoseconds.clampedSubtracting(zero).clampedAdding(shift).magnitude
                    <= limit
            let origin = own.clampedAdding(shift)
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
                    : SegmentKey(source, origin: session.zero.advanced(by: origin)).fileName,
                originNanoseconds: isAligned ? own : origin, ownNanoseconds: own,
                slot: isAligned ? slot : nil)
        }
    }
}
