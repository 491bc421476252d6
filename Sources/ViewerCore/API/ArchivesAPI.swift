import Accounts
import Archive
import HTTPTypes
import Hummingbird
import Library
import ObjectStore
import Recordings

/// The archives on this machine's disk, as objects for other readers of the site: lists of files, and ranges of their bytes.
///
/// Readers have no accounts: they send a code of the site's secret for this host and the archive (``SiteSecret``). Every
/// request is checked here, whatever its path looked like to ``AccessMiddleware``.
struct ArchivesAPI {
    static let path = "api/v1/archives"
    /// `SESSION/SOURCE/NAME`, and a name more.
    private static let maximumKeyBytes = 512

    let site: ViewerSite
    /// Nil: nothing is served.
    let secret: SiteSecret?
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

    /// Checks a reader's code.
    /// - Returns: the identity of the archive that it may read.
    /// - Throws: 401, 429 with the limits of other wrong tokens; 404 without a secret.
    private func admitted(_ request: Request, _ context: ViewerContext) throws -> String {
        guard let secret else {
            throw Problem(
                .notFound,
                "this viewer serves no archives to other readers: start it with --site-token-file")
        }
        let archive = context.parameters.get("archive") ?? ""
        let code = Access.bearerToken(request.headers[.authorization])
        guard let code, let host = RequestHost.text(of: request.head),
            secret.admits(code, for: host, archive: archive)
        else {
            throw AccessMiddleware.problem(
                access.refusal(ofReaderFrom: context.remoteAddress, now: .now()))
        }
        return archive
    }

    /// Reads on one of the reading threads. Sessions are places of their own here, so that readers of the site and of the page wait
    /// for a hung one separately.
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
    ) throws -> ArchiveObjects {
        for layout in ([reference] + reference.members).compactMap(\.layout)
        where try ArchiveIdentity.read(layout)?.text == archive {
            return ArchiveObjects(layout)
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
