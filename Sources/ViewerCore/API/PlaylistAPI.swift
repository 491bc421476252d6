import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import Media
import NIOCore
import Recordings

/// HLS: playlists of recorded files, and their byte ranges (RFC 8216).
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
            try library.sources(of: name, for: rights, naming: wanted)
            return try library.recording(name)
        }
        var sources: [MultivariantPlaylist.Source] = []
        // Players change between variants by themselves: a preview is no variant of all sources.
        for source in wanted == nil
            ? recording.mainSources(where: rights.mayRead) : recording.sources
        where rights.mayRead(source.name) && wanted?.contains(source.name) ?? true {
            let known = try await content(
                of: source, in: recording, for: context.workOwner)
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

    func source(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try context.name("session")
        let name = try context.source()
        let recording = try await site.read { try $0.recording(session) }
        guard let source = recording.source(name) else {
            throw Problem(.notFound, "no source '\(name)' in \(session)")
        }
        let known = try await content(of: source, in: recording, for: context.workOwner)
        guard let text = known.text else {
            throw Problem(.notFound, "nothing of \(name) can be played yet")
        }
        return Self.playlist(text)
    }

    /// Contents of a response.
    enum Answer: Sendable {
        case file(FileAnswer)
        /// An address of the object store.
        case elsewhere(String)
    }

    /// A file that a playlist names.
    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["redirect"])
        let session = try context.name("session")
        let source = SourceKey(session: session, source: try context.source())
        guard let resource = SegmentResource(context.parameters.get("file") ?? "") else {
            throw Problem(.notFound, "there is no such file")
        }
        // An address is signed for one method.
        let redirect = request.method == .get ? try self.redirectSeconds(query) : nil
        let retimed = site.retimed
        let answer = try await site.read { library in
            try Self.answer(
                resource, of: source, redirectSeconds: redirect, retimed: retimed, library)
        }
        switch answer {
        case .file(let file): return file.response(to: request, in: site.threads)
        case .elsewhere(let address): return Self.redirect(to: address)
        }
    }

    /// - Parameter redirectSeconds: validity of the store's addresses; nil: the viewer sends all media.
    static func answer(
        _ resource: SegmentResource, of source: SourceKey, redirectSeconds: Int?,
        retimed: RetimedFiles, _ library: RecordingLibrary
    ) throws -> Answer {
        switch resource {
        case .initialization(let name):
            let bytes = try open(name, of: source, library).initialization()
            return .file(
                FileAnswer(
                    file: MemoryFile(bytes: bytes), contentType: "video/mp4",
                    tag: Digest(of: bytes).description, lifetimeSeconds: mediaLifetimeSeconds))
        case .media(let name, let revision):
            // The store has a retimed file's original fragments; here they are sent with their new times.
            if revision == 0, let redirectSeconds,
                let address = try Self.address(
                    name, of: source, validSeconds: redirectSeconds, library)
            {
                return .elsewhere(address)
            }
            let file = try open(name, of: source, library)
            guard revision == 0 || revision == file.revision else {
                throw Problem(.notFound, "the file was retimed: read the playlist again")
            }
            let bytes: any VirtualFile =
                revision == 0 ? try PlainBytes(file) : try retimed.bytes(of: file)
            return .file(
                FileAnswer(
                    file: bytes, contentType: "video/mp4",
                    tag: "\(name)-\(revision)-\(bytes.sizeBytes)",
                    lifetimeSeconds: file.isFinished ? mediaLifetimeSeconds : nil))
        }
    }

    /// Validity of an address of the store; nil: the viewer sends the media itself.
    private func redirectSeconds(_ query: RequestQuery) throws(Problem) -> Int? {
        switch query["redirect"] {
        case nil: return site.storeRedirectSeconds
        case "no"?: return nil
        case _?: throw Problem(.badRequest, "'redirect' must be 'no'")
        }
    }

    /// Temporary and not cached: the next request is checked again, and gets another address.
    static func redirect(to address: String) -> Response {
        var headers = HTTPFields()
        headers[.location] = address
        headers[.cacheControl] = "private, no-store"
        return Response(status: .temporaryRedirect, headers: headers)
    }

    /// An address from which a file can be fetched directly; nil: it is on the local disk.
    private static func address(
        _ name: String, of source: SourceKey, validSeconds: Int, _ library: RecordingLibrary
    ) throws -> String? {
        try found(name, of: source, library) { store, path throws(ArchiveError) in
            try store.open(path).directAddress(
                validSeconds: validSeconds, contentType: "video/mp4")
        }
    }

    private static func open(
        _ name: String, of source: SourceKey, _ library: RecordingLibrary
    ) throws -> RecordedFile {
        try found(name, of: source, library) { store, path throws(ArchiveError) in
            try RecordedFile { () throws(ArchiveError) in try store.open(path) }
        }
    }

    /// Opens a file of a source.
    private static func found<Value>(
        _ name: String, of source: SourceKey, _ library: RecordingLibrary,
        _ open: (any SegmentStore, StoredPath) throws(ArchiveError) -> Value
    ) throws -> Value {
        guard let key = SegmentKey(source, SegmentName(stem: name)) else {
            throw Problem(.notFound, "there is no such file")
        }
        do throws(ArchiveError) {
            return try open(library.store, .segment(key))
        } catch {
            // A growing playlist lists the removed file, and must not change: players skip it.
            guard error.isForAbsence,
                let recorded = try library.recording(source.session).source(source.source),
                try recorded.hasRemoved(key)
            else { throw error }
            throw Problem(.gone, "this part of the recording has been removed")
        }
    }

    /// The current playlist of a source. Concurrent requests share one read.
    /// - Parameter owner: for fair scheduling of complete reads.
    private func content(
        of source: RecordedSource, in recording: RecordedSession, for owner: WorkOwner
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
            return try await site.runHeavy(for: owner) { try await read() }
        }
    }

    static func playlist(_ text: String) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = MediaPlaylist.contentType
        headers[.cacheControl] = "no-cache"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
