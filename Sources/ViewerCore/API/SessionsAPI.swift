import Accounts
import Archive
import HTTPTypes
import Hummingbird
import JSON
import Library
import Media
import Recordings
import Terminal

/// Sessions as JSON: lists, details, segments, gaps and coverage.
struct SessionsAPI {
    /// Default number of sessions in a response.
    private static let pageSize = 100
    private static let maximumPageSize = 1_000
    /// Default: the width of a screen.
    private static let usualPixels = 2_000

    /// A clock is read from every fragment of its range: the numbers of a day are a few megabytes.
    private static let maximumClockNanoseconds: Int64 = 86_400_000_000_000

    let site: ViewerSite

    /// A page of sessions.
    private struct Page: Encodable {
        var sessions: [SessionListing]
        /// The parameter `after` for the next page; nil on the last page.
        var next: String?

        /// The first sessions of a list.
        init(_ sessions: [SessionListing], limit: Int) {
            self.sessions = Array(sessions.prefix(limit))
            next = sessions.count > limit ? self.sessions.last?.session : nil
        }
    }

    func list(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until", "limit", "after", "tag", "order"])
        let from = try query.instant("from")
        let until = try query.instant("until")
        if let from, let until, from > until {
            throw Problem(.badRequest, "'until' must be later than 'from'")
        }
        let limit = try query.number("limit", in: 1...Self.maximumPageSize) ?? Self.pageSize
        let isNewestFirst: Bool
        switch query["order"] {
        case nil, "oldest": isNewestFirst = false
        case "newest": isNewestFirst = true
        default: throw Problem(.badRequest, "'order' must be oldest or newest")
        }
        let after = query["after"]
        let tags = query["tag"].map { [$0] } ?? []
        let rights = context.rights
        let page = try await site.read { library -> Page in
            var sessions = try library.sessions(from: from, until: until, tags: tags)
            if isNewestFirst { sessions.reverse() }
            if let after {
                sessions = sessions.filter {
                    isNewestFirst ? $0.session < after : $0.session > after
                }
            }
            guard !rights.mayReadEverything else { return Page(sessions, limit: limit) }
            // A session without permitted sources does not exist for the account.
            var own: [SessionListing] = []
            for listing in sessions where own.count <= limit {
                let narrowed = try library.narrowed(
                    listing, from: from, until: until, where: rights.mayRead)
                if let narrowed { own.append(narrowed) }
            }
            return Page(own, limit: limit)
        }
        return try .json(page)
    }

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let rights = context.rights
        let name = try context.name("session")
        return try .json(
            await site.read { library in
                try library.sources(of: name, for: rights)
                var overview = try library.overview(of: name)
                overview.narrow(where: rights.mayRead)
                return overview
            })
    }

    func segments(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until", "source"])
        let name = try context.name("session")
        let rights = context.rights
        let source = query["source"]
        return try .json(
            await site.read { library in
                try library.sources(of: name, for: rights, naming: source.map { [$0] })
                let zero = try library.manifest(name).zeroTime
                let range = try query.range(zero: zero)
                let segments = try library.segments(
                    of: name, from: range.from.map { zero.advanced(by: $0).nanoseconds },
                    until: range.until.map { zero.advanced(by: $0).nanoseconds },
                    where: { rights.mayRead($0) && source ?? $0 == $0 })
                return segments.map { segment in
                    var segment = segment
                    // Does not reveal the archive's path on the server.
                    segment.path = "\(name)/\(segment.source)/\(segment.segment)"
                    return segment
                }
            })
    }

    /// Marks of the sources that this user may see, and those without a source.
    func marks(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let name = try context.name("session")
        let rights = context.rights
        return try .json(
            await site.read { library in
                try library.sources(of: name, for: rights)
                let zero = try library.manifest(name).zeroTime
                return library.marks(name).marks.filter { $0.source.map(rights.mayRead) ?? true }
                    .map { MarkListing($0, zero: zero) }
            })
    }

    func gaps(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until"])
        let name = try context.name("session")
        let sourceName = try context.source()
        return try .json(
            await site.read { library in
                let recording = try library.recording(name)
                let range = try query.range(zero: recording.zero)
                let (from, until) = (range.from ?? .min, range.until ?? .max)
                guard let source = recording.source(sourceName) else {
                    throw Problem(.notFound, "no source '\(sourceName)' in \(name)")
                }
                return try source.gaps().filter {
                    ($0.startNanoseconds ?? from) < until && ($0.endNanoseconds ?? .max) > from
                }
            })
    }

    func clock(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until"])
        let name = try context.name("session")
        let sourceName = try context.source()
        // Reading a clock occupies a thread for seconds.
        let clock = try await site.runHeavy(for: context.workOwner) {
            try await site.read { library in
                let recording = try library.recording(name)
                let range = try query.range(zero: recording.zero)
                guard let source = recording.source(sourceName) else {
                    throw Problem(.notFound, "no source '\(sourceName)' in \(name)")
                }
                let files = source.files(from: range.from, until: range.until)
                if let first = files.first, let last = files.last,
                    last.originNanoseconds.clampedSubtracting(first.originNanoseconds)
                        > Self.maximumClockNanoseconds
                {
                    throw Problem(
                        .contentTooLarge,
                        "the range is too long: ask for a day at most, with 'from' and 'until'")
                }
                return try source.clock(in: files)
            }
        }
        return try .json(clock)
    }

    func coverage(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until", "pixels", "sources"])
        let name = try context.name("session")
        let pixels = try query.number("pixels", in: 1...SourceCoverage.maximumParts)
        let wanted = try query.sources("sources")
        let (rights, memory) = (context.rights, site.coverage)
        return try .json(
            await site.read { library in
                try library.sources(of: name, for: rights, naming: wanted)
                let range = try query.range(zero: library.manifest(name).zeroTime)
                return try library.coverage(
                    of: name, sources: wanted, from: range.from, until: range.until,
                    pixels: pixels ?? Self.usualPixels, remembering: memory,
                    where: rights.mayRead)
            })
    }
}

extension SessionsAPI {
    /// Recorded times of each source over all sessions.
    func recorded(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["from", "until", "pixels"])
        guard let from = try query.instant("from"), let until = try query.instant("until"),
            from < until
        else { throw Problem(.badRequest, "give 'from' and a later 'until'") }
        let length = until.clampedSubtracting(from)
        guard length <= SourceRecord.maximumNanoseconds else {
            throw Problem(.badRequest, "'from' and 'until' must be at most 64 days apart")
        }
        let pixels = try query.number("pixels", in: 1...SourceCoverage.maximumParts)
        let (rights, memory) = (context.rights, site.coverage)
        // Checks the files of a day's sessions.
        let records = try await site.runHeavy(for: context.workOwner) {
            try await site.read { library in
                try library.recorded(
                    in: from..<until,
                    resolutionNanoseconds: length / Int64(pixels ?? Self.usualPixels),
                    remembering: memory, where: rights.mayRead)
            }
        }
        guard let records else {
            throw Problem(.contentTooLarge, "too much was recorded: ask for a shorter time")
        }
        return try .json(records)
    }
}

extension Response {
    /// A value as JSON, in the units of all our JSON.
    static func json(_ value: some Encodable, status: HTTPResponse.Status = .ok) throws -> Response
    {
        var headers = HTTPFields()
        headers[.contentType] = "application/json"
        headers[.cacheControl] = "no-store"
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: try JSONOutput.text(value) + "\n")))
    }
}
