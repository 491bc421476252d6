import CollectorClient
import Media
import Messaging
import Trust
import Wire

/// One of an uplink's two connections, with the state of its collector. Confined to the uplink's thread.
final class UplinkLane {
    enum Role: Hashable, Sendable {
        /// The source's collector.
        case first
        /// The second collector, with `--release mirrored`.
        case mirror
    }

    enum Phase {
        /// Waits before connecting until a time of the monotonic clock.
        case pausing(until: Int64)
        /// The sockets are connecting.
        case connecting
        /// Connected, and measuring the collector's clock.
        case probing
        case greeted
    }

    /// Report interval during the initial clock measurement: a tenth of the rate that a collector allows.
    private static let reportNanoseconds: Int64 = 150_000_000

    let role: Role
    var phase = Phase.pausing(until: .min)
    /// Nil while pausing.
    var connection: LinkConnection?
    private(set) var endpoint: String
    var prober = ClockProber(epoch: 0, now: 0)
    var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []
    var greeting = GreetingWatch()
    /// Why the collector is unreachable.
    private(set) var absence: String?
    private(set) var host: HostLookup
    private let makeHost: (String) -> HostLookup
    private var reportedNanoseconds: Int64 = 0
    /// Jittered, so that agents that lose a collector together do not reconnect together.
    private var pauses = ReconnectPauses(of: .random())

    /// - Parameter makeHost: returns the lookups of an endpoint's host.
    init(_ role: Role, endpoint: String, makeHost: @escaping (String) -> HostLookup) {
        self.role = role
        self.endpoint = endpoint
        self.makeHost = makeHost
        host = makeHost(endpoint)
    }

    /// Whether a connection should be opened.
    func isDue(now: Int64) -> Bool {
        guard connection == nil, case .pausing(let until) = phase else { return false }
        return now >= until
    }

    /// Changes the endpoint of the next connection.
    func follow(_ endpoint: String) {
        guard endpoint != self.endpoint else { return }
        self.endpoint = endpoint
        host = makeHost(endpoint)
        greeting = GreetingWatch()
    }

    /// Schedules a reconnection; the loop closes the present connection.
    func pause(milliseconds: Int64, now: Int64) {
        phase = .pausing(until: now + pauses.next(usualMilliseconds: milliseconds) * 1_000_000)
    }

    /// Whether messages can be sent.
    var isReady: Bool {
        switch phase {
        case .probing, .greeted: connection != nil
        case .pausing, .connecting: false
        }
    }

    var isPausing: Bool {
        if case .pausing = phase { true } else { false }
    }

    /// Whether clock exchanges should be reported now.
    func isReportDue(now: Int64) -> Bool {
        guard prober.isLearning(now: now), now - reportedNanoseconds >= Self.reportNanoseconds
        else { return false }
        reportedNanoseconds = now
        return true
    }

    /// Diagnoses why the collector is unreachable.
    func lookForCollector(isFlowing: Bool, now: Int64) {
        absence =
            isFlowing ? nil : greeting.trouble(of: endpoint, now: now) ?? host.trouble(now: now)
    }

    /// Maximum sleep of the thread in milliseconds; nil: the usual tick.
    func waitMilliseconds(now: Int64) -> Int? {
        switch phase {
        case .probing, .greeted: Int(max(0, prober.dueNanoseconds - now) / 1_000_000) + 1
        case .pausing(let until):
            // A connection that is due has been opened already, unless there is no endpoint.
            until > now
                ? Int(max(0, min(until.clampedSubtracting(now), 1_000_000_000)) / 1_000_000) + 1
                : nil
        case .connecting: nil
        }
    }
}
