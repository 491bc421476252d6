import Accounts
import HTTPTypes
import Hummingbird
import NIOCore

/// Server-sent events (HTML, "Server-sent events"): the collector's status once a second, gaps, sources, sessions, segments.
struct EventsAPI {
    let log: EventLog
    let access: Access

    func listen(_ request: Request, _ context: ViewerContext) async throws -> Response {
        let query = try RequestQuery(request, ["types"])
        let types = try query["types"].map { text throws(Problem) in
            let names = text.split(separator: ",").map { String($0) }
            guard !names.isEmpty, names.allSatisfy(EventLog.types.contains) else {
                throw Problem(
                    .badRequest,
                    "'types' must be some of \(EventLog.types.sorted().joined(separator: ","))")
            }
            // Every client must learn about lost events.
            return Set(names).union([EventLog.lost])
        }
        let last = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
            .flatMap { UInt64($0) }
        var headers = HTTPFields()
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        guard request.method != .head else { return Response(status: .ok, headers: headers) }
        guard log.hasRoom(for: context.identity) else {
            throw Problem(.serviceUnavailable, "too many are listening: try again")
        }
        let access = access
        let pass = access.pass(context.credentials, context.rights, now: .now())
        return Response(
            status: .ok, headers: headers,
            body: Self.body(log, after: last, of: types, for: context.identity, context.rights) {
                access.isValid(pass, now: .now())
            })
    }

    /// The event stream of one client, until it disconnects.
    /// - Parameters:
    ///   - types: nil: all types.
    ///   - mayGoOn: checked once a second: the client may have logged out, or its rights may have changed. After reconnecting, it
    ///     receives what it may see now.
    static func body(
        _ log: EventLog, after last: UInt64?, of types: Set<String>? = nil,
        for identity: Identity, _ rights: Rights,
        while mayGoOn: @escaping @Sendable () -> Bool
    ) -> ResponseBody {
        ResponseBody { writer in
            guard let listener = log.listen(after: last, for: identity) else {
                return try await writer.finish(nil)
            }
            defer { log.stop(listener) }
            try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
            while true {
                let events = await listener.next()
                if events.contains(where: { $0.name == EventLog.beat }), !mayGoOn() { break }
                var text = ""
                for event in events {
                    text += Self.text(event, types, identity, rights) ?? ": \n\n"
                }
                try await writer.write(ByteBuffer(string: text))
            }
            try await writer.finish(nil)
        }
    }

    /// An event as sent; nil if this listener does not get it.
    private static func text(
        _ event: EventLog.Event, _ types: Set<String>?, _ identity: Identity, _ rights: Rights
    ) -> String? {
        guard event.name != EventLog.beat, let told = event.told(to: identity, rights),
            types?.contains(told.name) ?? true
        else { return nil }
        var json = told.json
        if told.name == EventLog.status, !rights.mayReadEverything {
            guard let own = told.narrowed?.text(for: rights) else { return nil }
            json = own
        }
        let id = told.name == EventLog.status ? "" : "id: \(told.number)\n"
        return "\(id)event: \(told.name)\ndata: \(json)\n\n"
    }
}
