import Media
import RTSPServer
import Synchronization
import Wire

/// A receiver of a live source's packets, in order. Any thread may call it.
protocol LiveReader: AnyObject, Sendable {
    func take(_ batch: SharedBatch)
    /// No more packets follow.
    /// - Parameter goodbye: BYE packets of all tracks.
    func end(_ reason: String, goodbye: SharedBatch)
}

/// Packetizes a live source once for all of its RTSP readers (module `RTSPServer`).
///
/// The feed is subscribed to while there are clients, and for ten seconds after the last one; not after it if the source sent nothing.
/// A reader starts with the last keyframe. Timestamps continue across sessions; if a track's format changes, readers are disconnected
/// and can request a new description.
final class LiveSource: Sendable {
    /// The description, and the SSRCs of the packets.
    struct Description: Sendable {
        var presentation: ServedPresentation
        /// SSRC of each track.
        var sources: [UInt32]
    }

    /// A client's use of the source, from its request on. The source remains subscribed while there are uses.
    final class Use: Sendable {
        let source: LiveSource

        /// Counted already.
        fileprivate init(of source: LiveSource) { self.source = source }

        deinit { source.leave() }
    }

    /// Time without clients until the source is closed; a client that reconnects sooner need not wait for a keyframe.
    private static let idleNanoseconds: Int64 = 10_000_000_000
    /// Readers are disconnected after this time without samples.
    private static let awayNanoseconds: Int64 = 30_000_000_000
    /// Time limit for ``description(now:)``.
    static let patienceNanoseconds: Int64 = 5_000_000_000
    /// Maximum size of the group of pictures that is cached for new readers.
    private static let groupBytes = 16 << 20
    private static let reportNanoseconds: Int64 = 5_000_000_000
    /// Maximum time by which a session may begin before the end of the previous one. Beyond it, the clock was set back.
    private static let overlapNanoseconds: Int64 = 5_000_000_000

    private struct State {
        var format: LiveFormat?
        var presentation: ServedPresentation?
        var senders: [TrackSender] = []
        /// UTC of the timeline's zero, which is that of the first session, nanoseconds.
        var zeroUTCNanoseconds: Int64 = 0
        /// Batches since the last keyframe; empty if one was lost.
        var group: [SharedBatch] = []
        var groupBytes = 0
        var groupBeginning = ServerSession.Beginning(startNanoseconds: nil, tracks: [:])
        /// Samples are dropped up to the next keyframe.
        var isBroken = true
        /// Presentation time of the newest sample of each track on the timeline, nanoseconds.
        var newest: [TrackKind: Int64] = [:]
        /// ``newest`` of the previous session or collector: samples up to it are dropped. Sessions may overlap, and another collector may
        /// repeat a group of pictures.
        var resumed: [TrackKind: Int64] = [:]
        /// Decoding time of the newest sample of each track on the timeline, and half its duration, nanoseconds.
        var sent: [TrackKind: Int64] = [:]
        /// ``sent`` at the last interruption of the same stream: samples before it were sent. A collector that was restarted receives
        /// the agent's last samples again. Their times may differ by less than half a sample, because clocks are estimated again.
        var repeated: [TrackKind: Int64] = [:]
        /// Time of the last report on the timeline, nanoseconds.
        var reported = Int64.min
        var readers: [ObjectIdentifier: any LiveReader] = [:]
        /// Number of ``Use``s.
        var uses = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiting = 0
        /// Monotonic, nanoseconds.
        var usedNanoseconds: Int64
        var goneNanoseconds: Int64?
        var hasEnded = false
        /// The hub had no room.
        var isRefused = false

        var isIdle: Bool { readers.isEmpty && uses == 0 }
    }

    let name: String
    private let hub: LiveHub
    private let watcher: LiveWatcher
    private let random: @Sendable () -> (UInt64, UInt64)
    private let state: Mutex<State>

