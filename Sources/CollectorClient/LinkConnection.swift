package import Messaging
import Wire

/// One connection to the collector: a socket for records, a socket for clock probes, and a monitor of the first one's events.
///
/// New sockets are created for every connection, so that nothing that was queued for a lost collector reaches the next one. They
/// connect as soon as the host's address is known; ``nextEvent()`` sees to it, and has to be called after each wait.
package struct LinkConnection: ~Copyable {
    private let data: Socket
    /// Nil if no probes are sent: a collector closes and logs connections that stay silent.
    private var clock: Socket?
    private let monitor: ConnectionMonitor
    private var poller = Poller()
    private let route: EndpointRoute
    private let security: SocketSecurity
    private let wakeUp: WakeUp

    /// Why the host's address is unknown; nil: it is known, or the name server may still answer.
    package func hostTrouble(now: Int64) -> String? { route.host.trouble(now: now) }

    /// - Parameters:
    ///   - asksForTime: whether clock probes will be sent.
    ///   - wakeUp: ends a wait from another thread.
    package init(
        to endpoint: String, security: SocketSecurity, asksForTime: Bool, in context: Context,
        wakeUp: WakeUp
    ) throws(MessagingError) {
        try self.init(
            to: HostLookup(of: endpoint, wakeUp: wakeUp), security: security,
            asksForTime: asksForTime, in: context, wakeUp: wakeUp)
    }

    /// - Parameters:
    ///   - host: of the endpoint; shared by successive connections. Signals `wakeUp`.
    ///   - asksForTime: whether clock probes will be sent.
    ///   - wakeUp: ends a wait from another thread.
    package init(
        to host: HostLookup, security: SocketSecurity, asksForTime: Bool, in context: Context,
        wakeUp: WakeUp
    ) throws(MessagingError) {
        // All sockets are created first: a value that owns handles cannot be half initialised.
        var dataOptions = SocketOptions.toCollector
        dataOptions.security = security
        let data = try Socket(.dealer, in: context, options: dataOptions)
        let monitor = try ConnectionMonitor(of: data, in: context)
        let route = EndpointRoute(to: host)
        let clock: Socket? =
            asksForTime ? try Self.clock(of: route.present, security, in: context) : nil
        if let endpoint = route.present { try data.connect(endpoint) }
        self.data = data
        self.monitor = monitor
        self.clock = clock
        self.route = route
        self.security = security
        self.wakeUp = wakeUp
        pollAnew()
    }

    /// Replaces the socket for clock probes. libzmq does not connect again after a refusal: if the box's key was authorised
    /// between the handshakes of the two sockets, the clock's stays without a connection for good. Other pollers of this
    /// connection have to be created again.
    package mutating func renewClock(in context: Context) throws(MessagingError) {
        guard clock != nil else { return }
        clock = try Self.clock(of: route.present, security, in: context)
        pollAnew()
    }

    private mutating func pollAnew() {
        var poller = Poller()
        watch(in: &poller)
        _ = poller.add(descriptor: wakeUp.descriptor)
        self.poller = poller
    }

    private static func clock(
        of endpoint: String?, _ security: SocketSecurity, in context: Context
    ) throws(MessagingError) -> Socket {
        var options = SocketOptions.ofClockProbes
        options.security = security
        let clock = try Socket(.dealer, in: context, options: options)
        if let endpoint { try clock.connect(endpoint) }
        return clock
    }

    /// Adds this connection to another poller, which waits for several connections. The poller must not outlive the connection.
    /// ``wait(milliseconds:)`` must not be used at the same time: one poller does not see the events that another one has read.
    package func watch(in poller: inout Poller) {
        _ = poller.add(data)
        switch clock {
        case let clock?: _ = poller.add(clock)
        case nil: break
        }
        _ = poller.add(monitor)
    }

    /// Become readable when there may be a message or an event, for a program with so many connections that a ``Poller``
    /// would take too long. Everything has to be read after any of them was readable, and after sending. ``renewClock(in:)``
    /// changes them.
    package var stateDescriptors: [Int32] {
        var descriptors = [data.stateDescriptor, monitor.stateDescriptor]
        switch clock {
        case let clock?: descriptors.append(clock.stateDescriptor)
        case nil: break
        }
        return descriptors
    }

    /// Blocks until there is a message or an event, or until the timeout.
    package mutating func wait(milliseconds: Int) throws(MessagingError) {
        _ = try poller.wait(milliseconds: milliseconds)
        wakeUp.drain()
    }

    /// The next event of the connection.
    package func nextEvent() throws(MessagingError) -> ConnectionEvent? {
        try route.nextEvent(from: monitor) { change throws(MessagingError) in
            try data.follow(change)
            try clock?.follow(change)
        }
    }

    /// The next message from the collector; nil if none is waiting.
    package func nextMessage() throws(MessagingError) -> [UInt8]? {
        try data.receive(maximumParts: 1)?.parts.first?.bytes
    }

    /// The next answer to a clock probe.
    package func nextClockMessage() throws(MessagingError) -> [UInt8]? {
        try clock?.receive(maximumParts: 1)?.parts.first?.bytes
    }

    /// Sends a message, now or as soon as possible.
    package func send(_ header: [UInt8], _ payload: SharedBytes?) throws(MessagingError) {
        if let payload {
            _ = try data.send(.bytes(header), .shared(payload))
        } else {
            _ = try data.send(.bytes(header))
        }
    }

    /// Sends everything, in order.
    /// - Parameter takesSeveral: whether the collector accepts several records in one message.
    package func send(
        _ messages: [(header: [UInt8], payload: SharedBytes?)], takesSeveral: Bool
    ) throws(MessagingError) {
        let sizes = messages.lazy.map { (header: $0.header, payloadBytes: $0.payload?.count) }
        for group in RecordGroups.of(sizes, takesSeveral: takesSeveral) {
            var parts: [OutgoingPart] = []
            for (header, payload) in messages[group] {
                parts.append(.bytes(header))
                if let payload { parts.append(.shared(payload)) }
            }
            _ = try data.send(parts)
        }
    }

    /// Sends a probe, if that is possible now.
    package func sendProbe(_ header: [UInt8]) throws(MessagingError) -> Bool {
        precondition(clock != nil, "sending probes was requested")
        return try clock?.send(.bytes(header)) == .sent
    }
}
