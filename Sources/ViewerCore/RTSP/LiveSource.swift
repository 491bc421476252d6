import Media
import RTSPServer
import Synchronization
import Wire

/// A receiver of a live source's packets, in order. Any thread may call it.
protocol LiveReader: AnyObject, Sendable {
    func take(_ batch: SharedBatch)
    /// No more packets follow.
    func end(_ reason: String)
}

/// Packetizes a live source once for all of its RTSP readers (module `RTSPServer`).
///
/// The feed is subscribed to while there are readers, and for ten seconds after the last one. A reader starts with the last keyframe.
/// Timestamps continue across sessions; if a track's format changes, readers are disconnected and can request a new description.
final class LiveSource: Sendable {
    /// The description, and the SSRCs of the packets.
    struct Description: Sendable {
        var presentation: ServedPresentation
        /// SSRC of each track.
        var sources: [UInt32]
    }

    /// Time without readers until the source is closed; a client that reconnects sooner need not wait for a keyframe.
    private static let idleNanoseconds: Int64 = 10_000_000_000
    /// Readers are disconnected after this time without samples.
    private static let awayNanoseconds: Int64 = 30_000_000_000
    /// Time limit for ``description(now:)``.
    static let patienceNanoseconds: Int64 = 5_000_000_000
    /// Maximum size of the group of pictures that is cached for new readers.
    private static let groupBytes = 16 << 20
    private static let reportNanoseconds: Int64 = 5_000_000_000

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
        /// After a move to another collector, which may repeat a group of pictures: session time at which the next one begins.
        var resumedNanoseconds = Int64.min
        /// Session time of the newest sample and of the last report, nanoseconds.
        var newest = Int64.min
        var reported = Int64.min
        var readers: [ObjectIdentifier: any LiveReader] = [:]
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Monotonic, nanoseconds.
        var usedNanoseconds: Int64
        var goneNanoseconds: Int64?
        var hasEnded = false
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

    var readerCount: Int { state.withLock { $0.readers.count } }