    init(
        _ name: String, hub: LiveHub, now: Int64 = SystemClock.monotonic.nowNanoseconds,
        random: @escaping @Sendable () -> (UInt64, UInt64) = {
            (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
        }
    ) {
        self.name = name
        self.hub = hub
        self.random = random
        watcher = LiveWatcher(sources: [name]) { _ in true }
        state = Mutex(State(usedNanoseconds: now))
    }

    /// The source is closed.
    var isOver: Bool { state.withLock(\.hasEnded) }

    /// The hub had no room for it.
    var isRefused: Bool { state.withLock(\.isRefused) }

    var readerCount: Int { state.withLock { $0.readers.count } }

    /// Last use, monotonic, nanoseconds; nil: it is in use, or closed.
    var idleSince: Int64? {
        state.withLock { $0.isIdle && !$0.hasEnded ? $0.usedNanoseconds : nil }
    }

    /// Nil if the source is closed.
    func use() -> Use? {
        let isOpen = state.withLock { state -> Bool in
            guard !state.hasEnded else { return false }
            state.uses += 1
            return true
        }
        return isOpen ? Use(of: self) : nil
    }

    private func leave(now: Int64 = SystemClock.monotonic.nowNanoseconds) {
        finish("no client waits for the source") { state in
            state.uses -= 1
            state.usedNanoseconds = max(state.usedNanoseconds, now)
            // There may be no such source.
            return state.isIdle && state.presentation == nil && !state.hasEnded
        }
    }

    /// Packetizes the feed until the source is idle.
    func run() async {
        guard !isOver else { return }
        guard hub.start(watcher) else {
            state.withLock { $0.isRefused = true }
            return finish("too many live sources are watched")
        }
        while true {
            let frames = await watcher.next()
            if frames.isEmpty { break }
            for frame in frames { take(frame, now: SystemClock.monotonic.nowNanoseconds) }
            if isOver { break }
        }
        hub.stop(watcher)
        finish("the source has ended")
    }

    func stop() { hub.stop(watcher) }

    // MARK: Readers

    /// The description, after the first samples; nil on timeout, or when the task is cancelled.
    func description(now: Int64 = SystemClock.monotonic.nowNanoseconds) async -> Description? {
        let number = state.withLock { state -> Int? in
            state.usedNanoseconds = now
            guard state.presentation == nil, !state.hasEnded else { return nil }
            state.lastWaiting += 1
            return state.lastWaiting
        }
        if let number {
            let waking = Task { [self] in
                try await Task.sleep(for: .nanoseconds(Self.patienceNanoseconds))
                wake(number)
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isDue = state.withLock { state -> Bool in
                        guard state.presentation == nil, !state.hasEnded, !Task.isCancelled
                        else { return true }
                        state.waiting[number] = continuation
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            } onCancel: {
                wake(number)
            }
            waking.cancel()
        }
        return state.withLock { state in
            guard let presentation = state.presentation, !state.hasEnded else { return nil }
            return Description(
                presentation: presentation, sources: state.senders.map(\.source))
        }
    }

    private func wake() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting
        }
        for each in waiting.values { each.resume() }
    }

