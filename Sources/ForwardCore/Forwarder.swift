package import Containers
import Dispatch
package import Logging
import Media
package import Messaging
import Synchronization
import Threads
import Wire

/// Forwards one live source to a streaming server, and reconnects when the connection ends.
///
/// One thread reads the feed, another one writes and may block; ``ForwardQueue`` is between them.
package final class Forwarder: Sendable {
    package struct Settings: Sendable {
        package var source: String
        /// Endpoint of the collector's feed.
        package var feed: String
        package var security = SocketSecurity.plain
        package var destination: ContainerDestination
        package var format: ContainerFormat

        package init(
            source: String, feed: String, destination: ContainerDestination, format: ContainerFormat
        ) {
            self.source = source
            self.feed = feed
            self.destination = destination
            self.format = format
        }
    }

    package struct Status: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            /// No sample has been received for three seconds.
            case waiting
            case connecting
            case sending
        }

        package var state = State.waiting
        /// Longest time from capture to transmission in the last second; nil while nothing is sent.
        package var lateNanoseconds: Int64?
        package var sentSamples: UInt64 = 0
        package var sentBytes: UInt64 = 0
        package var droppedSamples: UInt64 = 0
        package var feedLosses: UInt64 = 0
        /// Number of connections so far.
        package var connections: UInt64 = 0
        /// While waiting, why no samples arrive; otherwise the destination's last error.
        package var trouble: String?
    }

    /// A write that blocks for longer ends the connection.
    private static let stallNanoseconds: Int64 = 5_000_000_000
    /// Delay before reconnecting, doubled after each failure up to the longest one.
    private static let shortestPauseNanoseconds: Int64 = 500_000_000
    private static let longestPauseNanoseconds: Int64 = 4_000_000_000
    /// Topic and header; samples have a third part, their bytes.
    private static let parts = 2...3

    private struct State {
        var queue = ForwardQueue()
        var status = Status()
        var latency = ForwardLatency()
        var slow = SlowDestination()
        /// The last report that the destination is too slow.
        var slowTrouble: String?
        var heardNanoseconds: Int64?
        /// Why no samples arrive.
        var feedTrouble: String?
        /// Why the forwarder ends by itself.
        var end: ForwardError?
        /// Cancels the calls of the connection in use.
        var cancellation: Cancellation?
        /// Start of the running blocking call, monotonic nanoseconds. In the future during an intended wait.
        var busySince: Int64?
    }

    private let settings: Settings
    private let logger: Logger
    private let state = Mutex(State())
    private let news = Semaphore(value: 0)
    private let isStopping = Atomic(false)
    private let wakeUp: WakeUp

    package init(_ settings: Settings, logger: Logger) throws(MessagingError) {
        self.settings = settings
        self.logger = logger
        wakeUp = try WakeUp()
    }

    package var status: Status {
        state.withLock { state in
            var status = state.status
            status.droppedSamples += state.queue.droppedSamples
            status.feedLosses = state.queue.feedLosses
            status.lateNanoseconds = state.latency.worstNanoseconds(now: Self.now)
            if state.slow.isSlow(now: Self.now) {
                status.trouble = status.trouble ?? state.slowTrouble
            }
            let isHeard =
                state.heardNanoseconds.map { Self.now - $0 < FeedAccess.silenceNanoseconds }
                ?? false
            if !isHeard {
                status.state = .waiting
                status.trouble = state.feedTrouble ?? status.trouble
            }
            if let end = state.end { status.trouble = "\(end)" }
            return status
        }
    }

    private static var now: Int64 { SystemClock.monotonic.nowNanoseconds }

    /// Forwards until ``stop()`` is called. Blocks the calling thread.
    ///
    /// - Throws: when trying again would not help.
    package func run() throws(ForwardError) {
        let writer = JoinableThread()
        writer.start("forward") { [self] in write() }
        do throws(ForwardError) {
            try read()
        } catch {
            state.withLock { $0.end = $0.end ?? error }
        }
        stop()
        writer.join()
        if let end = state.withLock({ $0.end }) { throw end }
    }

    package func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.signal()
        news.signal()
        state.withLock { $0.cancellation?.cancel() }
    }

    // MARK: Feed

    private func read() throws(ForwardError) {
        do throws(MessagingError) {
            let context = try Context()
            let socket = try Socket(.subscriber, in: context, options: socketOptions)
            let monitor = try ConnectionMonitor(of: socket, in: context)
            try socket.connect(settings.feed)
            try socket.subscribe(FeedTopic.source(settings.source))
            var poller = Poller()
            _ = poller.add(socket)
            _ = poller.add(monitor)
            _ = poller.add(descriptor: wakeUp.descriptor)
            var access = FeedAccess(
                source: settings.source, endpoint: settings.feed, security: settings.security,
                now: Self.now)
            var hasStatus = false
            while !isStopping.load(ordering: .acquiring) {
                _ = try poller.wait(milliseconds: 200)
                while let event = try monitor.nextEvent() {
                    do throws(ForwardError) {
                        try access.received(event, now: Self.now)
                    } catch {
                        return state.withLock { $0.end = error }
                    }
                }
                while let message = try socket.receive(maximumParts: Self.parts.upperBound) {
                    guard Self.parts.contains(message.parts.count) else { continue }
                    take(message, &access)
                }
                let wantsStatus = access.wantsStatus(now: Self.now)
                if wantsStatus != hasStatus {
                    try socket.subscribe(FeedTopic.status, isWanted: wantsStatus)
                    hasStatus = wantsStatus
                }
                report(access.trouble(now: Self.now))
                reportDrops()
                endStall()
            }
        } catch {
            throw .messaging(error)
        }
    }

    private var socketOptions: SocketOptions {
        var options = SocketOptions()
        options.receiveQueue = 2_000
        options.maximumPartBytes = Int64(max(WireLimits.payloadBytes, WireLimits.headerBytes))
        options.reconnectMaximumMilliseconds = 2_000
        options.heartbeatMilliseconds = 1_000
        options.heartbeatTimeoutMilliseconds = 5_000
        options.heartbeatLifetimeMilliseconds = 5_000
        options.security = settings.security
        return options
    }

    private func take(_ message: ReceivedMessage, _ access: inout FeedAccess) {
        do {
            switch try FeedMessage(decoding: message.parts[1].bytes) {
            case .samples(let samples):
                guard samples.source == settings.source, message.parts.count > 2 else { return }
                let media = message.parts[2].bytes
                let now = Self.now
                access.receivedSample(now: now)
                state.withLock { state in
                    state.heardNanoseconds = now
                    state.queue.take(samples, media: media, now: now)
                }
                news.signal()
            case .status(let json): try access.received(status: json)
            case .event, .unknown: return
            }
        } catch {
            logger.debug("a message of the feed is left out: \(error)")
        }
    }

    /// Logs why no samples arrive, once for each reason.
    private func report(_ trouble: String?) {
        let before = state.withLock { state -> String? in
            defer { state.feedTrouble = trouble }
            return state.feedTrouble
        }
        guard trouble != before else { return }
        if let trouble {
            logger.warning("\(trouble); waiting")
        } else if state.withLock({ $0.heardNanoseconds != nil }) {
            logger.notice("samples of '\(settings.source)' arrive")
        }
    }

    /// Logs that the destination is too slow.
    private func reportDrops() {
        let now = Self.now
        let trouble = state.withLock { state -> String? in
            let dropped = state.slow.note(
                lateSamples: state.queue.lateSamples, isConnected: state.status.state == .sending,
                now: now)
            guard let dropped else { return nil }
            let name = settings.destination.name
            state.slowTrouble = "\(name) is too slow: \(dropped) samples dropped"
            return state.slowTrouble
        }
        if let trouble { logger.warning("\(trouble)") }
    }

    /// Cancels a write that blocks for too long.
    private func endStall() {
        let now = Self.now
        state.withLock { state in
            if let since = state.busySince, now - since > Self.stallNanoseconds {
                state.cancellation?.cancel()
            }
        }
    }

    // MARK: Destination

    private func write() {
        var pause = Self.shortestPauseNanoseconds
        var other: ForwardedSample?
        while let first = other ?? nextSample() {
            other = nil
            let sent = state.withLock { $0.status.sentSamples }
            let trouble: String
            switch send(from: first) {
            case .over: return
            case .begins(let sample, let change):
                other = sample
                logger.notice(
                    "\(settings.destination.name): \(change.rawValue): connecting again")
                continue
            case .failed(let reason): trouble = reason
            case .impossible(let error):
                state.withLock { $0.end = $0.end ?? .unsupported(error) }
                return stop()
            }
            guard !isStopping.load(ordering: .acquiring) else { return }
            let isNew = state.withLock { state -> Bool in
                defer { state.status.trouble = trouble }
                state.status.state = .connecting
                state.latency = ForwardLatency()
                // A repeated error is logged once.
                return state.status.trouble != trouble
            }
            if isNew { logger.warning("\(trouble); trying again") }
            let hasSent = state.withLock { $0.status.sentSamples } > sent
            pause =
                hasSent
                ? Self.shortestPauseNanoseconds : min(pause * 2, Self.longestPauseNanoseconds)
            let end = Self.now + pause
            while Self.now < end, !isStopping.load(ordering: .acquiring) {
                _ = news.wait(timeout: .now() + .milliseconds(50))
            }
            state.withLock { $0.queue.restart() }
        }
    }

    /// Waits for a sample; nil after ``stop()``.
    private func nextSample() -> ForwardedSample? {
        while !isStopping.load(ordering: .acquiring) {
            if let sample = state.withLock({ $0.queue.next() }) { return sample }
            _ = news.wait(timeout: .now() + .milliseconds(200))
        }
        return nil
    }

    /// The reason for the end of a connection.
    private enum Ending {
        case over
        /// The next sample has another session or format.
        case begins(ForwardedSample, ForwardOutput.Change)
        case failed(String)
        /// Another connection would fail for the same reason.
        case impossible(ContainerError)
    }

    /// Connects, and sends until the connection ends or the session or format changes.
    private func send(from first: ForwardedSample) -> Ending {
        let cancellation = Cancellation()
        begin(cancellation)
        defer { state.withLock { ($0.cancellation, $0.busySince) = (nil, nil) } }
        var isConnected = false
        do throws(ContainerError) {
            let output = try ForwardOutput(
                settings.destination, format: settings.format, first: first,
                cancellation: cancellation)
            isConnected = true
            state.withLock { state in
                state.busySince = nil
                state.status.connections += 1
                state.status.state = .sending
            }
            logger.notice("\(settings.destination.name): connected")
            var next: ForwardedSample? = first
            while let sample = next {
                if let change = output.change(before: sample) {
                    try finish(output)
                    return .begins(sample, change)
                }
                state.withLock { $0.busySince = Self.now }
                try output.write(sample)
                let now = Self.now
                state.withLock { state in
                    state.busySince = nil
                    state.status.trouble = nil
                    state.status.sentSamples += 1
                    state.status.sentBytes += UInt64(sample.bytes.count)
                    state.latency.sent(capturedNanoseconds: sample.capturedNanoseconds, now: now)
                }
                next = nextSample()
            }
            try finish(output)
            return .over
        } catch {
            let name = settings.destination.name
            switch error {
            case .cancelled:
                let limit = "\(Self.stallNanoseconds / 1_000_000_000) s"
                return .failed(
                    isConnected
                        ? "\(name) has blocked the connection for \(limit)"
                        : "connecting to \(name) takes longer than \(limit)")
            case .cannotHold, .cannotStream, .badTrack, .unknownFormat: return .impossible(error)
            case .cannotOpen(_, let reason): return .failed("cannot connect to \(name): \(reason)")
            case .cannotWrite(_, let reason): return .failed("sending to \(name) failed: \(reason)")
            case .cannotRead, .truncated: return .failed("\(error)")
            }
        }
    }

    /// Writes the trailer and disconnects, which may block.
    private func finish(_ output: ForwardOutput) throws(ContainerError) {
        state.withLock { $0.busySince = Self.now + output.drainNanoseconds }
        try output.finish()
    }

    private func begin(_ cancellation: Cancellation) {
        state.withLock { state in
            state.cancellation = cancellation
            state.busySince = Self.now
            state.status.state = .connecting
        }
        // `stop()` was called before the cancellation was stored.
        if isStopping.load(ordering: .acquiring) { cancellation.cancel() }
    }
}
