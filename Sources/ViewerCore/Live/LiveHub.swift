import Accounts
import Media
import Synchronization
import Wire

/// Distributes a feed's sources to their viewers. Any thread may call.
///
/// A source is subscribed to while it has viewers, and for some minutes after. Its last group of pictures is cached during that time,
/// so that a new viewer sees a picture at once.
final class LiveHub: Sendable {
    /// Each has a connection and a queue.
    static let maximumWatchers = 500
    /// Limit per account, which leaves places for others. Not applied without accounts.
    static let maximumWatchersOfAccount = 100
    /// Maximum size of the group of pictures that is cached for new viewers.
    private static let groupBytes = 16 << 20
    /// All groups that are kept: two seconds of 500 sources of 4 Mbit/s.
    static let groupsBytes = 512 << 20
    /// Duration of the subscription after a source's last viewer, so that a returning viewer need not wait for a keyframe. Bounded,
    /// because the collector sends each message of subscribed sources immediately, which costs CPU time.
    static let lingeringNanoseconds: Int64 = 600_000_000_000
    /// Maximum rate of all sources without viewers, bytes a second: eight of 4 Mbit/s. Beyond it, all of their subscriptions end.
    static let lingeringBytesPerSecond = 4 << 20
    /// A collector ends connections with more than 1,200 topics. With more wishes than this, none is sent, and batches
    /// are those of the agents.
    private static let maximumWishes = 500
    /// A source without messages for this long is disconnected.
    private static let silenceNanoseconds: Int64 = 3_000_000_000

    private struct Source {
        var format: LiveFormat
        var begin: LiveFrame
        var number: UInt64
        /// From the last keyframe on; empty while a part of the group is missing.
        var group: [LiveFrame] = []
        var groupBytes = 0
        /// When its keyframe came.
        var groupNanoseconds: Int64 = 0
        var gate = KeyframeGate(isSkipping: true)
        var heardNanoseconds: Int64
    }

    private struct State {
        var watchers: [ObjectIdentifier: LiveWatcher] = [:]
        var sources: [String: Source] = [:]
        var fragments: UInt32 = 0
        var status: [UInt8]?
        /// Of all sources.
        var groupsBytes = 0
        /// Of watchers that are gone.
        var skippedGroups: UInt64 = 0
        var feedLosses: UInt64 = 0
        /// Sources without viewers, and when their subscriptions end; monotonic, nanoseconds.
        var lingering: [String: Int64] = [:]
        /// Of these, since the last tick.
        var lingeringBytes = 0

        func isWatched(_ source: String) -> Bool {
            watchers.values.contains { $0.wants(source) }
        }

        mutating func forget(_ name: String) {
            if let source = sources.removeValue(forKey: name) { groupsBytes -= source.groupBytes }
        }

        mutating func keep(_ source: Source, _ name: String) {
            groupsBytes += source.groupBytes - (sources[name]?.groupBytes ?? 0)
            sources[name] = source
        }

        /// Drops groups down to this many bytes, oldest first: their sources send another one soonest.
        mutating func forgetGroups(downTo maximumBytes: Int) {
            let oldestFirst = sources.filter { !$0.value.group.isEmpty }
                .sorted { $0.value.groupNanoseconds < $1.value.groupNanoseconds }
            for (name, source) in oldestFirst {
                guard groupsBytes > maximumBytes else { return }
                groupsBytes -= source.groupBytes
                sources[name]?.group = []
                sources[name]?.groupBytes = 0
            }
        }
    }

    private let state = Mutex(State())
    private let maximumGroupsBytes: Int
    private let lingeringNanoseconds: Int64
    /// In a structure: a function that is a ``Mutex``'s own value is wrapped once more each time it is read.
    private struct Listener {
        /// Called when the topics have changed.
        var changed: @Sendable () -> Void = {}
    }

    private let listener = Mutex(Listener())

