import Accounts
import Archive
import Control
import HTTPTypes
import Hummingbird
import Library
import Logging
import Media
import NIOCore
import Recordings
import Wire

/// Changes by operators, to sessions and to captures of agents. The collector performs them, for marks and labels in a site each
/// collector that has the session; the log names the account.
struct OperatorAPI {
    /// Half of the limit of the collector's socket.
    private static let maximumBodyBytes = 32 << 10

    let site: ViewerSite
    let commands: CollectorCommands
    /// Nil: there is no site.
    let siteOperator: SiteOperator?

    // MARK: Sessions

    /// A change of a session; absent members stay unchanged.
    private struct Edit: Decodable {
        var name: String?
        var note: String?
        var addTags: [String]?
        var removeTags: [String]?
        var isProtected: Bool?
    }

    func edit(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try await operated(context)
        let body: Edit = try await request.decoded(limit: Self.maximumBodyBytes)
        let edit: SessionEdit
        do throws(SessionEdit.Flaw) {
            edit = try SessionEdit(
                name: body.name, note: body.note, addedTags: body.addTags ?? [],
                removedTags: body.removeTags ?? [], isProtected: body.isProtected)
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        var change = SessionChange(of: session)
        change.name = body.name
        change.note = body.note
        change.addedTags = body.addTags ?? []
        change.removedTags = body.removeTags ?? []
        change.isProtected = body.isProtected
        guard change != SessionChange(of: session) else {
            throw Problem(.badRequest, "the body changes nothing")
        }
        if let siteOperator {
            let names = try await names(of: session)
            try await logged("change", .session(session), context) {
                try await siteOperator.change(edit, of: names)
            }
        } else {
            try await ask(.changeSession(change), .session(session), "change", context)
        }
        let rights = context.rights
        return try .json(
            await site.read { library in
                var overview = try library.overview(of: session)
                overview.narrow(where: rights.mayRead)
                return overview
            })
    }

    func remove(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try await operated(context)
        var change = SessionChange(of: session)
        change.isRemoval = true
        try await ask(.changeSession(change), .session(session), "remove", context)
        return Response(status: .noContent)
    }

    /// A session that was ended.
    private struct Stopped: Encodable {
        var session: String
        var durationNanoseconds: Int64
    }

    func stop(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try await operated(context)
        let reply = try await ask(.stopSession(session), .session(session), "stop", context)
        guard case .sessionStopped(let stopped) = reply else { throw Self.unexpected }
        return try .json(
            Stopped(session: stopped.name, durationNanoseconds: stopped.durationNanoseconds))
    }

    // MARK: Marks

    /// A requested mark.
    private struct MarkRequest: Decodable {
        /// Nil: the one being recorded.
        var session: String?
        /// Session time or UTC; nil: now.
        var at: Moment?
        var text: String
        var source: String?
    }

    /// A time in a body: seconds of session time as a number, or a text as in URLs.
    private enum Moment: Decodable {
        /// No recording has more than thirty years of session time.
        private static let maximumSeconds = 1e9

        case seconds(Double)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do {
                self = .seconds(try container.decode(Double.self))
            } catch {
                self = .text(try container.decode(String.self))
            }
        }

        func sessionNanoseconds(zero: UTCTime) throws(Problem) -> Int64? {
            switch self {
            case .text(let text): return try RequestQuery.moment(text, "at", zero: zero)
            case .seconds(let seconds):
                guard seconds.magnitude <= Self.maximumSeconds else {
                    throw Problem(.badRequest, "'at' is further away than any recording")
                }
                return Int64((seconds * 1e9).rounded())
            }
        }
    }