    /// Packetizes the feed until the source is idle.
    func run() async {
        guard hub.start(watcher) else { return finish("too many live sources are watched") }
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

    /// The description, after the first samples; nil on timeout.
    func description(now: Int64 = SystemClock.monotonic.nowNanoseconds) async -> Description? {
        let known = state.withLock { state -> Bool in
            state.usedNanoseconds = now
            return state.presentation != nil || state.hasEnded
        }
        if !known {
            let waking = Task { [self] in
                try await Task.sleep(for: .nanoseconds(Self.patienceNanoseconds))
                wake()
            }
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state -> Bool in
                    if state.presentation != nil || state.hasEnded { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isDue { continuation.resume() }
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
            defer { state.waiting = [] }
            return state.waiting
        }
        for each in waiting { each.resume() }
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
        let end = state.withLock { state -> Bool in
            if !state.readers.isEmpty { state.usedNanoseconds = now }
            let isAway = state.goneNanoseconds.map { now - $0 > Self.awayNanoseconds } ?? false
            return isAway || now - state.usedNanoseconds > Self.idleNanoseconds
        }
        if end { finish("the source sends nothing") }
    }

    private static func forgetGroup(_ state: inout State) {
        state.isBroken = true
        state.group = []
        state.groupBytes = 0
    }

    private func begin(_ format: LiveFormat) {
        let ended = state.withLock { state -> [any LiveReader] in
            defer { state.format = format }
            state.goneNanoseconds = nil
            Self.forgetGroup(&state)
            let isMoved =
                state.format?.session == format.session
                && state.format?.collector != format.collector
            state.resumedNanoseconds = isMoved ? state.newest : .min
            if Self.follow(format, &state) { return [] }
            let presentation = ServedPresentation(
                name: name, formats: format.formats, extent: .live)
            state.presentation = presentation
            state.senders = presentation.tracks.compactMap { TrackSender($0, random: random()) }
            state.zeroUTCNanoseconds = format.zeroUTCNanoseconds
            state.newest = .min
            state.reported = .min
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in ended { reader.end("the source is coded otherwise from now on") }
        wake()
    }

    /// Applies a new session or format to the same tracks.
    private static func follow(_ format: LiveFormat, _ state: inout State) -> Bool {
        guard let old = state.presentation else { return false }
        let new = ServedPresentation(name: old.name, formats: format.formats, extent: .live)
        guard new.tracks.count == old.tracks.count else { return false }
        // If the clock was set back, timestamps would repeat.
        let shift = format.zeroUTCNanoseconds.clampedSubtracting(state.zeroUTCNanoseconds)
        guard format.session == state.format?.session || shift > state.newest else { return false }
        var senders = state.senders
        for index in senders.indices where !senders[index].follow(new.tracks[index].format) {
            return false
        }
        state.senders = senders
        state.presentation = new
        return true
    }

    private static func take(_ fragment: LiveFragment, _ state: inout State) {
        guard let format = state.format, fragment.session == format.session else { return }
        let shift = format.zeroUTCNanoseconds.clampedSubtracting(state.zeroUTCNanoseconds)
        let start = shift.clampedAdding(fragment.startNanoseconds)
        // Timestamps must not repeat.
        if fragment.beginsDecodable, start >= state.resumedNanoseconds { state.isBroken = false }
        guard !state.isBroken else { return }
        var batch = PacketBatch()
        batch.beginsDecodable = fragment.beginsDecodable
        // The picture's time: FFmpeg 5.1 has no time for the first picture, and places it at the time of the report or of the PLAY
        // response. Audio of the same message may start earlier.
        let instant = fragment.mainNanoseconds.map { shift.clampedAdding($0.lowerBound) } ?? start
        if fragment.beginsDecodable || start.clampedSubtracting(state.reported) > reportNanoseconds
        {
            report(instant, to: &batch, &state)
        }
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
                let ticks = saturatingRescale(
                    shift, from: .nanoseconds, to: state.senders[sender].timescale
                ).clampedAdding(sample.pts)
                do throws(BitstreamError) {
                    try state.senders[sender].append(
                        Array(fragment.bytes[place..<end]), ticks: ticks,
                        isKeyframe: sample.flags.contains(.keyframe), to: &batch)
                } catch {
                    // The sample cannot be packetized: receivers count a lost packet.
                    state.senders[sender].noteLoss()
                }
            }
        }
        state.newest = max(
            state.newest, start.clampedAdding(fragment.durationNanoseconds))
        guard !batch.isEmpty else { return }
        let shared = SharedBatch(batch)
        if fragment.beginsDecodable {
            state.group = []
            state.groupBytes = 0
            state.groupBeginning = first
        }
        if fragment.beginsDecodable || !state.group.isEmpty {
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

    private func finish(_ reason: String) {
        let readers = state.withLock { state -> [any LiveReader] in
            state.hasEnded = true
            state.group = []
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.end(reason) }
        wake()
        hub.stop(watcher)
    }
}

/// The live sources with readers, by name.
final class LiveSources: Sendable {
    private let hub: LiveHub
    private let sources = Mutex<[String: LiveSource]>([:])

    init(hub: LiveHub) { self.hub = hub }

    /// Limit of subscribed sources.
    private static let maximumSources = 500

    /// The source of a name, subscribed to if necessary; nil if there are too many.
    func source(_ name: String) -> LiveSource? {
        let (source, isNew) = sources.withLock { sources -> (LiveSource?, Bool) in
            if let known = sources[name], !known.isOver { return (known, false) }
            for (name, source) in sources where source.isOver { sources[name] = nil }
            guard sources.count < Self.maximumSources else { return (nil, false) }
            let new = LiveSource(name, hub: hub)
            sources[name] = new
            return (new, true)
        }
        if let source, isNew { Task { await source.run() } }
        return source
    }

    var readerCount: Int {
        sources.withLock { $0.values.reduce(0) { $0 + $1.readerCount } }
    }

    func stop() {
        for source in sources.withLock({ Array($0.values) }) { source.stop() }
    }
}