    /// - Parameter lingeringNanoseconds: duration of the subscription to a source without viewers; 0: none.
    init(maximumGroupsBytes: Int = LiveHub.groupsBytes, lingeringNanoseconds: Int64 = 0) {
        self.maximumGroupsBytes = maximumGroupsBytes
        self.lingeringNanoseconds = lingeringNanoseconds
    }

    /// Bytes of the cached groups of pictures.
    var keptBytes: Int { state.withLock { $0.groupsBytes } }

    func onChange(_ body: @escaping @Sendable () -> Void) {
        listener.withLock { $0.changed = body }
    }

    /// Topics to subscribe to.
    var topics: Set<[UInt8]> {
        state.withLock { state in
            var topics = Set(state.lingering.keys.map { FeedTopic.source($0) })
            for watcher in state.watchers.values {
                if let sources = watcher.sources {
                    for source in sources { topics.insert(FeedTopic.source(source)) }
                } else {
                    topics.insert([])
                }
            }
            // An empty one is all of them.
            if topics.contains([]) { topics = [[]] }
            let wishes = Self.wishes(state)
            return wishes.count > Self.maximumWishes ? topics : topics.union(wishes)
        }
    }

    /// The topic of a requested batch length: it names its source.
    private static func wishes(_ state: State) -> Set<[UInt8]> {
        var wishes: Set<[UInt8]> = []
        for watcher in state.watchers.values {
            guard let milliseconds = watcher.batchMilliseconds else { continue }
            let sources = watcher.sources ?? Set(state.sources.keys)
            for source in sources where watcher.wants(source) {
                wishes.insert(FeedTopic.wish(milliseconds, for: source))
            }
        }
        return wishes
    }

    /// Number of watchers.
    var watcherCount: Int { state.withLock { $0.watchers.count } }

    /// Groups of pictures dropped for slow watchers, and losses in the feed.
    var losses: (skippedGroups: UInt64, feedLosses: UInt64) {
        state.withLock { state in
            let own = state.watchers.values.reduce(0) { $0 + $1.skippedGroups }
            return (state.skippedGroups + own, state.feedLosses)
        }
    }

    /// Whether this account can have another watcher.
    func hasRoom(for owner: Identity) -> Bool {
        state.withLock { Self.hasRoom(for: owner, in: $0) }
    }

    private static func hasRoom(for owner: Identity, in state: State) -> Bool {
        guard state.watchers.count < maximumWatchers else { return false }
        return owner == .nobody
            || state.watchers.values.count { $0.owner == owner } < maximumWatchersOfAccount
    }

    /// Begins to watch; ``stop(_:)`` has to follow.
    /// - Returns: false past the limit of watchers, or of this account's.
    func start(_ watcher: LiveWatcher) -> Bool {
        let frames = state.withLock { state -> [LiveFrame]? in
            guard Self.hasRoom(for: watcher.owner, in: state) else { return nil }
            state.watchers[ObjectIdentifier(watcher)] = watcher
            for name in state.lingering.keys where watcher.wants(name) {
                state.lingering[name] = nil
            }
            var frames: [LiveFrame] = []
            for (name, source) in state.sources where watcher.wants(name) {
                frames.append(source.begin)
                frames += source.group
                // The present group is not available: it begins with the next one.
                if source.group.isEmpty { watcher.skip(name) }
            }
            // New messages must not overtake it.
            for frame in frames { watcher.take(frame) }
            return frames
        }
        listener.withLock { $0.changed }()
        return frames != nil
    }

    /// - Parameter now: monotonic, nanoseconds.
    func stop(_ watcher: LiveWatcher, now: Int64 = SystemClock.monotonic.nowNanoseconds) {
        state.withLock { state in
            if state.watchers.removeValue(forKey: ObjectIdentifier(watcher)) != nil {
                state.skippedGroups += watcher.skippedGroups
            }
            for name in state.sources.keys
            where state.lingering[name] == nil && !state.isWatched(name) {
                if lingeringNanoseconds > 0 {
                    state.lingering[name] = now.clampedAdding(lingeringNanoseconds)
                } else {
                    // The cached group of pictures would be outdated for the next viewer.
                    state.forget(name)
                }
            }
        }
        watcher.end()
        listener.withLock { $0.changed }()
    }

