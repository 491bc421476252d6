import Media
import Messaging

/// The numeric endpoint to which a connection's sockets connect: that of its host's address, once it is known, and another one when
/// the host gets another address while there is no connection. Used on the connection's thread.
final class EndpointRoute {
    let host: HostLookup
    /// The endpoint to which the sockets connect; nil: they wait for a name server.
    private(set) var present: String?
    private var isConnected = false
    /// An attempt to connect to the present endpoint has failed.
    private var hasFailed = false
    private var sinceNanoseconds = Int64.min / 2

    /// Time without an answer of the present address, after which the host is looked up again. Long enough for lost packets: a name
    /// may have another address with each lookup.
    private static let patienceNanoseconds: Int64 = 10_000_000_000

    init(to host: HostLookup) {
        self.host = host
        host.begin()
        present = host.hasName ? nil : host.endpoint
        // The answer wakes the connection's thread.
        if host.hasName { _ = host.address(now: SystemClock.monotonic.nowNanoseconds) }
    }

    /// A change of the endpoint.
    struct Change {
        /// Nil: the sockets have not connected yet.
        var old: String?
        var new: String
    }

    /// The next event of a connection on this route.
    /// - Parameter follow: has the connection's sockets follow a change.
    func nextEvent(
        from monitor: borrowing ConnectionMonitor,
        following follow: (Change) throws(MessagingError) -> Void
    ) throws(MessagingError) -> ConnectionEvent? {
        if let change = takeChange() {
            do throws(MessagingError) {
                try follow(change)
            } catch {
                // libzmq does not accept the name server's answer; the next one may be usable.
                present = nil
                host.refused(error)
            }
        }
        let event = try monitor.nextEvent()
        if let event { process(event) }
        return event
    }

    /// Returns the change that the sockets have to follow; nil: none.
    private func takeChange() -> Change? {
        guard host.hasName, !isConnected else { return nil }
        let now = SystemClock.monotonic.nowNanoseconds
        guard
            present == nil || hasFailed || now - sinceNanoseconds >= Self.patienceNanoseconds,
            let address = host.address(now: now), address != present
        else { return nil }
        defer {
            present = address
            hasFailed = false
            sinceNanoseconds = now
        }
        return Change(old: present, new: address)
    }

    private func process(_ event: ConnectionEvent) {
        switch event {
        case .connected:
            isConnected = true
        case .retrying, .disconnected, .handshakeFailed:
            isConnected = false
            hasFailed = true
        case .accepted, .ready, .other:
            break
        }
    }
}

extension Socket {
    /// Connects to another endpoint.
    borrowing func follow(_ change: EndpointRoute.Change) throws(MessagingError) {
        if let old = change.old { try disconnect(old) }
        try connect(change.new)
    }
}
