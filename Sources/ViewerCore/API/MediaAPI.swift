import Accounts
import Archive
import ExportCore
import HTTPTypes
import Hummingbird
import Library
import Media
import NIOCore
import Recordings

/// Media of one source: a range as one MP4, and single pictures.
struct MediaAPI {
    /// From thumbnails to full size.
    private static let widths = 16...8_192
    /// The value of `at` for the newest picture of a source that is being recorded.
    private static let live = "live"
    /// Maximum number of files in one archive: the tiles of a page.
    private static let maximumFiles = 16

    let site: ViewerSite

    func movie(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(
            request, SignedLink.addedNames.union(["from", "until", "download"]))
        let session = try context.name("session")
        let name = try context.source()
        let clip = try await clip(of: name, in: session, query, for: context.workOwner)
        let movie = clip.movie
        let answer = FileAnswer(file: movie, contentType: "video/mp4", tag: movie.tag.description)
        var response = answer.response(to: request, in: site.threads)
        if query["download"] != nil {
            let file = ClipName(
                session: session, what: name, fromNanoseconds: clip.fromNanoseconds,
                untilNanoseconds: clip.untilNanoseconds)
            response.headers[.contentDisposition] = "attachment; filename=\"\(file)\""
        }
        return response
    }

    /// Sources of a session as separate files in one archive.
    func archive(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["sources", "from", "until"])
        let session = try context.name("session")
        guard let names = try query.sources("sources"), names.count <= Self.maximumFiles,
            Set(names).count == names.count
        else {
            throw Problem(
                .badRequest, "'sources' must be up to \(Self.maximumFiles) different names: a,b,c")
        }
        if let other = names.first(where: { !context.rights.mayRead($0) }) {
            throw Problem(.notFound, "no source '\(other)' in \(session)")
        }
        let known = try await site.read { library in
            Set(try library.recording(session).sources.map(\.name))
        }
        if let other = names.first(where: { !known.contains($0) }) {
            throw Problem(.notFound, "no source '\(other)' in \(session)")
        }
        var parts: [ZipAnswer.Part] = []
        var absence: Problem?
        var range: (from: Int64?, until: Int64?) = (nil, nil)
        for name in names {
            do {
                let clip = try await clip(of: name, in: session, query, for: context.workOwner)
                range = (clip.fromNanoseconds, clip.untilNanoseconds)
                parts.append(clip.part(of: name, in: session))
            } catch let problem as Problem
                where problem.status == .notFound || problem.status == .gone
            {
                // The ZIP gets a text file instead of a missing source.
                absence = problem
                let note = MemoryFile(bytes: Array("\(problem.text)\n".utf8))
                parts.append(
                    ZipAnswer.Part(
                        entry: ZipArchive.Entry(
                            name: "\(session)_\(name)_nothing.txt", sizeBytes: note.sizeBytes,
                            modified: UTCTime(sessionName: session)
                                ?? UTCTime(nanoseconds: 0)), file: note))
            }
        }
        if let absence, parts.allSatisfy({ $0.file is MemoryFile }) { throw absence }
        let file = ClipName(
            session: session, what: ClipName.names(of: names), fromNanoseconds: range.from,
            untilNanoseconds: range.until, ending: "zip")
        var headers = HTTPFields()
        headers[.contentType] = "application/zip"
        headers[.cacheControl] = "no-store"
        headers[.contentDisposition] = "attachment; filename=\"\(file)\""
        return Response(
            status: .ok, headers: headers,
            body: ZipAnswer(parts: parts).body(in: site.threads, hasBody: request.method == .get))
    }

    /// A range of a source, read by one answer.
    private struct Clip {
        var movie: MovieReading
        var zero: UTCTime
        /// As requested.
        var fromNanoseconds: Int64?
        var untilNanoseconds: Int64?

        func part(of source: String, in session: String) -> ZipAnswer.Part {
            let name = ClipName(
                session: session, what: source, fromNanoseconds: fromNanoseconds,
                untilNanoseconds: untilNanoseconds)
            return ZipAnswer.Part(
                entry: ZipArchive.Entry(
                    name: "\(name)", sizeBytes: movie.sizeBytes,
                    modified: zero.advanced(by: fromNanoseconds ?? 0)), file: movie)
        }
    }

    /// The range of a query.
    /// - Throws: 404 with the cause if nothing is recorded in it; 410 if it was removed.
    private func clip(
        of name: String, in session: String, _ query: RequestQuery, for owner: WorkOwner
    ) async throws -> Clip {
        let states = site.fileStates
        let (key, range) = try await site.read { library -> (MovieCache.Key, ExportRange) in
            let recording = try library.recording(session)
            guard let source = recording.source(name) else {
                throw Problem(.notFound, "no source '\(name)' in \(session)")
            }
            let part = try query.range(zero: recording.zero)
            let key = MovieCache.Key(
                session: session, source: name, fromNanoseconds: part.from,
                untilNanoseconds: part.until,
                state: try library.state(
                    of: SourceKey(session: session, source: name), from: part.from,
                    until: part.until, remembering: states))
            return (
                key,
                ExportRange(
                    source: source, sessionZero: recording.zero, startNanoseconds: part.from,
                    endNanoseconds: part.until)
            )
        }
        // An empty clip would be a still of the picture before it.
        if let problem = try await missing(
            key.fromNanoseconds, key.untilNanoseconds, of: name, in: session)
        {
            throw problem
        }
        return Clip(
            movie: try await reading(key, of: range, for: owner), zero: range.sessionZero,
            fromNanoseconds: key.fromNanoseconds, untilNanoseconds: key.untilNanoseconds)
    }

    /// The reason why a range is empty; nil: something is recorded in it after all.
    private func missing(
        _ from: Int64?, _ until: Int64?, of name: String, in session: String
    ) async throws -> Problem? {
        let memory = site.coverage
        return try await site.read { library in
            let range = (from ?? .min)...max(from ?? .min, (until ?? .max).clampedSubtracting(1))
            return try library.missing(range, of: name, in: session, remembering: memory)
                .map { Problem($0, asking: "clip") }
        }
    }

    /// A cached movie, or a new one after waiting for a slot.
    private func reading(
        _ key: MovieCache.Key, of range: ExportRange, for owner: WorkOwner
    ) async throws -> MovieReading {
        let movies = site.movies
        if let known = try movies.known(key) { return known }
        return try await site.runHeavy(for: owner) {
            try await site.run { try movies.movie(key) { try VirtualMovie(range) } }
        }
    }

    func picture(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(
            request, SignedLink.addedNames.union(["at", "nearest", "width"]))
        let session = try context.name("session")
        let name = try context.source()
        guard query["nearest"] ?? "yes" == "yes" else {
            throw Problem(.badRequest, "'nearest' must be yes, or is left out")
        }
        let (isNearest, memory) = (query["nearest"] != nil, site.coverage)
        if query["at"] == Self.live {
            return try await newestPicture(request, context, query, of: name, in: session)
        }
        do {
            return try await picture(request, context, query, of: name, in: session) {
                library, zero in
                guard let at = try query.moment("at", zero: zero) else { return nil }
                let missing = try library.missing(
                    at...at, of: name, in: session, remembering: memory)
                guard let missing else { return at }
                if isNearest { return missing.nearest(to: at) }
                // Recorded sound may begin before the first picture, whose time the extraction reports.
                guard missing.isBeforeBeginning else { throw Problem(missing, asking: "picture") }
                return at
            }
        } catch let problem as Problem where isNearest && problem.status == .notFound {
            // Before the first picture, there may be sound.
            return try await picture(request, context, query, of: name, in: session) { _, _ in nil }
        }
    }

    /// The newest picture of a source that is being recorded.
    func newestPicture(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, SignedLink.addedNames.union(["at", "width"]))
        guard query["at"] ?? Self.live == Self.live else {
            throw Problem(
                .badRequest,
                "'at' must be '\(Self.live)' here: recorded pictures are below /api/v1/sessions")
        }
        return try await newestPicture(request, context, query, of: context.source(), in: nil)
    }

    /// - Parameter session: nil: the session that is being recorded.
    private func newestPicture(
        _ request: Request, _ context: ViewerContext, _ query: RequestQuery, of name: String,
        in session: String?
    ) async throws -> Response {
        let memory = site.coverage
        let (recorded, end) = try await site.read { library -> (String, PresentEnd) in
            guard let present = try library.sessionBeingRecorded(), session ?? present == present,
                let end = try library.presentEnd(
                    of: name, in: present, remembering: memory,
                    now: SystemClock.utc.nowNanoseconds)
            else { throw Problem(.notFound, "'\(name)' is not being recorded") }
            return (present, end)
        }
        var response = try await picture(
            request, context, query, of: name, in: recorded,
            notBefore: end.oldestPictureNanoseconds
        ) { _, _ in end.endNanoseconds - 1 }
        response.headers[.cacheControl] = "no-store"
        return response
    }

    /// - Parameters:
    ///   - oldest: 404 for a picture before this session time, nanoseconds.
    ///   - instant: nanoseconds of session time, from the library and the session's zero; nil: the first picture.
    private func picture(
        _ request: Request, _ context: ViewerContext, _ query: RequestQuery, of name: String,
        in session: String, notBefore oldest: Int64 = .min,
        at instant: @escaping @Sendable (RecordingLibrary, UTCTime) throws -> Int64?
    ) async throws -> Response {
        let width = try query.number("width", in: Self.widths) ?? Self.widths.upperBound
        let pictures = site.pictures
        let wanted = try await site.read { library -> (PictureCache.Key, ExportRange) in
            let recording = try library.recording(session)
            guard let source = recording.source(name) else {
                throw Problem(.notFound, "no source '\(name)' in \(session)")
            }
            let at = try instant(library, recording.zero)
            return (
                try PictureCache.Key(
                    source, session: session, atNanoseconds: at, width: width),
                ExportRange(
                    source: source, sessionZero: recording.zero, startNanoseconds: at,
                    tracks: [.video])
            )
        }
        let (key, range) = wanted
        let picture: PictureCache.Picture
        if let known = pictures.picture(key) {
            picture = known
        } else {
            picture = try await site.runHeavy(for: context.workOwner) {
                try await site.read { _ in
                    let (bytes, at) = try PictureExtraction.jpeg(range, maximumWidth: width)
                    return PictureCache.Picture(bytes: bytes, atNanoseconds: at)
                }
            }
            pictures.keep(picture, for: key)
        }
        guard picture.atNanoseconds >= oldest else {
            throw Problem(.notFound, "'\(name)' has sound, but no pictures at present")
        }
        let tag = Digest(of: picture.bytes).description
        let answer = FileAnswer(
            file: MemoryFile(bytes: picture.bytes), contentType: "image/jpeg", tag: tag)
        var response = answer.response(to: request, in: site.threads)
        if let name = HTTPField.Name("X-Tributary-At") {
            response.headers[name] = "\(Double(picture.atNanoseconds) / 1e9)"
        }
        return response
    }
}

extension Problem {
    /// A range without recorded samples.
    /// - Parameter what: the requested object, as for ``MissingRange/text(asking:)``.
    fileprivate init(_ missing: MissingRange, asking what: String) {
        self.init(missing.isRemoved ? .gone : .notFound, missing.text(asking: what))
    }
}

/// Bytes in memory.
struct MemoryFile: VirtualFile {
    let bytes: [UInt8]
    var sizeBytes: Int64 { Int64(bytes.count) }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        readCached(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset >= 0, offset < sizeBytes else { return 0 }
        return bytes.withUnsafeBytes { bytes in
            let part = bytes[Int(offset)...].prefix(buffer.count)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
            return part.count
        }
    }
}