    func addMark(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let body: MarkRequest = try await request.decoded(limit: Self.maximumBodyBytes)
        let rights = context.rights
        var named: String?
        if let name = body.session {
            named = try await Endpoints.session(name, of: site, for: rights)
        }
        let (session, mark, zero) = try await site.read { [named] library in
            let session = try named ?? library.sessionBeingRecorded()
            guard let session else {
                throw Problem(.notFound, "no session is being recorded: give 'session' and 'at'")
            }
            let sources = try library.sources(of: session, for: rights)
            if let source = body.source, !sources.contains(source) || !rights.mayRead(source) {
                throw Problem(.notFound, "no source '\(source)' in \(session)")
            }
            let manifest = try library.manifest(session)
            let zero = manifest.zeroTime
            let moment: Int64
            if let at = try body.at?.sessionNanoseconds(zero: zero) {
                moment = at
            } else if manifest.state == .recording {
                moment = SystemClock.utc.nowNanoseconds.clampedSubtracting(zero.nanoseconds)
            } else {
                throw Problem(.badRequest, "the session is not being recorded: give 'at'")
            }
            let mark = SessionMarks.Mark(
                id: SessionMarks.Mark.newIdentity(), atNanoseconds: moment, text: body.text,
                source: body.source)
            return (session, mark, zero)
        }
        try await checkOperates(session, rights)
        do throws(SessionEdit.Flaw) {
            _ = try SessionEdit(addedMarks: [mark])
        } catch {
            throw Problem(.badRequest, "\(error)")
        }
        var change = SessionChange(of: session)
        change.addedMarks = [
            SessionChange.Mark(
                id: mark.id, atNanoseconds: mark.atNanoseconds, text: mark.text,
                source: mark.source)
        ]
        if let siteOperator {
            try await logged("mark", .session(session), context) {
                try await siteOperator.set(mark, of: session)
            }
        } else {
            try await ask(.changeSession(change), .session(session), "mark", context)
        }
        return try .json(
            MadeMark(session: session, MarkListing(mark, zero: zero)), status: .created)
    }

    /// A mark that was made.
    private struct MadeMark: Encodable {
        var session: String
        var mark: MarkListing

        init(session: String, _ mark: MarkListing) {
            self.session = session
            self.mark = mark
        }
    }

    func removeMark(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let session = try await operated(context)
        let id = context.parameters.get("mark") ?? ""
        let isThere = try await site.read { library in
            library.marks(session).marks.contains { $0.id == id }
        }
        guard isThere else { throw Problem(.notFound, "no mark of that id") }
        if let siteOperator {
            let edit: SessionEdit
            do throws(SessionEdit.Flaw) {
                edit = try SessionEdit(removedMarks: [id])
            } catch {
                throw Problem(.badRequest, "\(error)")
            }
            let names = try await names(of: session)
            try await logged("remove a mark of", .session(session), context) {
                try await siteOperator.change(edit, of: names)
            }
            return Response(status: .noContent)
        }
        var change = SessionChange(of: session)
        change.removedMarks = [id]
        try await ask(.changeSession(change), .session(session), "remove a mark of", context)
        return Response(status: .noContent)
    }

    /// The names of a session in all archives: a collector of a site may have begun its part under another one.
    private func names(of session: String) async throws -> Set<String> {
        try await site.read { library in
            Set(try library.merged?.session(session).copies.map(\.manifest.session) ?? [])
                .union([session])
        }
    }

    /// The session in the path, which this user may change: an operator of each of its sources.
    private func operated(_ context: ViewerContext) async throws -> String {
        let session = try context.name("session")
        try await checkOperates(session, context.rights)
        return session
    }

    private func checkOperates(_ session: String, _ rights: Rights) async throws {
        let sources = try await site.read { library in
            let sources = try library.sources(of: session, for: rights)
            _ = try library.manifest(session)
            return sources
        }
        guard rights.mayOperateSite || !sources.isEmpty && sources.allSatisfy(rights.mayOperate)
        else { throw Problem(.forbidden, "only operators of all its sources may change a session") }
    }

    // MARK: Agents

    /// A command to an agent.
    private struct Order: Decodable {
        var command: AgentCommandName
        var set: Change?
    }

    /// A change of a capture. Devices are excluded: the files and addresses that a box opens are configured on the box or the server.
    private struct Change: Decodable {
        var videoBitsPerSecond: Int64?
        /// Values of the agent's options: `1280x720`, `30000/1001`, `640x360+10+20`; or `own`.
        var size: String?
        var frameRate: String?
        var crop: String?
        /// Degrees.
        var rotation: Int?
        var isMirrored: Bool?
        var controls: [String: Int64]?
    }

