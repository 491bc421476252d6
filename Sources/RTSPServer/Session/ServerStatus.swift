/// Status of a response (RFC 2326 §7.1.1).
package enum ServerStatus: Int, Hashable, Sendable {
    case ok = 200
    case badRequest = 400
    case unauthorized = 401
    case notFound = 404
    case methodNotAllowed = 405
    case sessionNotFound = 454
    case notValidInThisState = 455
    case invalidRange = 457
    case aggregateNotAllowed = 459
    case onlyAggregateAllowed = 460
    case unsupportedTransport = 461
    case internalError = 500
    case notImplemented = 501
    case unavailable = 503
    case optionNotSupported = 551

    var reason: String {
        switch self {
        case .ok: "OK"
        case .badRequest: "Bad Request"
        case .unauthorized: "Unauthorized"
        case .notFound: "Not Found"
        case .methodNotAllowed: "Method Not Allowed"
        case .sessionNotFound: "Session Not Found"
        case .notValidInThisState: "Method Not Valid in This State"
        case .invalidRange: "Invalid Range"
        case .aggregateNotAllowed: "Aggregate Operation Not Allowed"
        case .onlyAggregateAllowed: "Only Aggregate Operation Allowed"
        case .unsupportedTransport: "Unsupported Transport"
        case .internalError: "Internal Server Error"
        case .notImplemented: "Not Implemented"
        case .unavailable: "Service Unavailable"
        case .optionNotSupported: "Option not supported"
        }
    }
}
