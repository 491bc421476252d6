import Accounts
import Media
import Synchronization

/// Frames that wait to be sent to one reader of live pictures. Their size is limited: a reader that does not keep up continues with the next keyframe.
final class LiveWatcher: Sendable {
    /// A second of sixteen cameras.
    static let capacityBytes = 8 << 20

    /// Limit of queued frames of any size: minutes of sixteen cameras.
    private static let maximumFrames = 20_000

    /// Identifies a frame without media.
    private struct Word: Hashable {
        var kind: LiveFrame.Header.Kind
        var source: String?
    }

    private struct State {
        var frames: [LiveFrame] = []
        var bytes = 0
        /// By source; sources without drops have none.
        var gates: [String: KeyframeGate] = [:]
        var waiting: CheckedContinuation<[LiveFrame], Never>?
        var hasEnded = false
        var skippedGroups: UInt64 = 0
    }

    /// The watching account; `.anonymous` without accounts, and for LL-HLS.
    let owner: Identity
    /// Nil: all.
    let sources: Set<String>?
    /// Requested batch length of the agents, milliseconds; nil: that of the other watchers.
    let batchMilliseconds: UInt32?
    private let mayRead: @Sendable (String) -> Bool
    private let state = Mutex(State())

    init(
        sources: Set<String>?, for owner: Identity = .anonymous, batchMilliseconds: UInt32? = nil,
        mayRead: @escaping @Sendable (String) -> Bool
    ) {
        self.owner = owner
        self.sources = sources
        self.batchMilliseconds = batchMilliseconds
        self.mayRead = mayRead
    }

    /// Groups of pictures dropped because the client was too slow.
    var skippedGroups: UInt64 { state.withLock(\.skippedGroups) }

    func wants(_ source: String) -> Bool { sources?.contains(source) ?? true && mayRead(source) }

    /// A source begins with its next keyframe.
    func skip(_ source: String) {
        state.withLock { _ = $0.gates[source, default: KeyframeGate()].skip() }
    }

    /// Queues a frame of a watched source, or one without a source.
    func take(_ frame: LiveFrame) {
        let woken = state.withLock {
            state -> (CheckedContinuation<[LiveFrame], Never>, [LiveFrame])? in
            guard !state.hasEnded else { return nil }
            Self.append(frame, to: &state)
            guard let waiting = state.waiting, !state.frames.isEmpty else { return nil }
            state.waiting = nil
            return (waiting, Self.takeFrames(&state))
        }
        if let (waiting, frames) = woken { waiting.resume(returning: frames) }
    }

    private static func takeFrames(_ state: inout State) -> [LiveFrame] {
        defer {
            state.frames.removeAll()
            state.bytes = 0
        }
        return state.frames
    }

    private static func append(_ frame: LiveFrame, to state: inout State) {
        if frame.isMedia, let source = frame.source, state.gates[source]?.isSkipping == true {
            guard state.gates[source]?.admits(beginsDecodable: frame.beginsDecodable) == true
            else { return }
            add(.skipped(source), to: &state)
        }
        add(frame, to: &state)
        guard state.bytes > capacityBytes || state.frames.count > maximumFrames else { return }
        for source in Set(state.frames.filter(\.isMedia).compactMap(\.source))
        where state.gates[source, default: KeyframeGate()].skip() {
            state.skippedGroups += 1
        }
        // Format frames are sent once: the newest frame of each source and type is kept.
        var seen: Set<Word> = []
        var kept: [LiveFrame] = []
        for frame in state.frames.reversed() where !frame.isMedia {
            if seen.insert(Word(kind: frame.kind, source: frame.source)).inserted {
                kept.append(frame)
            }
        }
        state.frames = kept.reversed()
        state.bytes = state.frames.reduce(0) { $0 + $1.bytes.count }
    }

    private static func add(_ frame: LiveFrame, to state: inout State) {
        state.frames.append(frame)
        state.bytes += frame.bytes.count
    }

    /// All frames since the last call; waits for one. Empty: it has ended.
    func next() async -> [LiveFrame] {
        await withCheckedContinuation { continuation in
            let frames = state.withLock { state -> [LiveFrame]? in
                guard state.frames.isEmpty, !state.hasEnded else {
                    return Self.takeFrames(&state)
                }
                state.waiting = continuation
                return nil
            }
            if let frames { continuation.resume(returning: frames) }
        }
    }

    /// No frames follow.
    func end() {
        let waiting = state.withLock { state -> CheckedContinuation<[LiveFrame], Never>? in
            state.hasEnded = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(returning: [])
    }
}
