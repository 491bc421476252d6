import Archive
import Library
import Media
import Recordings
import Synchronization

/// The playlist of one source, cached between requests: only new data is read.
final class SourcePlaylist: Sendable {
    /// State of a file.
    private struct File {
        var index: Int
        var revision: UInt32
        /// Nil: all of it has been read.
        var cursor: FileCursor?
    }

    private struct State {
        var segmentation = MediaSegmentation()
        var playlist: MediaPlaylist
        var files: [String: File] = [:]
    }

    /// A playlist at one moment.
    struct Content: Sendable {
        /// Nil: nothing is listed yet.
        var text: String?
        var bandwidth: Bandwidth?
        var formats: [TrackFormat]
    }

    /// Concurrent requests for the playlist share one read.
    let reading = SingleFlight<Content>()
    private let kind: MediaPlaylist.Kind
    private let zero: UTCTime
    private let state: Mutex<State>
    private let hasRead = Atomic(false)

    /// It was made while the session was being recorded.
    var isGrowing: Bool { kind == .event }

    init(_ kind: MediaPlaylist.Kind, zero: UTCTime) {
        self.kind = kind
        self.zero = zero
        state = Mutex(State(playlist: MediaPlaylist(kind, zero: zero)))
    }

    /// Nothing has been read yet, so reading may be slow.
    var isCold: Bool { !hasRead.load(ordering: .relaxed) }

    /// Reads new files, and returns the content. Blocks while another thread does the same: see ``reading``.
    /// - Parameter isFinished: the session is complete.
    func content(
        of source: RecordedSource, isFinished: Bool
    ) throws(ArchiveError) -> Content {
        let gaps = try source.gaps()
        return try state.withLock { state throws(ArchiveError) -> Content in
            var opened: [(file: RecordedSource.File, recorded: RecordedFile)] = []
            for file in source.files {
                do throws(ArchiveError) {
                    opened.append((file, try file.opened()))
                } catch {
                    // A damaged or removed file cannot be listed.
                    guard Self.isForFile(error) else { throw error }
                }
            }
            if hasChanged(state, opened) {
                state = State(playlist: MediaPlaylist(kind, zero: zero))
            }
            let present = Set(opened.map(\.file.path))
            for (path, file) in state.files where file.cursor != nil && !present.contains(path) {
                // It was growing, and was removed: none of it follows.
                state.files[path]?.cursor = nil
                state.segmentation.finishFile(file.index)
            }
            for (file, recorded) in opened { try Self.read(file, recorded, &state) }
            hasRead.store(true, ordering: .relaxed)
            if isFinished { state.segmentation.finish() }
            state.playlist.update(state.segmentation, gaps: gaps)
            var formats: [TrackFormat] = []
            for file in state.segmentation.files {
                for format in file.formats where !formats.contains(format) {
                    formats.append(format)
                }
            }
            return Content(
                text: state.playlist.text,
                bandwidth: Bandwidth(
                    state.segmentation.segments, targetSeconds: state.playlist.targetSeconds),
                formats: formats)
        }
    }

    /// Whether a listed file was retimed or removed. A growing playlist is only appended to (RFC 8216 §6.2.1): files removed by
    /// retention stay in it.
    private func hasChanged(
        _ state: State, _ opened: [(file: RecordedSource.File, recorded: RecordedFile)]
    ) -> Bool {
        let present = Dictionary(
            opened.map { ($0.file.path, $0.recorded.revision) }, uniquingKeysWith: { $1 })
        return state.files.contains { path, file in
            isGrowing
                ? present[path].map { $0 != file.revision } ?? false
                : present[path] != file.revision
        }
    }

    private static func read(
        _ file: RecordedSource.File, _ recorded: RecordedFile, _ state: inout State
    ) throws(ArchiveError) {
        if state.files[file.path] == nil {
            // Without samples yet, or before one that is listed.
            guard recorded.originNanoseconds != nil,
                let index = state.segmentation.beginFile(SegmentFile(recorded, key: file.key))
            else { return }
            state.files[file.path] = File(
                index: index, revision: recorded.revision, cursor: try FileCursor(recorded))
        }
        guard var known = state.files[file.path], var cursor = known.cursor else { return }
        do throws(ArchiveError) {
            // Reading each `moof` would cost a request.
            if recorded.isDistant, let outlines = try recorded.outline() {
                for outline in outlines { state.segmentation.append(outline, toFile: known.index) }
                known.cursor = nil
                state.files[file.path] = known
                state.segmentation.finishFile(known.index)
                return
            }
            while let fragment = try cursor.next() {
                state.segmentation.append(FragmentOutline(fragment), toFile: known.index)
            }
        } catch {
            // Fragments before damage are valid.
            guard isForFile(error) else { throw error }
            known.cursor = nil
            state.files[file.path] = known
            state.segmentation.finishFile(known.index)
            return
        }
        known.cursor = recorded.isFinished ? nil : cursor
        state.files[file.path] = known
        if recorded.isFinished { state.segmentation.finishFile(known.index) }
    }

    private static func isForFile(_ error: ArchiveError) -> Bool {
        if case .malformed = error { return true }
        return error.isForAbsence
    }
}

/// Cache of recently used playlists.
final class PlaylistStore: Sendable {
    /// A playlist of ten hours has 1 MB.
    private static let capacity = 256

    /// A growing playlist is kept for this time after its last request, so that its clients see the end. Later clients get a new
    /// playlist, with changes and retiming applied.
    private static let followNanoseconds: Int64 = 120_000_000_000

    struct Key: Hashable, Sendable {
        var session: String
        var source: String
    }

    private struct State {
        var playlists: [Key: (playlist: SourcePlaylist, used: Int64)] = [:]
    }

    private let state = Mutex(State())

    /// - Parameter now: monotonic, nanoseconds.
    func playlist(
        _ key: Key, zero: UTCTime, isFinished: Bool, now: Int64
    ) -> SourcePlaylist {
        state.withLock { state in
            if let known = state.playlists[key],
                known.playlist.isGrowing != isFinished
                    || known.playlist.isGrowing && now - known.used < Self.followNanoseconds
            {
                state.playlists[key]?.used = now
                return known.playlist
            }
            let playlist = SourcePlaylist(isFinished ? .vod : .event, zero: zero)
            state.playlists[key] = (playlist, now)
            if state.playlists.count > Self.capacity,
                let oldest = state.playlists.min(by: { $0.value.used < $1.value.used })
            {
                state.playlists.removeValue(forKey: oldest.key)
            }
            return playlist
        }
    }
}