    private func wake(_ number: Int) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }

    /// Adds a reader.
    /// - Parameters:
    ///   - description: as sent to the client; nil is returned if it is no longer valid.
    ///   - catchesUp: sends the packets since the last keyframe at once; otherwise the reader starts at the next keyframe.
    func add(
        _ reader: any LiveReader, with description: ServedPresentation, catchesUp: Bool
    ) -> ServerSession.Beginning? {
        state.withLock { state in
            guard !state.hasEnded, state.presentation == description else { return nil }
            state.readers[ObjectIdentifier(reader)] = reader
            guard catchesUp, !state.group.isEmpty else {
                return ServerSession.Beginning(startNanoseconds: nil, tracks: [:])
            }
            // Under the lock, so that new batches follow.
            for batch in state.group { reader.take(batch) }
            return state.groupBeginning
        }
    }

    func remove(_ reader: any LiveReader, now: Int64 = SystemClock.monotonic.nowNanoseconds) {
        state.withLock { state in
            state.readers[ObjectIdentifier(reader)] = nil
            state.usedNanoseconds = max(state.usedNanoseconds, now)
        }
    }

    // MARK: Feed

    func take(_ frame: LiveFrame, now: Int64) {
        switch frame.content {
        case .begin(let format, _): begin(format)
        case .media(let fragment):
            state.withLock { state in
                state.goneNanoseconds = nil
                Self.take(fragment, &state)
            }
        case .skipped:
            state.withLock { state in
                for index in state.senders.indices { state.senders[index].noteLoss() }
                Self.forgetGroup(&state)
            }
        case .gone:
            state.withLock { state in
                state.goneNanoseconds = now
                Self.forgetGroup(&state)
            }
        case .beat: beat(now)
        }
    }

    private func beat(_ now: Int64) {
        finish("the source sends nothing") { state in
            if !state.isIdle { state.usedNanoseconds = now }
            let isAway = state.goneNanoseconds.map { now - $0 > Self.awayNanoseconds } ?? false
            return isAway || now - state.usedNanoseconds > Self.idleNanoseconds
        }
    }

    private static func forgetGroup(_ state: inout State) {
        state.isBroken = true
        state.group = []
        state.groupBytes = 0
        state.repeated = state.sent
    }

    private func begin(_ format: LiveFormat) {
        let (ended, reason, goodbye) = state.withLock {
            state -> ([any LiveReader], String, SharedBatch?) in
            defer { state.format = format }
            state.goneNanoseconds = nil
            Self.forgetGroup(&state)
            let isResumed =
                state.format?.session != format.session
                || state.format?.collector != format.collector
            if isResumed {
                state.resumed = state.newest
                state.repeated = [:]
            }
            let reason: String
            switch Self.follow(format, &state) {
            case .followed: return ([], "", nil)
            case .otherFormat:
                let tracks = format.formats.map(\.summary).joined(separator: ", ")
                reason = "the source has other tracks from now on (\(tracks)): connect again"
            case .earlierClock:
                reason = "the clock was set back, timestamps would repeat: connect again"
            }
            let goodbye = Self.goodbye(state)
            let presentation = ServedPresentation(
                name: name, formats: format.formats, extent: .live)
            state.presentation = presentation
            state.senders = presentation.tracks.compactMap { TrackSender($0, random: random()) }
            state.zeroUTCNanoseconds = format.zeroUTCNanoseconds
            state.newest = [:]
            state.resumed = [:]
            state.sent = [:]
            state.repeated = [:]
            state.reported = .min
            defer { state.readers = [:] }
            return (Array(state.readers.values), reason, goodbye)
        }
        if let goodbye {
            for reader in ended { reader.end(reason, goodbye: goodbye) }
        }
        wake()
    }

    /// Result of a new session or format.
    private enum Following {
        case followed
        /// A client needs a new description.
        case otherFormat
        /// The session begins long before the end of the previous one.
        case earlierClock
    }

    /// Applies a new session or format to the same tracks.
    private static func follow(_ format: LiveFormat, _ state: inout State) -> Following {
        guard let old = state.presentation else { return .otherFormat }
        let new = ServedPresentation(name: old.name, formats: format.formats, extent: .live)
        guard new.tracks.count == old.tracks.count else { return .otherFormat }
        // A session ends with the last sample of each source, and the next one may begin before that.
        let shift = format.zeroUTCNanoseconds.clampedSubtracting(state.zeroUTCNanoseconds)
        let newest = state.newest.values.max() ?? .min
        guard
            format.session == state.format?.session
                || shift.clampedAdding(overlapNanoseconds) > newest
        else { return .earlierClock }
        var senders = state.senders
        for index in senders.indices where !senders[index].follow(new.tracks[index].format) {
            return .otherFormat
        }
        state.senders = senders
        state.presentation = new
        return .followed
    }

    private static func take(_ fragment: LiveFragment, _ state: inout State) {
        guard let format = state.format, fragment.session == format.session else { return }
        let shift = format.zeroUTCNanoseconds.clampedSubtracting(state.zeroUTCNanoseconds)
        let start = shift.clampedAdding(fragment.startNanoseconds)
        // The picture's time: FFmpeg 5.1 has no time for the first picture, and places it at the time of the report or of the PLAY
        // response. Audio of the same message may start earlier.
        let instant = fragment.mainNanoseconds.map { shift.clampedAdding($0.lowerBound) } ?? start
        // Timestamps must not repeat.
        let main: TrackKind =
            format.formats.contains { $0.kind == .video } ? .video : .audio
        if fragment.beginsDecodable, instant > state.resumed[main] ?? .min {
            state.isBroken = false
        }
        guard !state.isBroken else { return }
        var batch = PacketBatch()
        var (isReported, hasMain) = (false, false)
        let first = beginning(instant, state)
        let media =
            fragment.bytes.count
            - fragment.runs.reduce(0) { sum, run in
                run.samples.reduce(sum) { $0 + Int($1.sizeBytes) }
            }
        var place = media
        for run in fragment.runs {
            let sender = state.senders.firstIndex { index in
                state.presentation?.tracks[index.track].format.kind == run.track
            }
            for sample in run.samples {
                let end = place + Int(sample.sizeBytes)
                defer { place = end }
                guard let sender, end <= fragment.bytes.count else { continue }
                let scale = state.senders[sender].timescale
                let ticks = saturatingRescale(shift, from: .nanoseconds, to: scale)
                    .clampedAdding(sample.pts)
                let time = shift.clampedAdding(
                    scale.nanoseconds(sample.pts))
                let decoding = shift.clampedAdding(
                    scale.nanoseconds(sample.dts))
                // Pictures with the times of the previous session are before the keyframe.
                guard decoding >= state.repeated[run.track] ?? .min,
                    run.track == main || time > state.resumed[run.track] ?? .min
                else { continue }
                let isKeyframe = sample.flags.contains(.keyframe)
                if run.track == main, !hasMain {
                    hasMain = true
                    batch.beginsDecodable =
                        fragment.beginsDecodable && (isKeyframe || main == .audio)
                }
                if !isReported,
                    fragment.beginsDecodable
                        || start.clampedSubtracting(state.reported) > reportNanoseconds
                {
                    report(instant, to: &batch, &state)
                }
                isReported = true
                state.newest[run.track] = max(state.newest[run.track] ?? .min, time)
                state.sent[run.track] = decoding.clampedAdding(
                    scale.nanoseconds(sample.duration) / 2)
                do throws(BitstreamError) {
                    try state.senders[sender].append(
                        Array(fragment.bytes[place..<end]), ticks: ticks,
                        isKeyframe: isKeyframe, to: &batch)
                } catch {
                    // The sample cannot be packetized: receivers count a lost packet.
                    state.senders[sender].noteLoss()
                }
            }
        }
        guard !batch.isEmpty else { return }
        let shared = SharedBatch(batch)
        if batch.beginsDecodable {
            state.group = []
            state.groupBytes = 0
            state.groupBeginning = first
        }
        if batch.beginsDecodable || !state.group.isEmpty {
            state.group.append(shared)
            state.groupBytes += batch.bytes.count
        }
        if state.groupBytes > groupBytes {
            state.group = []
            state.groupBytes = 0
        }
        for reader in state.readers.values { reader.take(shared) }
    }

    /// Appends a sender report of each track for one instant.
    private static func report(_ instant: Int64, to batch: inout PacketBatch, _ state: inout State)
    {
        for sender in state.senders {
            sender.report(
                ticks: saturatingRescale(instant, from: .nanoseconds, to: sender.timescale),
                utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(instant), to: &batch)
        }
        state.reported = instant
    }

    /// BYE packets of all tracks.
    private static func goodbye(_ state: State) -> SharedBatch {
        var batch = PacketBatch()
        for sender in state.senders {
            let instant = state.newest.values.max() ?? 0
            sender.goodbye(
                ticks: saturatingRescale(instant, from: .nanoseconds, to: sender.timescale),
                utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(instant), to: &batch)
        }
        return SharedBatch(batch)
    }

    private static func beginning(_ instant: Int64, _ state: State) -> ServerSession.Beginning {
        var tracks: [Int: ServerSession.Beginning.Track] = [:]
        for sender in state.senders {
            tracks[sender.track] = ServerSession.Beginning.Track(
                sequence: sender.sequence,
                timestamp: sender.timestamp(
                    saturatingRescale(instant, from: .nanoseconds, to: sender.timescale)))
        }
        return ServerSession.Beginning(startNanoseconds: nil, tracks: tracks)
    }

    /// Closes the source if it has no clients.
    func closeIfIdle() {
        finish("other sources are requested") { $0.isIdle && !$0.hasEnded }
    }

    /// Closes the source.
    /// - Parameter isDue: evaluated under the lock that closes it, so that no client begins to use it in between.
    private func finish(_ reason: String, if isDue: (inout State) -> Bool = { _ in true }) {
        let ending = state.withLock { state -> (readers: [any LiveReader], goodbye: SharedBatch)? in
            guard isDue(&state) else { return nil }
            state.hasEnded = true
            state.group = []
            defer { state.readers = [:] }
            return (Array(state.readers.values), Self.goodbye(state))
        }
        guard let ending else { return }
        for reader in ending.readers { reader.end(reason, goodbye: ending.goodbye) }
        wake()
        hub.stop(watcher)
    }
}