    func command(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let source = try context.source()
        guard context.rights.mayOperate(source) else {
            throw Problem(.forbidden, "only operators may command agents")
        }
        let order: Order = try await request.decoded(limit: Self.maximumBodyBytes)
        let reply = try await ask(
            .command(try Self.request(order), source: source), .source(source),
            order.command.rawValue, context)
        guard case .report(let report, let payload) = reply else { throw Self.unexpected }
        switch report {
        case .status(let status):
            return try .json(CaptureStatusDocument(status, of: source))
        case .controls(let controls):
            return try .json(controls.map { DeviceControlDocument($0) })
        case .keyframeRequested:
            return Response(status: .noContent)
        case .snapshot(let snapshot):
            guard payload.count == snapshot.sizeBytes else { throw Self.unexpected }
            var headers = HTTPFields()
            headers[.contentType] = "image/jpeg"
            headers[.cacheControl] = "no-store"
            return Response(
                status: .ok, headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: payload)))
        case .failure, .unknown:
            throw Self.unexpected
        }
    }

    private static func request(_ order: Order) throws(Problem) -> CommandRequest {
        switch (order.command.request, order.set) {
        case (let request?, nil): return request
        case (nil, let body?):
            let change = try change(body)
            guard !change.isEmpty else { throw Problem(.badRequest, "'set' changes nothing") }
            return .change(change)
        case (nil, nil), (.some, .some):
            throw Problem(.badRequest, "'set' goes with the command set, and only with it")
        }
    }

    private static func change(_ body: Change) throws(Problem) -> CaptureChange {
        var change = CaptureChange()
        if let rate = body.videoBitsPerSecond {
            guard rate > 0 else {
                throw Problem(.badRequest, "'videoBitsPerSecond' must be more than 0")
            }
            change.videoBitrate = UInt64(rate)
        }
        if let size = body.size {
            guard let value = OwnOr<PictureSize>(argument: size) else {
                throw Problem(.badRequest, "'size' must be \(OwnOr<PictureSize>.valueHint)")
            }
            change.size = value.choice
        }
        if let rate = body.frameRate {
            guard let value = OwnOr<FrameRate>(argument: rate) else {
                throw Problem(.badRequest, "'frameRate' must be \(OwnOr<FrameRate>.valueHint)")
            }
            change.frameRate = value.choice
        }
        if let crop = body.crop {
            guard let value = OwnOr<PictureCrop>(argument: crop) else {
                throw Problem(.badRequest, "'crop' must be \(OwnOr<PictureCrop>.valueHint)")
            }
            change.crop = value.choice
        }
        if let degrees = body.rotation {
            guard let rotation = PictureOrientation.Rotation(rawValue: degrees) else {
                throw Problem(.badRequest, "'rotation' must be 0, 90, 180 or 270")
            }
            change.rotation = rotation
        }
        change.isMirrored = body.isMirrored
        let controls = body.controls ?? [:]
        guard controls.count <= 64, controls.keys.allSatisfy({ (1...64).contains($0.utf8.count) })
        else { throw Problem(.badRequest, "'controls' must be at most 64, with names") }
        change.controls = controls.sorted { $0.key < $1.key }.map {
            CaptureChange.Setting(name: $0.key, value: $0.value)
        }
        return change
    }

    // MARK: The collector

    private static let unexpected = Problem(
        .serviceUnavailable, "unexpected answer: use the same version of all programs")

    /// Sends a command to the collector. The log has every command with its account, also those without an answer, which may have
    /// been executed.
    @discardableResult
    private func ask(
        _ request: ControlRequest.Request, _ subject: CollectorCommands.Subject, _ verb: String,
        _ context: ViewerContext
    ) async throws -> ControlReply.Reply {
        defer {
            // Also after a failure: it may have been changed.
            if case .session = subject { site.forgetListings() }
        }
        return try await logged(verb, subject, context) {
            try await commands.ask(request, about: subject)
        }
    }

    private func logged<Answer>(
        _ verb: String, _ subject: CollectorCommands.Subject, _ context: ViewerContext,
        _ work: () async throws -> Answer
    ) async throws -> Answer {
        let line = "\(context.identity): \(verb) \(subject)"
        do {
            let answer = try await work()
            site.logger.notice("\(line): done")
            return answer
        } catch let problem as Problem {
            site.logger.notice("\(line): not done (\(problem.status.code)): \(problem.text)")
            throw problem
        } catch {
            site.logger.notice("\(line): sent, and not waited for")
            throw error
        }
    }
}
