import Messaging
import Wire

/// One recorded connection of a replay. Used on one thread.
final class WireLine {
    /// Credit and progress of one source's records; sequence numbers.
    private struct Account {
        var creditLimit: UInt64 = 0
        var creditUsed: UInt64 = 0
        var newest: UInt64 = 0
        var persisted: UInt64 = 0
    }

    enum State: Equatable {
        case open
        /// A Hello has been sent and not been answered.
        case greeting
        case welcome
        case refused(String, RefusalReason)
    }

    let socket: Socket
    private(set) var state = State.open
    /// One of its sources was complete.
    var hasSaidGoodbye = false
    private var accounts: [Int: Account] = [:]

    init(in context: Context, endpoint: String, options: SocketOptions) throws {
        socket = try Socket(.dealer, in: context, options: options)
        try socket.connect(endpoint)
    }

    var isRefused: Bool {
        if case .refused = state { true } else { false }
    }

    func greets() {
        state = .greeting
        accounts = [:]
    }

    /// Whether a record may be sent. Without a Welcome there is no credit limit, so that recorded protocol violations can be
    /// replayed.
    func allows(source: Int, cost: UInt64) -> Bool {
        guard state == .welcome, let account = accounts[source] else { return true }
        return account.creditUsed + cost <= account.creditLimit
    }

    func sent(source: Int, cost: UInt64, newest: UInt64) {
        guard var account = accounts[source] else { return }
        account.creditUsed += cost
        account.newest = max(account.newest, newest)
        accounts[source] = account
    }

    /// Records that are not durable at the collector.
    var unpersisted: UInt64 {
        guard state == .welcome else { return 0 }
        return accounts.values.reduce(0) { $0 + ($1.newest - min($1.newest, $1.persisted)) }
    }

    /// Processes a message of the collector.
    func receive(_ message: WireMessage) {
        switch message {
        case .welcome(let welcome):
            state = .welcome
            for source in welcome.sources {
                accounts[source.source] = Account(
                    creditLimit: source.creditLimitBytes, persisted: source.persisted)
            }
        case .acknowledgement(let acknowledgement):
            for source in acknowledgement.sources {
                accounts[source.source]?.creditLimit = source.creditLimitBytes
                accounts[source.source]?.persisted = source.persisted
            }
        case .refusal(let refusal):
            state = .refused(refusal.text, refusal.reason)
        case .hello, .samples, .gap, .trackUpdate, .goodbye, .clockProbe, .heartbeat, .clockReply,
            .ping, .command, .report, .enrol, .enrolled, .unknown:
            break
        }
    }
}
