package import Messaging
import Wire

/// One connection to the collector: a socket for records, one for clock probes, and what libzmq says of the first.
///
/// Sockets are made anew for every connection, so that nothing that was queued for a lost collector reaches the next one.
package struct LinkConnection: ~Copyable {
    private let data: Socket
    /// Nil for who does not ask: a collector ends connections on which nothing is said, and mentions it.
    private let clock: Socket?
    private let monitor: ConnectionMonitor
    private var poller = Poller()

    /// - Parameters:
    ///   - asksForTime: whether clock probes will be sent.
    ///   - wakeUp: ends a wait from another thread.
    package init(
        to endpoint: String, security: SocketSecurity, asksForTime: Bool, in context: Context,
        wakeUp: WakeUp
    ) throws(MessagingError) {
        // Sockets first and whole: a value that owns handles cannot be half made.
        var dataOptions = Self.dataOptions
        dataOptions.security = security
        let data = try Socket(.dealer, in: context, options: dataOptions)
        let monitor = try ConnectionMonitor(of: data, in: context)
        let clock: Socket? =
            asksForTime ? try Self.clock(of: endpoint, security, in: context) : nil
        try data.connect(endpoint)
        _ = poller.add(data)
        switch clock {
        case let clock?: _ = poller.add(clock)
        case nil: break
        }
        _ = poller.add(monitor)
        _ = poller.add(descriptor: wakeUp.descriptor)
        self.data = data
        self.monitor = monitor
        self.clock = clock
    }

    private static var dataOptions: SocketOptions {
        var options = SocketOptions()
        // Credit bounds what is on its way, not a number of messages.
        options.sendQueue = 0
        options.reconnectMilliseconds = 200
        options.reconnectMaximumMilliseconds = 2_000
        options.probesIdleConnections = true
        options.maximumPartBytes = Int64(WireLimits.headerBytes)
        return options
    }

    private static func clock(
        of endpoint: String, _ security: SocketSecurity, in context: Context
    ) throws(MessagingError) -> Socket {
        var options = dataOptions
        options.security = security
        // A probe that could not be sent at once would measure the queue.
        options.sendsOnlyWhenConnected = true
        // A collector that is back is asked for its time before it gets what has been kept for it.
        options.reconnectMaximumMilliseconds = 0
        options.sendQueue = 4
        let clock = try Socket(.dealer, in: context, options: options)
        try clock.connect(endpoint)
        return clock
    }

    /// Has somebody else's poller, which waits for several connections, wait for this one too. It must not outlive it, and
    /// ``wait(milliseconds:)`` is not for use beside it: what one poller has been told of the connection the other does not hear.
    package func watch(in poller: inout Poller) {
        _ = poller.add(data)
        switch clock {
        case let clock?: _ = poller.add(clock)
        case nil: break
        }
        _ = poller.add(monitor)
    }

    /// Blocks until something has come or happened, or the time is over.
    package mutating func wait(milliseconds: Int) throws(MessagingError) {
        _ = try poller.wait(milliseconds: milliseconds)
    }

    /// The next thing that happened to the connection.
    package func nextEvent() throws(MessagingError) -> ConnectionEvent? { try monitor.nextEvent() }

    /// The next message of the collector.
    package func nextMessage() throws(MessagingError) -> [UInt8]? {
        try data.receive(maximumParts: 1)?.parts.first?.bytes
    }

    /// The next answer to a clock probe.
    package func nextClockMessage() throws(MessagingError) -> [UInt8]? {
        try clock?.receive(maximumParts: 1)?.parts.first?.bytes
    }

    /// Sends a message, now or as soon as it can leave.
    package func send(_ header: [UInt8], _ payload: SharedBytes?) throws(MessagingError) {
        if let payload {
            _ = try data.send(.bytes(header), .shared(payload))
        } else {
            _ = try data.send(.bytes(header))
        }
    }

    /// Sends a probe, if it can leave now.
    package func sendProbe(_ header: [UInt8]) throws(MessagingError) -> Bool {
        precondition(clock != nil, "who sends probes has said so")
        return try clock?.send(.bytes(header)) == .sent
    }
}
