import Archive
import HTTPTypes
import Hummingbird
import Library
import Media
import NIOCore

/// HLS for everybody's players: playlists over the recorded files, and the bytes that they name (RFC 8216).
struct PlaylistAPI {
    /// Media of one revision never change.
    private static let mediaLifetimeSeconds = 86_400

    let site: ViewerSite

    /// All sources of a session.
    func session(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["sources"])
        let name = try context.name("session")
        let wanted = try query.sources("sources")
        let rights = context.rights
        let recording = try await site.read { library in
            try library.sources(of: name, for: rights)
            return try library.recording(name)
        }
        var sources: [MultivariantPlaylist.Source] = []
        for source in recording.sources
        where rights.mayRead(source.name) && wanted?.contains(source.name) ?? true {
            let known = try await content(of: source, in: recording)
            guard known.text != nil else { continue }
            sources.append(
                MultivariantPlaylist.Source(
                    name: source.name, formats: known.formats, bandwidth: known.bandwidth))
        }
        guard let text = MultivariantPlaylist(sources).text else {
            throw Problem(.notFound, "nothing is recorded in \(name) yet")
        }
        return Self.playlist(text)
    }

    /// One source.
    func source(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try context.name("session")
        let name = try context.source()
        let recording = try await site.read { try $0.recording(session) }
        guard let source = recording.source(name) else {
            throw Problem(.notFound, "no source '\(name)' in \(session)")
        }
        guard let text = try await content(of: source, in: recording).text else {
            throw Problem(.notFound, "nothing of \(name) can be played yet")
        }
        return Self.playlist(text)
    }

    /// A file that a playlist names.
    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try context.name("session")
        let source = SourceKey(session: session, source: try context.source())
        guard let resource = SegmentResource(context.parameters.get("file") ?? "") else {
            throw Problem(.notFound, "there is no such file")
        }
        let retimed = site.retimed
        let answer = try await site.read { library -> FileAnswer in
            switch resource {
            case .initialization(let name):
                let bytes = try Self.open(name, of: source, library).initialization()
                return FileAnswer(
                    file: MemoryFile(bytes: bytes), contentType: "video/mp4",
                    tag: Digest(of: bytes).description, lifetimeSeconds: Self.mediaLifetimeSeconds)
            case .media(let name, let revision):
                let file = try Self.open(name, of: source, library)
                guard revision == 0 || revision == file.revision else {
                    throw Problem(.notFound, "the file was retimed: read the playlist again")
                }
                let bytes: any VirtualFile =
                    revision == 0 ? try PlainBytes(file) : try retimed.bytes(of: file)
                return FileAnswer(
                    file: bytes, contentType: "video/mp4",
                    tag: "\(name)-\(revision)-\(bytes.sizeBytes)",
                    lifetimeSeconds: file.isFinished ? Self.mediaLifetimeSeconds : nil)
            }
        }
        return answer.response(to: request, in: site.threads)
    }

    private static func open(
        _ name: String, of source: SourceKey, _ library: RecordingLibrary
    ) throws -> RecordedFile {
        guard let key = SegmentKey(source, fileName: name + ArchiveLayout.segmentSuffix) else {
            throw Problem(.notFound, "there is no such file")
        }
        do throws(ArchiveError) {
            let store = library.store
            return try RecordedFile { () throws(ArchiveError) in try store.open(.segment(key)) }
        } catch {
            // A growing playlist still names it, and may not change: a player goes on with what follows.
            guard error.isForAbsence,
                let recorded = try library.recording(source.session).source(source.source),
                try recorded.hasRemoved(key)
            else { throw error }
            throw Problem(.gone, "this part of the recording has been removed")
        }
    }

    /// What a source's playlist is now. One request reads for all that ask for it meanwhile.
    private func content(
        of source: RecordedSource, in recording: RecordedSession
    ) async throws -> SourcePlaylist.Content {
        let key = PlaylistStore.Key(
            session: recording.name, source: source.name)
        let (site, isFinished) = (site, recording.isFinished)
        let playlist = site.playlists.playlist(
            key, zero: recording.zero, isFinished: isFinished,
            now: SystemClock.monotonic.nowNanoseconds)
        return try await playlist.reading.value {
            @Sendable func read() async throws -> SourcePlaylist.Content {
                try await site.read { _ in
                    try playlist.content(of: source, isFinished: isFinished)
                }
            }
            guard playlist.isCold else { return try await read() }
            return try await site.playlists.coldReading.run { try await read() }
        }
    }

    private static func playlist(_ text: String) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = MediaPlaylist.contentType
        headers[.cacheControl] = "no-cache"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
