import Operations

/// The response to a request: a value, without sockets.
struct OperationsAnswer: Hashable, Sendable {
    enum Status: Hashable, Sendable {
        case ok, badRequest, notFound, methodNotAllowed, headerTooLarge, unavailable
    }

    var status: Status
    var contentType = "text/plain; charset=utf-8"
    var body: String

    /// - Parameters:
    ///   - method: as HTTP names it.
    ///   - path: of the request, without its query.
    init(to method: String, _ path: String, board: StatusBoard) {
        guard method == "GET" || method == "HEAD" else {
            self.init(.methodNotAllowed, "only GET and HEAD are supported\n")
            return
        }
        switch path {
        case "/metrics":
            self.init(.ok, board.metrics)
            contentType = MetricText.contentType
        case "/status":
            do {
                self.init(.ok, String(decoding: try board.view.encoded(), as: UTF8.self) + "\n")
                contentType = "application/json"
            } catch {
                self.init(.unavailable, "the status cannot be written: \(error)\n")
            }
        case "/healthz": self.init(board.liveness)
        case "/readyz": self.init(board.readiness)
        default: self.init(.notFound, "use /metrics, /status, /healthz or /readyz\n")
        }
    }

    init(_ status: Status, _ body: String) {
        self.status = status
        self.body = body
    }

    private init(_ health: HealthAnswer) {
        self.init(health.isWell ? .ok : .unavailable, health.text + "\n")
    }
}
