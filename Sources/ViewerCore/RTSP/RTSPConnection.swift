import Accounts
import Logging
import Media
import NIOCore
import RTSPServer

/// An RTSP connection. Used on its event loop.
final class RTSPConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Limit of unsent bytes: two seconds at 16 Mbit/s. Beyond it, live video is dropped up to a keyframe that fits.
    static let maximumOutstandingBytes = 4 << 20
    /// Read-ahead limit of a recording.
    private static let recordingOutstandingBytes = 1 << 20
    /// A client that receives nothing for this long is disconnected.
    private static let stallNanoseconds: Int64 = 20_000_000_000
    private static let look = TimeAmount.seconds(1)
    /// Delay between a recording's last packets and the BYE.
    private static let lastPause = Duration.milliseconds(500)
    /// Delay between the BYE of a live source and the end of the connection.
    private static let farewell = TimeAmount.milliseconds(500)

    private enum Content {
        case none
        case live(LiveSource.Use, LiveSource.Description)
        case recording(RecordingPlayback)
    }

    /// Receives a live source's packets for the connection.
    private final class Reader: LiveReader {
        let bound: NIOLoopBound<RTSPConnection>
        let eventLoop: any EventLoop

        init(_ connection: RTSPConnection, _ eventLoop: any EventLoop) {
            bound = NIOLoopBound(connection, eventLoop: eventLoop)
            self.eventLoop = eventLoop
        }

        func take(_ batch: SharedBatch) {
            eventLoop.execute { self.bound.value.takeLive(batch, for: self) }
        }

        func end(_ reason: String, goodbye: SharedBatch) {
            eventLoop.execute { self.bound.value.endLive(reason, goodbye, for: self) }
        }
    }

    /// A track's UDP addresses.
    private struct Remote {
        let rtp: SocketAddress
        let rtcp: SocketAddress
        /// ``RTSPService/datagramKey(_:port:)``.
        let reportKey: String
    }

    private let service: RTSPService
    private let isSecure: Bool
    private var context: ChannelHandlerContext?
    private var number: Int?
    private var address = "local"
    private var session: ServerSession
    private var content = Content.none
    private var identity = Identity.anonymous
    private var pass: AccessPass?
    private var transports: [Int: ClientTransport] = [:]
    private var remotes: [Int: Remote] = [:]
    private var reportKeys: [String] = []
    /// Not sent yet.
    private var datagrams = DatagramQueue()
    /// The task that sends the next of them.
    private var sending: Scheduled<Void>?
    private var reader: Reader?
    private var playing: Task<Void, Never>?
    /// The lookup of the pending request.
    private var pending: Task<Void, Never>?
    /// Live video is dropped up to the next keyframe.
    private var isSkipping = false
    /// The warning about a slow client has been logged.
    private var isKnownSlow = false
    private var outstandingBytes = 0
    /// Time of the last completed write, or of the first pending one; monotonic, nanoseconds.
    private var progressed: Int64 = 0
    private var hasTaken = false
    private var looking: RepeatedTask?
    private var isClosing = false

    init(_ service: RTSPService, isSecure: Bool) {
        self.service = service
        self.isSecure = isSecure
        // UDP would bypass TLS.
        let ports = isSecure ? nil : service.datagramChannels?.ports
        session = ServerSession(
            identifier: Self.identifier(), ports: ports, now: SystemClock.monotonic.nowNanoseconds)
    }

    private static func identifier() -> String {
        randomBytes(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static var now: Int64 { SystemClock.monotonic.nowNanoseconds }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard number == nil, !isClosing else { return }
        address = context.remoteAddress?.ipAddress ?? "local"
        guard let number = service.begin(context.channel) else {
            isClosing = true
            context.close(promise: nil)
            return
        }
        self.number = number
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        looking = context.eventLoop.scheduleRepeatedTask(
            initialDelay: Self.look, delay: Self.look
        ) { _ in bound.value.tick() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        carryOut(session.receive(buffer.readableBytesView, now: Self.now))
        if session.isWaiting { readOn(false) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        stopPlaying()
        pending?.cancel()
        looking?.cancel()
        looking = nil
        sending?.cancel()
        sending = nil
        datagrams.removeAll()
        if let number { service.end(number) }
        number = nil
        content = .none
        self.context = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Broken connections and failed handshakes are expected.
        service.logger.debug("RTSP: \(address) is disconnected: \(error)")
        context.close(promise: nil)
    }

    private func readOn(_ isWanted: Bool) {
        context?.channel.setOption(.autoRead, value: isWanted).whenComplete { _ in }
    }

    private func tick() {
        guard !isClosing else { return }
        let now = Self.now
        if let pass, !service.access.isValid(pass, now: .now()) {
            return close("the account has changed")
        }
        if outstandingBytes > 0, now - progressed > Self.stallNanoseconds {
            // Closes without flushing: the kernel would retry for minutes.
            service.logger.info("RTSP: \(address) does not read, and is disconnected")
            isClosing = true
            context?.close(promise: nil)
            return
        }
        for key in reportKeys {
            if let heard = service.heard(key) { session.heard(now: heard) }
        }
        let takes = hasTaken && session.isPlaying && remotes.isEmpty
        hasTaken = false
        carryOut(session.tick(takesPackets: takes, now: now))
    }

    // MARK: Actions

    private func carryOut(_ actions: [ServerSession.Action]) {
        for action in actions {
            switch action {
            case .send(let bytes): send(bytes)
            case .resolve(let lookup): resolve(lookup)
            case .play(let range, let tracks): play(range, tracks)
            case .pause: stopPlaying()
            case .tearDown:
                stopPlaying()
                content = .none
            case .close(let reason): close(reason)
            }
        }
    }

    /// Performs actions, and parses requests that were received while one was pending.
    private func proceed(_ actions: [ServerSession.Action]) {
        carryOut(actions)
        if !session.isWaiting { readOn(true) }
    }

    private func send(_ bytes: [UInt8]) {
        write(ByteBuffer(bytes: bytes))
        context?.flush()
    }

    private func close(_ reason: String) {
        guard !isClosing else { return }
        isClosing = true
        stopPlaying()
        pending?.cancel()
        service.logger.debug("RTSP: \(address) is disconnected: \(reason)")
        guard let context else { return }
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        // After pending writes.
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            bound.value.close(promise: nil)
        }
    }

    private func resolve(_ lookup: ServerSession.Lookup) {
        guard let context, let number else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let (service, address, eventLoop) = (service, address, context.eventLoop)
        pending = Task {
            let outcome = await service.resolve(lookup, from: address, connection: number)
            eventLoop.execute { bound.value.resolved(outcome) }
        }
    }

    private func resolved(_ outcome: RTSPService.Outcome) {
        guard !isClosing else { return }
        stopPlaying()
        let resolution: ServerSession.Resolution
        switch outcome {
        case .refused(let status): resolution = .refused(status)
        case .live(let use, let description, let identity, let pass):
            content = .live(use, description)
            (self.identity, self.pass) = (identity, pass)
            resolution = .granted(description.presentation, sources: description.sources)
        case .recording(let playback, let identity, let pass):
            content = .recording(playback)
            (self.identity, self.pass) = (identity, pass)
            resolution = .granted(playback.presentation, sources: playback.sources)
        }
        proceed(session.resolved(resolution, now: Self.now))
    }

    // MARK: Playing

    private func play(_ range: PlayRange, _ tracks: [Int: ClientTransport]) {
        guard let context else { return }
        let remotes: [Int: Remote]
        do {
            remotes = try self.remotes(of: tracks)
        } catch {
            return carryOut(session.failed(.unsupportedTransport, now: Self.now))
        }
        switch content {
        case .none: carryOut(session.failed(.notValidInThisState, now: Self.now))
        case .live(let live, let description):
            if reader != nil {
                // The source is already being sent, and a live source has no other start.
                let beginning = ServerSession.Beginning(startNanoseconds: nil, tracks: [:])
                return carryOut(session.began(beginning, now: Self.now))
            }
            use(tracks, remotes)
            let reader = Reader(self, context.eventLoop)
            // Over UDP, a whole group of pictures at once would overflow the receiver's socket buffer.
            let beginning = live.source.add(
                reader, with: description.presentation, catchesUp: remotes.isEmpty)
            guard let beginning else {
                note("its format has changed: request a new description")
                stopPlaying()
                return carryOut(session.failed(.notFound, now: Self.now))
            }
            self.reader = reader
            isSkipping = beginning.tracks.isEmpty
            carryOut(session.began(beginning, now: Self.now))
        case .recording(let playback):
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let eventLoop = context.eventLoop
            // The playback in progress continues until the new start is known.
            pending = Task {
                do {
                    let cursor = try await playback.seek(to: range)
                    eventLoop.execute { bound.value.start(cursor, of: playback, tracks) }
                } catch {
                    let status = RTSPService.status(of: error)
                    let reason = (error as? Problem)?.text
                    eventLoop.execute {
                        if let reason { bound.value.note(reason) }
                        bound.value.failed(status)
                    }
                }
            }
        }
    }

    /// Replaces the playback in progress.
    private func start(
        _ cursor: RecordingPlayback.Cursor, of playback: RecordingPlayback,
        _ tracks: [Int: ClientTransport]
    ) {
        guard !isClosing, let context else { return }
        let before = stopPlaying()
        do {
            use(tracks, try remotes(of: tracks))
        } catch {
            return failed(.unsupportedTransport)
        }
        playing = Self.play(
            playback, cursor, after: before, NIOLoopBound(self, eventLoop: context.eventLoop),
            context.eventLoop)
    }

    private static func play(
        _ playback: RecordingPlayback, _ cursor: RecordingPlayback.Cursor,
        after before: Task<Void, Never>?, _ bound: NIOLoopBound<RTSPConnection>,
        _ eventLoop: any EventLoop
    ) -> Task<Void, Never> {
        Task {
            if let before { await before.value }
            await send(playback, cursor, bound, eventLoop)
        }
    }

    /// The client's UDP addresses, by track; none for tracks on the connection.
    private func remotes(of tracks: [Int: ClientTransport]) throws -> [Int: Remote] {
        var remotes: [Int: Remote] = [:]
        for (track, transport) in tracks {
            guard case .datagrams(let rtp, let rtcp) = transport else { continue }
            remotes[track] = Remote(
                rtp: try SocketAddress(ipAddress: address, port: Int(rtp)),
                rtcp: try SocketAddress(ipAddress: address, port: Int(rtcp)),
                reportKey: RTSPService.datagramKey(address, port: Int(rtcp)))
        }
        return remotes
    }

    private func use(_ tracks: [Int: ClientTransport], _ remotes: [Int: Remote]) {
        transports = tracks
        self.remotes = remotes
        isSkipping = false
        for remote in remotes.values {
            service.expect(remote.reportKey, now: Self.now)
            reportKeys.append(remote.reportKey)
        }
    }

    /// - Returns: the playback that was stopped, which may still be reading.
    @discardableResult
    private func stopPlaying() -> Task<Void, Never>? {
        if let reader, case .live(let use, _) = content { use.source.remove(reader) }
        reader = nil
        for key in reportKeys { service.forget(key) }
        reportKeys = []
        defer { playing = nil }
        playing?.cancel()
        return playing
    }

    /// Sends a recording at its original pace.
    private static func send(
        _ playback: RecordingPlayback, _ cursor: RecordingPlayback.Cursor,
        _ bound: NIOLoopBound<RTSPConnection>, _ eventLoop: any EventLoop
    ) async {
        do {
            let beginning = playback.begin(cursor)
            try await eventLoop.submit {
                bound.value.proceed(bound.value.session.began(beginning, now: now))
            }.get()
            var pace = RecordingPace()
            while let steps = try await playback.next(cursor) {
                // Half a second without packets has no step that checks for cancellation.
                try Task.checkCancellation()
                for step in steps {
                    if step.isAfterWait { pace.restart() }
                    let due = pace.due(step.dueNanoseconds, now: now)
                    if due > now { try await Task.sleep(for: .nanoseconds(due - now)) }
                    try Task.checkCancellation()
                    var waiting = try await eventLoop.submit {
                        bound.value.takeRecorded(step.batch)
                    }.get()
                    playback.note(sent: step)
                    while waiting > recordingOutstandingBytes {
                        try await Task.sleep(for: .milliseconds(20))
                        waiting = try await eventLoop.submit { bound.value.outstandingBytes }.get()
                    }
                }
            }
            if let reason = cursor.endReason {
                eventLoop.execute { bound.value.note(reason) }
            }
            // RTCP has a separate port, and must not overtake the last packets.
            try await Task.sleep(for: lastPause)
            let last = playback.goodbye()
            try await eventLoop.submit {
                _ = bound.value.takeRecorded(last)
                bound.value.session.finished()
            }.get()
        } catch is CancellationError {
            return
        } catch {
            guard !Task.isCancelled else { return }
            let last = playback.goodbye()
            eventLoop.execute {
                _ = bound.value.takeRecorded(last)
                bound.value.close("the recording cannot be read further")
            }
        }
    }

    /// Logs why playback ends, or cannot be started.
    private func note(_ reason: String) {
        guard !isClosing else { return }
        let name =
            switch content {
            case .none: "a source"
            case .live(let use, _): "live/\(use.source.name)"
            case .recording(let playback): playback.name
            }
        service.logger.info("RTSP: \(address): \(name): \(reason)")
    }

    /// Playback cannot be started.
    private func failed(_ status: ServerStatus) {
        guard !isClosing else { return }
        proceed(session.failed(status, now: Self.now))
    }

    private func takeRecorded(_ batch: SharedBatch) -> Int {
        guard !isClosing else { return 0 }
        send(batch)
        return outstandingBytes
    }

    private func takeLive(_ batch: SharedBatch, for reader: Reader) {
        guard !isClosing, self.reader === reader else { return }
        let isFull = outstandingBytes > Self.maximumOutstandingBytes
        if isSkipping || isFull {
            guard batch.batch.beginsDecodable, !isFull else {
                if isFull, !isKnownSlow {
                    isKnownSlow = true
                    service.logger.info("RTSP: \(address) is too slow: pictures are left out")
                }
                isSkipping = true
                return
            }
            isSkipping = false
        }
        send(batch)
    }

    private func endLive(_ reason: String, _ goodbye: SharedBatch, for reader: Reader) {
        guard self.reader === reader, !isClosing, let context else { return }
        note("the stream ends: \(reason)")
        send(goodbye)
        stopPlaying()
        session.finished()
        // Clients that know BYE end their session before; others notice the end of the connection.
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.farewell) {
            let own = bound.value
            if own.reader == nil, own.playing == nil { own.close(reason) }
        }
    }

    // MARK: Packets

    private func send(_ batch: SharedBatch) {
        guard remotes.isEmpty else { return sendDatagrams(batch) }
        if batch.batch.isUsual(transports) {
            write(batch.buffer)
        } else {
            let bytes = batch.batch.interleaved(transports)
            if bytes.isEmpty { return }
            write(ByteBuffer(bytes: bytes))
        }
        context?.flush()
    }

    private func write(_ buffer: ByteBuffer) {
        guard let context else { return }
        let count = buffer.readableBytes
        if outstandingBytes == 0 { progressed = Self.now }
        outstandingBytes += count
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.write(wrapOutboundOut(buffer)).whenComplete { result in
            let own = bound.value
            own.outstandingBytes -= count
            guard case .success = result else { return }
            own.progressed = Self.now
            own.hasTaken = true
        }
    }

    private func sendDatagrams(_ batch: SharedBatch) {
        var group = DatagramQueue.Group()
        for packet in batch.batch.packets {
            guard let remote = remotes[packet.track], let bytes = batch.slice(packet) else {
                continue
            }
            if packet.isControl {
                group.reports.append(.init(remoteAddress: remote.rtcp, data: bytes))
            } else {
                group.packets.append(.init(remoteAddress: remote.rtp, data: bytes))
            }
        }
        datagrams.add(group)
        if sending == nil { sendPortion() }
    }

    private func sendPortion() {
        sending = nil
        guard let context, let channels = service.datagramChannels, !datagrams.isEmpty else {
            return
        }
        for group in datagrams.takePortion() {
            channels.send(reports: group.reports, packets: group.packets)
        }
        // Also after the last portion: the next packets follow it after a pause.
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        sending = context.eventLoop.scheduleTask(in: DatagramQueue.pause) {
            bound.value.sendPortion()
        }
    }
}

/// Computes when a recording's samples are due.
struct RecordingPace {
    private var anchor: (media: Int64, time: Int64)?

    /// The next sample is due at once.
    mutating func restart() { anchor = nil }

    /// - Parameters:
    ///   - media: decoding time on the ``PlaybackTimeline``, nanoseconds.
    ///   - now: monotonic, nanoseconds.
    mutating func due(_ media: Int64, now: Int64) -> Int64 {
        let anchor = anchor ?? (media, now)
        self.anchor = anchor
        return anchor.time.clampedAdding(media.clampedSubtracting(anchor.media))
    }
}
