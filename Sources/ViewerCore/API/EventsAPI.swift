import HTTPTypes
import Hummingbird
import NIOCore
import Operations

/// What happens, as server-sent events (HTML, "Server-sent events"): the collector's status once a second, gaps, sources, sessions, segments.
struct EventsAPI {
    let log: EventLog

    func listen(_ request: Request, _ context: ViewerContext) async throws -> Response {
        _ = try RequestQuery(request, [])
        let last = HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
            .flatMap { UInt64($0) }
        var headers = HTTPFields()
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        guard request.method != .head else { return Response(status: .ok, headers: headers) }
        guard log.hasRoom else {
            throw Problem(.serviceUnavailable, "too many are listening: try again")
        }
        let (log, rights) = (log, context.rights)
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                guard let listener = log.listen(after: last) else {
                    return try await writer.finish(nil)
                }
                defer { log.stop(listener) }
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                while true {
                    var text = ""
                    for event in await listener.next() {
                        text += Self.text(event, rights) ?? ": \n\n"
                    }
                    try await writer.write(ByteBuffer(string: text))
                }
            })
    }

    /// An event as it is sent; nil: it is not this listener's.
    private static func text(_ event: EventLog.Event, _ rights: Rights) -> String? {
        guard event.name != EventLog.beat else { return nil }
        guard event.sources.allSatisfy(rights.mayRead) else { return nil }
        var json = event.json
        if event.name == EventLog.status, !rights.mayReadEverything {
            guard let own = status(json, rights) else { return nil }
            json = own
        }
        let id = event.name == EventLog.status ? "" : "id: \(event.number)\n"
        return "\(id)event: \(event.name)\ndata: \(json)\n\n"
    }

    /// The status without other people's sources.
    private static func status(_ json: String, _ rights: Rights) -> String? {
        do {
            var view = try SiteView(decoding: Array(json.utf8))
            view.sources.removeAll { !rights.mayRead($0.name) }
            view.session = view.sources.isEmpty ? nil : view.session
            view.omittedSources = 0
            return EventLog.line(try view.encoded())
        } catch {
            // Of another version: what is in it nobody knows here.
            return nil
        }
    }
}
