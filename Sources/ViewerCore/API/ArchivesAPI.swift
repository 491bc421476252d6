import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import Logging
import Media
import ObjectStore
import Recordings
import Wire

/// The archives on this machine's disk, as objects for other readers of the site: lists of files, and ranges of their bytes.
/// Readers may also change marks, labels and protection, which the archive's collector writes.
///
/// Readers have no accounts: they send a code of the site's token for this host and the archive (``SiteSecret``). Every
/// request is checked here, whatever its path looked like to ``AccessMiddleware``.
struct ArchivesAPI {
    static let path = "api/v1/archives"
    /// Maximum size of a key: `SESSION/SOURCE/NAME`, and one more name.
    private static let maximumKeyBytes = 512
    /// Maximum size of a request body: the longest text of a mark with each byte escaped, and the other members.
    private static let maximumBodyBytes = 4_096
    /// The longest name and note, and some hundred tags.
    private static let maximumEditBytes = 32 << 10

    let site: ViewerSite
    let commands: CollectorCommands
    /// Nil: nothing is served.
    let tokens: SiteTokens?
    let access: Access

    /// A page of the files of a session or a source, or of the names of all sessions.
    func list(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let archive = try admitted(request, context)
        let query = try RequestQuery(request, ["prefix", "after", "folders"])
        guard
            let folder = ArchiveObjects.Folder(
                prefix: query["prefix"] ?? "", folders: query["folders"] != nil)
        else {
            throw Problem(
                .badRequest,
                "'prefix' must be SESSION/ or SESSION/SOURCE/, or empty with folders=true")
        }
        let after = query["after"]
        guard after?.utf8.count ?? 0 <= Self.maximumKeyBytes else {
            throw Problem(.badRequest, "'after' is longer than \(Self.maximumKeyBytes) bytes")
        }
        // A large directory is read as a whole for each page.
        let page = try await site.runHeavy(for: context.workOwner) {
            try await reading(folder.session) { reference in
                try Self.objects(of: archive, in: reference).list(folder, after: after)
            }
        }
        return try .json(ViewerObjects(page))
    }

    /// A file, or a range of it. `If-Match` names the version that was listed.
    func object(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let archive = try admitted(request, context)
        let query = try RequestQuery(request, ["key"])
        guard let key = ArchiveObjects.Key(query["key"] ?? "") else {
            throw Problem(.notFound, "an archive has no such file")
        }
        let tag = request.headers[.ifMatch]
        let opening = try await reading(key.session) { reference in
            try Self.objects(of: archive, in: reference).open(key, tag: tag)
        }
        switch opening {
        case .absent: throw Problem(.notFound, "there is no such file")
        case .changed: throw Problem(.preconditionFailed, "the file was replaced")
        case .object(let object):
            return ReadingThreads.$place.withValue(Self.place(key.session)) {
                FileAnswer(
                    file: ServedObject(object: object), contentType: "application/octet-stream",
                    tag: object.tag
                ).response(to: request, in: site.threads)
            }
        }
    }

    // MARK: Marks

    /// Sets a mark of a session, as `tributary mark` does on this machine. A repeated request changes nothing.
    func addMark(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let archive = try admitted(request, context, to: .marking)
        let session = try Self.session(request)
        let body: ViewerMark = try await request.decoded(limit: Self.maximumBodyBytes)
        let (layout, mark) = try await reading(session) { reference in
            let layout = try Self.layout(of: archive, in: reference)
            return (layout, try Self.mark(body, session, layout))
        }
        var change = SessionChange(of: session)
        change.addedMarks = [
            SessionChange.Mark(
                id: mark.id, atNanoseconds: mark.atNanoseconds, text: mark.text,
                source: mark.source)
        ]
        try await ask(change, in: layout, "mark", context)
        return try .json(
            ViewerMark(
                id: mark.id, atNanoseconds: mark.atNanoseconds, text: mark.text,
                source: mark.source), status: .created)
    }

    /// Removes a mark; one that is not there is no error.
    func removeMark(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let archive = try admitted(request, context, to: .marking)
        let session = try Self.session(request)
        let id = context.parameters.get("mark") ?? ""
        guard SessionMarks.Mark.isIdentity(id) else { throw Problem(.badRequest, "no mark's id") }
        let (layout, isThere) = try await reading(session) { reference in
            let layout = try Self.layout(of: archive, in: reference)
            let library = try Self.library(of: session, layout)
            return (layout, library.marks(session).marks.contains { $0.id == id })
        }
        if isThere {
            var change = SessionChange(of: session)
            change.removedMarks = [id]
            try await ask(change, in: layout, "remove a mark of", context)
        }
        return Response(status: .noContent)
    }

    // MARK: Labels

