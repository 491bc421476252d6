import CollectorClient
import Media
import Messaging
import Trust
import Wire

/// One of an uplink's connections, with what is known of its other end. Confined to the uplink's thread, whose loop has two of them.
final class UplinkLane {
    enum Role: Hashable, Sendable {
        /// To the collector of the source.
        case first
        /// To the second one, where two have to have the records.
        case mirror
    }

    enum Phase {
        /// No connection until then, on the monotonic clock.
        case pausing(until: Int64)
        /// The sockets wait for the collector.
        case connecting
        /// Connected; the collector's clock is being asked.
        case probing
        case greeted
    }

    /// While the clocks are learnt, what was learnt is sent so often: a tenth of what a collector lets one peer send.
    private static let reportNanoseconds: Int64 = 150_000_000
    /// A name is looked up only where a collector is not there at once: most are, and the resolver takes memory.
    private static let lookUpAfterNanoseconds: Int64 = 500_000_000

    let role: Role
    var phase = Phase.pausing(until: .min)
    /// Nil while it pauses.
    var connection: LinkConnection?
    private(set) var endpoint: String
    var prober = ClockProber(epoch: 0, now: 0)
    var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []
    var greeting = GreetingWatch()
    /// Why the collector is not heard of.
    private(set) var absence: String?
    private var hostCheck: HostLookup
    /// Since when the collector is not there.
    private var absentSince: Int64?
    private var reportedNanoseconds: Int64 = 0
    /// Of agents that lose a collector together, each comes back at another time.
    private var pauses = ReconnectPauses(of: .random())

    init(_ role: Role, endpoint: String) {
        self.role = role
        self.endpoint = endpoint
        hostCheck = HostLookup(of: endpoint)
    }

    /// Whether a connection is due, which is to be made to this endpoint.
    func isDue(now: Int64) -> Bool {
        guard connection == nil, case .pausing(let until) = phase else { return false }
        return now >= until
    }

    /// Goes to an endpoint from now on.
    func follow(_ endpoint: String) {
        guard endpoint != self.endpoint else { return }
        self.endpoint = endpoint
        hostCheck = HostLookup(of: endpoint)
        greeting = GreetingWatch()
    }

    /// Another connection is to be made after a pause; the present one is given up by the loop.
    func pause(milliseconds: Int64, now: Int64) {
        phase = .pausing(until: now + pauses.next(usualMilliseconds: milliseconds) * 1_000_000)
    }

    /// Whether messages can be sent over it.
    var isReady: Bool {
        switch phase {
        case .probing, .greeted: connection != nil
        case .pausing, .connecting: false
        }
    }

    var isPausing: Bool {
        if case .pausing = phase { true } else { false }
    }

    /// Whether what was learnt of the clocks is to be sent now.
    func isReportDue(now: Int64) -> Bool {
        guard prober.isLearning(now: now), now - reportedNanoseconds >= Self.reportNanoseconds
        else { return false }
        reportedNanoseconds = now
        return true
    }

    /// Finds out why the collector is not heard of.
    func lookForCollector(isFlowing: Bool, now: Int64) {
        guard !isFlowing else {
            absence = nil
            absentSince = nil
            return
        }
        let since = absentSince ?? now
        absentSince = since
        let isEarly = now - since < Self.lookUpAfterNanoseconds
        absence =
            greeting.trouble(of: endpoint, now: now)
            ?? (isEarly ? nil : hostCheck.trouble(now: now))
    }

    /// How long the thread may sleep for it, milliseconds; nil: as long as usual.
    func waitMilliseconds(now: Int64) -> Int? {
        switch phase {
        case .probing, .greeted: Int(max(0, prober.dueNanoseconds - now) / 1_000_000) + 1
        case .pausing(let until):
            // One that is due has been made, if there is anywhere to go.
            until > now
                ? Int(max(0, min(until.clampedSubtracting(now), 1_000_000_000)) / 1_000_000) + 1
                : nil
        case .connecting: nil
        }
    }
}
