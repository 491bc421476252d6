/// Timeouts for a store.
package struct StorePatience: Sendable {
    /// Without a byte of the response, after the request.
    var silenceNanoseconds: Int64
    /// A slower connection counts as stalled.
    var slowestBytesPerSecond: Int64
    /// For a small request and its response.
    var deadlineNanoseconds: Int64

    /// For background work: a slow connection is better than none.
    package static let writing = StorePatience(
        silenceNanoseconds: 60_000_000_000, slowestBytesPerSecond: 1_024,
        deadlineNanoseconds: 60_000_000_000)
    /// For interactive work.
    package static let reading = StorePatience(
        silenceNanoseconds: 8_000_000_000, slowestBytesPerSecond: 4_096,
        deadlineNanoseconds: 20_000_000_000)
}

/// Timeouts of an exchange.
struct TransportTimeouts: Sendable {
    /// For name resolution, the connection and the TLS handshake.
    var connectNanoseconds: Int64 = 5_000_000_000
    /// Without a byte of the response, after the request. Stores write keep-alive bytes while they assemble an object.
    var silenceNanoseconds: Int64 = 60_000_000_000
    /// Window in which the store must receive ``slowestBytesPerSecond`` while the request is sent.
    var stallNanoseconds: Int64 = 30_000_000_000
    /// Window in which the store must send ``slowestBytesPerSecond`` once a response has begun.
    var dripNanoseconds: Int64 = 15_000_000_000
    /// A store that is slower throughout a window is stalled, although it is not silent.
    var slowestBytesPerSecond: Int64 = 1_024

    init() {}

    init(_ patience: StorePatience) {
        silenceNanoseconds = patience.silenceNanoseconds
        stallNanoseconds = min(stallNanoseconds, patience.silenceNanoseconds)
        dripNanoseconds = min(dripNanoseconds, patience.silenceNanoseconds)
        slowestBytesPerSecond = patience.slowestBytesPerSecond
    }
}

/// Checks the progress of an exchange against its timeouts. Has no clock of its own.
struct ExchangePace: Sendable {
    private enum Phase {
        case connecting
        case sending
        case waiting
        case receiving
    }

    private let timeouts: TransportTimeouts
    private let deadlineNanoseconds: Int64
    private let bodyBytes: Int64
    /// Whether keep-alive bytes count as progress.
    private let isKeptAlive: Bool
    private var phase = Phase.connecting
    /// Start of the window of ``windowBytes``.
    private var windowNanoseconds: Int64
    private var windowBytes: Int64 = 0
    /// Arrival of the last byte of the response, or the end of the request.
    private var heardNanoseconds: Int64
    private var receivedBytes: Int64 = 0

    init(
        _ request: StoreRequest, timeouts: TransportTimeouts, nowNanoseconds: Int64
    ) {
        self.timeouts = timeouts
        deadlineNanoseconds = nowNanoseconds + request.deadlineNanoseconds
        bodyBytes = Int64(request.body.count)
        isKeptAlive = request.isKeptAlive
        windowNanoseconds = nowNanoseconds
        heardNanoseconds = nowNanoseconds
    }

    /// The next time to check, if nothing happens before.
    var nextNanoseconds: Int64 {
        switch phase {
        case .connecting: deadlineNanoseconds
        case .sending: min(deadlineNanoseconds, windowNanoseconds + timeouts.stallNanoseconds)
        case .waiting: min(deadlineNanoseconds, heardNanoseconds + timeouts.silenceNanoseconds)
        case .receiving:
            min(
                deadlineNanoseconds, heardNanoseconds + timeouts.silenceNanoseconds,
                isKeptAlive ? .max : windowNanoseconds + timeouts.dripNanoseconds)
        }
    }

    /// Updates the progress, in bytes of the request's body and of the response with its head.
    /// - Returns: why the exchange has to end; nil: it may continue.
    mutating func note(
        isConnected: Bool, sentBytes: Int64, receivedBytes: Int64, nowNanoseconds: Int64
    ) -> TransportFailure? {
        enter(isConnected: isConnected, sentBytes, receivedBytes, nowNanoseconds)
        if receivedBytes > self.receivedBytes {
            self.receivedBytes = receivedBytes
            heardNanoseconds = nowNanoseconds
        }
        if nowNanoseconds >= deadlineNanoseconds { return .late }
        switch phase {
        case .connecting: return nil
        case .sending:
            return isSlow(sentBytes, timeouts.stallNanoseconds, nowNanoseconds)
                ? TransportFailure("it stopped taking bytes") : nil
        case .waiting, .receiving:
            if nowNanoseconds - heardNanoseconds >= timeouts.silenceNanoseconds { return .late }
            guard phase == .receiving, !isKeptAlive else { return nil }
            return isSlow(receivedBytes, timeouts.dripNanoseconds, nowNanoseconds)
                ? TransportFailure("its answer comes too slowly") : nil
        }
    }

    private mutating func enter(
        isConnected: Bool, _ sentBytes: Int64, _ receivedBytes: Int64, _ nowNanoseconds: Int64
    ) {
        let entered: Phase
        if receivedBytes > 0 {
            entered = .receiving
        } else if !isConnected {
            entered = .connecting
        } else {
            entered = sentBytes < bodyBytes ? .sending : .waiting
        }
        guard entered != phase else { return }
        phase = entered
        heardNanoseconds = nowNanoseconds
        windowNanoseconds = nowNanoseconds
        windowBytes = entered == .sending ? sentBytes : receivedBytes
    }

    /// Whether a window has ended with too few bytes; starts the next one if not.
    private mutating func isSlow(
        _ bytes: Int64, _ lengthNanoseconds: Int64, _ nowNanoseconds: Int64
    ) -> Bool {
        let passed = nowNanoseconds - windowNanoseconds
        guard passed >= lengthNanoseconds else { return false }
        let least = timeouts.slowestBytesPerSecond * lengthNanoseconds / 1_000_000_000
        if bytes - windowBytes < max(1, least) { return true }
        windowNanoseconds = nowNanoseconds
        windowBytes = bytes
        return false
    }
}

extension TransportFailure {
    static let late = TransportFailure("it did not answer in time")
    static let closed = TransportFailure("it closed the connection before it had answered")
    static let cancelled = TransportFailure("the program ends")
}