    /// Changes labels and the protection of a session. A repeated request changes nothing.
    func edit(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let archive = try admitted(request, context, to: .editing)
        let session = try Self.session(request)
        let body: ViewerEdit = try await request.decoded(limit: Self.maximumEditBytes)
        do throws(SessionEdit.Flaw) {
            _ = try SessionEdit(
                name: body.name, note: body.note, addedTags: body.addTags ?? [],
                removedTags: body.removeTags ?? [])
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        guard body != ViewerEdit() else { throw Problem(.badRequest, "the body changes nothing") }
        let layout = try await reading(session) { reference in
            let layout = try Self.layout(of: archive, in: reference)
            _ = try Self.library(of: session, layout)
            return layout
        }
        var change = SessionChange(of: session)
        change.name = body.name
        change.note = body.note
        change.addedTags = body.addTags ?? []
        change.removedTags = body.removeTags ?? []
        change.isProtected = body.isProtected
        try await ask(change, in: layout, "change", context)
        return Response(status: .noContent)
    }

    private static func session(_ request: Request) throws(Problem) -> String {
        let session = try RequestQuery(request, ["session"])["session"] ?? ""
        guard ArchiveLayout.isValidName(session) else {
            throw Problem(.badRequest, "'session' must be a session's name")
        }
        return session
    }

    /// The archive, where it has the session.
    /// - Throws: 410 otherwise: 404 is the answer of viewers of versions that set no marks.
    private static func library(
        of session: String, _ layout: ArchiveLayout
    ) throws -> RecordingLibrary {
        let library = try RecordingLibrary(readingOnly: layout.root) { _ in }
        guard try library.hasSession(session) else {
            throw Problem(.gone, "there is no such session")
        }
        return library
    }

    /// The mark with its time. Without a requested time, an existing mark keeps its own.
    private static func mark(
        _ body: ViewerMark, _ session: String, _ layout: ArchiveLayout
    ) throws -> SessionMarks.Mark {
        let library = try library(of: session, layout)
        let manifest = try library.manifest(session)
        let moment: Int64
        if let at = body.atNanoseconds {
            moment = at
        } else if let known = library.marks(session).marks.first(where: { $0.id == body.id }) {
            moment = known.atNanoseconds
        } else if manifest.state == .recording {
            moment = SystemClock.utc.nowNanoseconds.clampedSubtracting(
                manifest.zeroTime.nanoseconds)
        } else {
            throw Problem(
                .unprocessableContent, "the session is not being recorded: give 'atSeconds'")
        }
        let mark = SessionMarks.Mark(
            id: body.id, atNanoseconds: moment, text: body.text, source: body.source)
        do throws(SessionEdit.Flaw) {
            _ = try SessionEdit(addedMarks: [mark])
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        return mark
    }

    /// Has the archive's collector change a session.
    private func ask(
        _ change: SessionChange, in layout: ArchiveLayout, _ verb: String,
        _ context: ViewerContext
    ) async throws {
        let line = "a reader of the site at \(context.remoteAddress): \(verb) \(change.session)"
        defer { site.forgetListings() }
        do {
            _ = try await commands.ask(
                .changeSession(change), about: .session(change.session), in: layout.root)
            site.logger.notice("\(line): done")
        } catch let problem as Problem {
            site.logger.notice("\(line): not done (\(problem.status.code)): \(problem.text)")
            throw problem.status == .notFound ? Problem(.gone, problem.text) : problem
        } catch {
            site.logger.notice("\(line): sent, and not waited for")
            throw error
        }
    }

    // MARK: Requests

    /// Checks a reader's code.
    /// - Returns: the identity of the archive that it is for.
    /// - Throws: 401, 429 with the limits of other wrong tokens; 404 without a token.
    private func admitted(
        _ request: Request, _ context: ViewerContext, to purpose: SiteSecret.Purpose = .reading
    ) throws -> String {
        guard let tokens else {
            throw Problem(
                .notFound,
                "this viewer serves no archives to other readers: start it with --site-token-file")
        }
        let archive = context.parameters.get("archive") ?? ""
        let code = Access.bearerToken(request.headers[.authorization])
        guard let code, let host = RequestHost.text(of: request.head),
            tokens.admits(code, for: host, archive: archive, purpose)
        else {
            throw AccessMiddleware.problem(
                access.refusal(ofReaderFrom: context.remoteAddress, now: .now()))
        }
        return archive
    }

    /// Reads on one of the reading threads. The scheduling key differs from the page's, so that readers of the site and of the
    /// page wait for a hung session separately.
    private func reading<Result: Sendable>(
        _ session: String?, _ work: @escaping @Sendable (ArchiveReference) throws -> Result
    ) async throws -> Result {
        try await ReadingThreads.$place.withValue(Self.place(session)) {
            let reference = site.archive
            return try await site.run { try work(reference) }
        }
    }

    private static func place(_ session: String?) -> String { "site/\(session ?? "")" }

    /// The files of an archive with a directory on this machine.
    private static func objects(
        of archive: String, in reference: ArchiveReference
    ) throws -> ArchiveObjects { ArchiveObjects(try layout(of: archive, in: reference)) }

    /// The directory of an archive on this machine.
    private static func layout(
        of archive: String, in reference: ArchiveReference
    ) throws -> ArchiveLayout {
        for layout in ([reference] + reference.members).compactMap(\.layout)
        where try ArchiveIdentity.read(layout)?.text == archive {
            return layout
        }
        throw Problem(.notFound, "this viewer has no such archive on its disk")
    }
}

/// A version of an archive's file.
private struct ServedObject: VirtualFile {
    let object: ArchiveObjects.Object

    var sizeBytes: Int64 { object.sizeBytes }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try object.file.read(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        object.file.readCached(at: offset, into: buffer)
    }

    func extents(_ range: Range<Int64>) -> [FileExtent]? {
        object.file.localDescriptor.map { [FileExtent(descriptor: $0, range: range)] }
    }
}
