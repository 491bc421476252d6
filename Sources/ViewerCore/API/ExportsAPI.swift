import Accounts
import Archive
import HTTPTypes
import Hummingbird
import JSON
import Library
import Media
import NIOCore
import Recordings
import Terminal

/// Export jobs: create, follow, download, cancel.
struct ExportsAPI {
    private static let maximumBodyBytes = 16 << 10
    private static let maximumSources = 16

    let site: ViewerSite
    let queue: ExportQueue

    /// A requested export.
    private struct Body: Decodable {
        var session: String
        var sources: [String]
        /// Session time or UTC.
        var from: String?
        var until: String?
        var layout: ExportRequest.Layout?
        var burnsTime: Bool?
    }

    private struct Job: Encodable {
        var id: String
        var session: String
        var sources: [String]
        var layout: String
        var burnsTime: Bool
        /// Session time; nil: the beginning, and the end.
        var fromSeconds: Double?
        var untilSeconds: Double?
        var state: ExportJob.State
        var fraction: Double
        var sizeBytes: Int64
        var failure: String?
        /// Its address when it is done.
        var file: String?

        init(_ job: ExportJob) {
            id = job.id
            session = job.request.session
            sources = job.request.sources
            layout = job.request.layout.rawValue
            burnsTime = job.request.burnsTime
            fromSeconds = job.request.fromNanoseconds.map { Double($0) / 1e9 }
            untilSeconds = job.request.untilNanoseconds.map { Double($0) / 1e9 }
            state = job.state
            fraction = job.fraction
            sizeBytes = job.sizeBytes
            failure = job.failure
            file = job.state == .done ? "/api/v1/exports/\(job.id)/file" : nil
        }
    }

    /// A job, as sent in the event stream.
    static func event(_ job: ExportJob) throws -> String {
        EventLog.line(Array(try JSONOutput.text(Job(job)).utf8))
    }

    func add(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let body: Body = try await request.decoded(limit: Self.maximumBodyBytes)
        let layout = body.layout ?? .passthrough
        let count = layout == .passthrough ? 1...1 : 1...Self.maximumSources
        guard count.contains(body.sources.count),
            Set(body.sources).count == body.sources.count
        else {
            throw Problem(
                .badRequest,
                layout == .passthrough
                    ? "'sources' must be one name: use the layout files or grid for several"
                    : "'sources' must be up to \(Self.maximumSources) different names")
        }
        if let other = body.sources.first(where: { !context.rights.mayRead($0) }) {
            throw Problem(.notFound, "no source '\(other)'")
        }
        let session = try await Endpoints.session(body.session, of: site, for: context.rights)
        let export = try await site.read { library -> ExportRequest in
            let recording = try library.recording(session)
            if let other = body.sources.first(where: { recording.source($0) == nil }) {
                throw Problem(.notFound, "no source '\(other)' in \(session)")
            }
            let part = try RequestQuery.Range(
                from: RequestQuery.moment(body.from, "from", zero: recording.zero),
                until: RequestQuery.moment(body.until, "until", zero: recording.zero))
            return ExportRequest(
                session: session, sources: body.sources, fromNanoseconds: part.from,
                untilNanoseconds: part.until, layout: layout, burnsTime: body.burnsTime ?? false)
        }
        let now = SystemClock.monotonic.nowNanoseconds
        switch queue.add(export, for: context.identity, now: now) {
        case .taken(let job): return try .json(Job(job), status: .accepted)
        case .full:
            throw Problem(.serviceUnavailable, "too many exports are waiting: try again")
        case .fullForAccount:
            throw Problem(
                .tooManyRequests,
                "\(ExportQueue.maximumOfAccount) of your exports have not ended: wait, or end one")
        }
    }

    func list(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        return try .json(
            queue.jobs().filter { $0.isFor(context.identity, context.rights) }.map { Job($0) })
    }

    func show(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        return try .json(Job(try job(context)))
    }

    func remove(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        _ = queue.remove(try job(context).id)
        return Response(status: .noContent)
    }

    func file(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let job = try job(context)
        guard job.state == .done else {
            throw Problem(.conflict, "the export is \(job.state.rawValue)")
        }
        let path = queue.path(job.id)
        let file = try await site.run { () throws -> StoredExport in
            do throws(ArchiveError) {
                return try StoredExport(path)
            } catch {
                guard error.isForAbsence else { throw error }
                throw Problem(.notFound, "there is no such export, or not any more")
            }
        }
        var response = FileAnswer(file: file, contentType: job.contentType, tag: job.id).response(
            to: request, in: site.threads)
        response.headers[.contentDisposition] = "attachment; filename=\"\(job.fileName)\""
        return response
    }

    private func job(_ context: ViewerContext) throws(Problem) -> ExportJob {
        guard let job = queue.job(context.parameters.get("export") ?? ""),
            job.isFor(context.identity, context.rights)
        else { throw Problem(.notFound, "there is no such export, or not any more") }
        return job
    }
}

private struct StoredExport: VirtualFile {
    let sizeBytes: Int64
    private let file: LocalFile

    init(_ path: String) throws(ArchiveError) {
        file = try LocalFile(opening: path)
        sizeBytes = try file.sizeBytes()
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try file.read(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        file.readCached(at: offset, into: buffer)
    }

    func extents(_ range: Range<Int64>) -> [FileExtent]? {
        file.localDescriptor.map { [FileExtent(descriptor: $0, range: range)] }
    }
}
