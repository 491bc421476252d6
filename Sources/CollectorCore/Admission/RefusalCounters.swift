import Operations
import Synchronization
import Trust
import Wire

/// Connections that were refused, counted by the threads that refuse them.
final class RefusalCounters: Sendable {
    private struct State: Sendable {
        var counts: [ConnectionRefusal: UInt64] = [:]
        var shutReason: String?
    }

    private let state = Mutex(State())

    init() {}

    func add(_ refusal: ConnectionRefusal) {
        state.withLock { $0.counts[refusal, default: 0] += 1 }
    }

    var counts: [ConnectionRefusal: UInt64] { state.withLock { $0.counts } }

    /// Authentication has ended: no agent can be admitted any more.
    func shut(_ reason: String) {
        state.withLock { $0.shutReason = $0.shutReason ?? reason }
    }

    /// Why no agent can be admitted any more; nil: agents can be admitted.
    var shutReason: String? { state.withLock { $0.shutReason } }
}

extension ConnectionRefusal {
    /// The reason for refusing a connection whose key has these permissions.
    init(_ standing: AgentRegister.Standing) {
        switch standing {
        case .unknown: self = .unknownKey
        case .revoked: self = .revokedKey
        case .expired: self = .expiredKey
        case .authorized, .enrolling: self = .notAllowed
        }
    }

    /// The same for a message; nil: its connection was already counted, or only has to reconnect.
    init?(_ cause: RefusalCause) {
        switch cause {
        case .throttled: self = .throttled
        case .keyWithdrawn: return nil
        case .reason(let reason):
            switch reason {
            case .malformed, .sequence, .other: self = .malformed
            case .version: self = .version
            case .name: self = .sourceName
            case .sourceInUse: self = .sourceInUse
            case .limit: self = .limit
            case .unauthorized: self = .notAllowed
            case .enrolment: self = .enrolment
            // An agent with a low term raises it and returns.
            case .unknownConnection, .stopping, .term, .elsewhere: return nil
            }
        }
    }
}