    /// Processes a message of the feed.
    func take(_ samples: FeedSamples, media: [UInt8], now: Int64) {
        let isNew = state.withLock { state -> Bool in
            let watchers = state.watchers.values.filter { $0.wants(samples.source) }
            if watchers.isEmpty {
                guard state.lingering[samples.source] != nil else { return false }
                state.lingeringBytes += media.count
            }
            let isNew = state.sources[samples.source] == nil
            let format = LiveFormat(samples)
            var source: Source
            if let known = state.sources[samples.source], known.format == format {
                source = known
                if samples.number != known.number &+ 1 {
                    state.feedLosses += 1
                    source.gate.skip()
                    source.group = []
                    source.groupBytes = 0
                    for watcher in watchers { watcher.take(.skipped(samples.source)) }
                }
            } else {
                do throws(LiveError) {
                    let begin = try LiveFrame(format, of: samples.source)
                    source = Source(
                        format: format, begin: begin, number: 0, heardNanoseconds: now)
                    for watcher in watchers { watcher.take(begin) }
                } catch {
                    // No player supports the format.
                    return false
                }
            }
            source.number = samples.number
            source.heardNanoseconds = now
            defer {
                state.keep(source, samples.source)
                if state.groupsBytes > maximumGroupsBytes {
                    // Several at once, for a low average cost.
                    state.forgetGroups(downTo: maximumGroupsBytes / 8 * 7)
                }
            }
            state.fragments &+= 1
            let fragment: LiveFragment
            do throws(LiveError) {
                fragment = try LiveFragment(samples, media: media, number: state.fragments)
            } catch {
                source.gate.skip()
                return isNew
            }
            if fragment.beginsDecodable {
                source.group = []
                source.groupBytes = 0
                source.groupNanoseconds = now
            }
            guard source.gate.admits(beginsDecodable: fragment.beginsDecodable) else {
                return isNew
            }
            let frame = LiveFrame(fragment)
            // A group without its keyframe is useless.
            if fragment.beginsDecodable || !source.group.isEmpty {
                source.group.append(frame)
                source.groupBytes += frame.bytes.count
            }
            if source.groupBytes > Self.groupBytes {
                source.group = []
                source.groupBytes = 0
            }
            for watcher in watchers { watcher.take(frame) }
            return isNew
        }
        // Watchers of all sources may request a batch length for this one.
        if isNew { listener.withLock { $0.changed }() }
    }

    /// Reports sources that have gone, and sends a heartbeat; once a second.
    func tick(now: Int64) {
        if endLingering(now) { listener.withLock { $0.changed }() }
        state.withLock { state in
            for (name, source) in state.sources
            where now - source.heardNanoseconds > Self.silenceNanoseconds {
                state.forget(name)
                let frame = LiveFrame.gone(name)
                for watcher in state.watchers.values where watcher.wants(name) {
                    watcher.take(frame)
                }
            }
            for watcher in state.watchers.values { watcher.take(.beat) }
        }
    }

    /// Ends expired subscriptions to sources without viewers, and all of them if their rate is too high.
    /// - Returns: whether the topics have changed.
    private func endLingering(_ now: Int64) -> Bool {
        state.withLock { state in
            let isTooMuch = state.lingeringBytes > Self.lingeringBytesPerSecond
            state.lingeringBytes = 0
            let over = state.lingering.filter { isTooMuch || $0.value <= now }.keys
            for name in over {
                state.lingering[name] = nil
                state.forget(name)
            }
            return !over.isEmpty
        }
    }
}
