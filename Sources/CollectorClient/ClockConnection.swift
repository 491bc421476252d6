package import Messaging
package import Wire

/// A connection for clock probes alone, to a collector that receives no records: as between collectors of a site.
///
/// It connects as soon as the host's address is known; ``nextEvent()`` sees to it, and has to be called after each wait.
package struct ClockConnection: ~Copyable {
    private let socket: Socket
    private let monitor: ConnectionMonitor
    private let route: EndpointRoute

    /// Why the host's address is unknown; nil: it is known, or the name server may still answer.
    package func hostTrouble(now: Int64) -> String? { route.host.trouble(now: now) }

    /// - Parameter host: of the endpoint; shared by successive connections.
    package init(
        to host: HostLookup, security: SocketSecurity, in context: Context
    ) throws(MessagingError) {
        var options = SocketOptions.ofClockProbes
        options.security = security
        // The collector may be unreachable for hours, and no backlog waits for this connection.
        options.reconnectMilliseconds = 1_000
        // Both are created first: a value that owns handles cannot be half initialised.
        let socket = try Socket(.dealer, in: context, options: options)
        let monitor = try ConnectionMonitor(of: socket, in: context)
        let route = EndpointRoute(to: host)
        if let endpoint = route.present { try socket.connect(endpoint) }
        self.route = route
        self.socket = socket
        self.monitor = monitor
    }

    /// Adds this connection to a poller, which must not outlive it.
    package func watch(in poller: inout Poller) {
        _ = poller.add(socket)
        _ = poller.add(monitor)
    }

    /// The next event of the connection.
    package func nextEvent() throws(MessagingError) -> ConnectionEvent? {
        try route.nextEvent(from: monitor) { change throws(MessagingError) in
            try socket.follow(change)
        }
    }

    /// The next message from the collector; nil if none is waiting.
    package func nextMessage() throws(MessagingError) -> [UInt8]? {
        try socket.receive(maximumParts: 1)?.parts.first?.bytes
    }

    /// Sends a probe, if that is possible now.
    package func send(_ probe: ClockProbe) throws(MessagingError) {
        _ = try socket.send(.bytes(WireMessage.clockProbe(probe).encoded()))
    }
}

extension SocketOptions {
    static var toCollector: SocketOptions {
        var options = SocketOptions()
        // Credit bounds the bytes in flight, not a number of messages.
        options.sendQueue = 0
        options.lingerMilliseconds = 150
        options.reconnectMilliseconds = 200
        options.reconnectMaximumMilliseconds = 2_000
        options.probesIdleConnections = true
        options.maximumPartBytes = Int64(WireLimits.headerBytes)
        return options
    }

    static var ofClockProbes: SocketOptions {
        var options = toCollector
        // A queued probe would include its time in the queue in the round trip.
        options.sendsOnlyWhenConnected = true
        // After a collector's return, its time is queried before it receives the backlog.
        options.reconnectMaximumMilliseconds = 0
        options.sendQueue = 4
        return options
    }
}
