import Accounts
import Media
import Synchronization
import Wire

/// Distributes the sources of the collectors' feeds to their viewers. Any thread may call.
///
/// A source is subscribed to while it has viewers, and for some minutes after. Its last group of pictures is cached during that time,
/// so that a new viewer sees a picture at once.
///
/// Each feed's messages of a source are a stream of their own. Viewers get one of them: the *active* one, which stays active
/// until it is silent for ``patienceNanoseconds``. Then the source has moved: viewers continue with the cached group of another
/// feed that is not silent. So a feed that sends a source that belongs to another one changes nothing while the active stream
/// continues, and a feed that sends too much loses its own cache.
final class LiveHub: Sendable {
    /// Each has a connection and a queue.
    static let maximumWatchers = 500
    /// Limit per account, which leaves places for others. Not applied without accounts.
    static let maximumWatchersOfAccount = 100
    /// Maximum size of the group of pictures that is cached for new viewers.
    private static let groupBytes = 16 << 20
    /// Maximum bytes of all cached groups: two seconds of 500 sources of 4 Mbit/s. Each feed has an equal share.
    static let groupsBytes = 512 << 20
    /// Sources of one feed: more than a collector admits. Others are left out.
    static let maximumSourcesOfFeed = 2_048
    /// Duration of the subscription after a source's last viewer, so that a returning viewer need not wait for a keyframe. Bounded,
    /// because the collector sends each message of subscribed sources immediately, which costs CPU time.
    static let lingeringNanoseconds: Int64 = 600_000_000_000
    /// Maximum rate of all sources without viewers, bytes a second: eight of 4 Mbit/s. Beyond it, all of their subscriptions end.
    static let lingeringBytesPerSecond = 4 << 20
    /// A collector ends connections with more than 1,200 topics. With more requests for delays than this, none is sent, and batches
    /// are those of the agents.
    private static let maximumRequests = 500
    /// A source without messages for this long is disconnected.
    private static let silenceNanoseconds: Int64 = 3_000_000_000
    /// An active stream without messages for this long, and for twice its usual interval, is replaced by another feed's.
    /// Batches of watched sources have 0.1 s.
    static let patienceNanoseconds: Int64 = 1_000_000_000
    /// Maximum lag of media for which a source returns to its previous feed.
    fileprivate static let timelyNanoseconds: Int64 = 3_000_000_000
    /// A feed that was replaced because of its silence is preferred again within this time.
    static let returnNanoseconds: Int64 = 30_000_000_000

    /// A source in one feed.
    private struct Stream {
        var format: LiveFormat
        var begin: LiveFrame
        var number: UInt64
        /// From the last keyframe on, of an inactive stream from an earlier one on; empty while a part of the group
        /// is missing.
        var group: [LiveFrame] = []
        var groupBytes = 0
        /// Keyframes in the group: their indices, and their arrival, monotonic nanoseconds.
        var keyframes: [(place: Int, nanoseconds: Int64)] = []
        /// Arrival of its keyframe, monotonic nanoseconds.
        var groupNanoseconds: Int64 = 0
        var gate = KeyframeGate(isSkipping: true)
        var heardNanoseconds: Int64
        /// Maximum recent interval between messages.
        var intervalNanoseconds: Int64 = 0

        /// Whether it is silent, so that the source may have moved.
        func isSilent(_ now: Int64) -> Bool {
            now.clampedSubtracting(heardNanoseconds)
                > LiveHub.patienceNanoseconds.clampedAdding(
                    min(2 * intervalNanoseconds, LiveHub.silenceNanoseconds))
        }

        /// A message has arrived. The interval rises immediately, and decays gradually.
        mutating func hear(_ now: Int64) {
            let interval = max(0, now.clampedSubtracting(heardNanoseconds))
            intervalNanoseconds = min(
                max(interval, intervalNanoseconds / 8 * 7), LiveHub.silenceNanoseconds)
            heardNanoseconds = now
        }

        mutating func dropGroup() {
            group = []
            groupBytes = 0
            keyframes = []
        }

        /// Prepares for a keyframe. An inactive stream caches the groups of the time in which the active one's silence is
        /// noticed.
        mutating func beginGroup(isHeld: Bool, now: Int64) {
            groupNanoseconds = now
            guard !isHeld else {
                dropGroup()
                return keyframes.append((0, now))
            }
            keyframes.append((group.count, now))
            let oldest = now.clampedSubtracting(2 * LiveHub.patienceNanoseconds)
            while keyframes.count > 1, keyframes[1].nanoseconds < oldest {
                let count = keyframes[1].place
                groupBytes -= group[..<count].reduce(0) { $0 + $1.bytes.count }
                group.removeFirst(count)
                keyframes.removeFirst()
                for index in keyframes.indices { keyframes[index].place -= count }
            }
        }
    }

    /// A source, in all feeds that have it.
    private struct Source {
        /// The feed of the active stream.
        var held: String
        /// The feed that was replaced because it was silent. Until this time (monotonic, nanoseconds), it is preferred again as soon
        /// as it sends: an agent that has left a collector sends it nothing new.
        var previous: (feed: String, untilNanoseconds: Int64)?
        var streams: [String: Stream] = [:]

        var heldStream: Stream? { streams[held] }
    }

    private struct State {
        var watchers: [ObjectIdentifier: LiveWatcher] = [:]
        var sources: [String: Source] = [:]
        var fragments: UInt32 = 0
        var status: [UInt8]?
        /// Bytes of the groups of all sources, by feed.
        var groupsBytes: [String: Int] = [:]
        /// Number of sources, by feed.
        var counts: [String: Int] = [:]
        /// Groups that former watchers skipped.
        var skippedGroups: UInt64 = 0
        var feedLosses: UInt64 = 0
        /// Sources without viewers, and when their subscriptions end; monotonic, nanoseconds.
        var lingering: [String: Int64] = [:]
        /// Bytes received of these sources since the last tick.
        var lingeringBytes = 0

        func isWatched(_ source: String) -> Bool {
            watchers.values.contains { $0.wants(source) }
        }

        mutating func forget(_ name: String) {
            for feed in (sources[name]?.streams ?? [:]).keys { forget(name, in: feed) }
            sources[name] = nil
        }

        mutating func forget(_ name: String, in feed: String) {
            guard let stream = sources[name]?.streams.removeValue(forKey: feed) else { return }
            groupsBytes[feed, default: 0] -= stream.groupBytes
            counts[feed, default: 0] -= 1
            if counts[feed] == 0 {
                counts[feed] = nil
                groupsBytes[feed] = nil
            }
        }

        mutating func keep(_ stream: Stream, _ name: String, in feed: String) {
            let known = sources[name]?.streams[feed]
            groupsBytes[feed, default: 0] += stream.groupBytes - (known?.groupBytes ?? 0)
            if known == nil { counts[feed, default: 0] += 1 }
            sources[name, default: Source(held: feed)].streams[feed] = stream
        }

        /// Drops a feed's groups down to this many bytes, oldest first: their sources send another one soonest.
        mutating func forgetGroups(of feed: String, downTo maximumBytes: Int) {
            var groups: [(name: String, bytes: Int, nanoseconds: Int64)] = []
            for (name, source) in sources {
                guard let stream = source.streams[feed], !stream.group.isEmpty else { continue }
                groups.append((name, stream.groupBytes, stream.groupNanoseconds))
            }
            for group in groups.sorted(by: { $0.nanoseconds < $1.nanoseconds }) {
                guard groupsBytes[feed, default: 0] > maximumBytes else { return }
                groupsBytes[feed, default: 0] -= group.bytes
                sources[group.name]?.streams[feed]?.dropGroup()
            }
        }

        /// Sends a frame to those who watch a source.
        func send(_ frame: LiveFrame, of name: String) {
            for watcher in watchers.values where watcher.wants(name) { watcher.take(frame) }
        }

        /// Continues a source with another feed's stream: its format, and its present group or the next one.
        /// - Parameter isReturn: it was that feed's before.
        mutating func hold(_ name: String, in feed: String, isReturn: Bool = false, now: Int64) {
            guard let source = sources[name], let stream = source.streams[feed] else { return }
            sources[name]?.previous =
                isReturn ? nil : (source.held, now.clampedAdding(LiveHub.returnNanoseconds))
            sources[name]?.held = feed
            send(stream.begin, of: name)
            if stream.group.isEmpty {
                sources[name]?.streams[feed]?.gate.skip()
            } else {
                for frame in stream.group { send(frame, of: name) }
            }
        }
    }

    private let state = Mutex(State())
    private let maximumGroupsBytes: Int
    private let lingeringNanoseconds: Int64
    /// A structure, because a function that is the value of a ``Mutex`` itself is wrapped once more at each read.
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
    var keptBytes: Int { state.withLock { $0.groupsBytes.values.reduce(0, +) } }

    /// The feed of a source's active stream; nil: no feed sends the source.
    func feed(of source: String) -> String? { state.withLock { $0.sources[source]?.held } }

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
            let requests = Self.requests(state)
            return requests.count > Self.maximumRequests ? topics : topics.union(requests)
        }
    }

    /// The topic of a requested batch length: it names its source.
    private static func requests(_ state: State) -> Set<[UInt8]> {
        var requests: Set<[UInt8]> = []
        for watcher in state.watchers.values {
            guard let milliseconds = watcher.batchMilliseconds else { continue }
            let sources = watcher.sources ?? Set(state.sources.keys)
            for source in sources where watcher.wants(source) {
                requests.insert(FeedTopic.delayRequest(milliseconds, for: source))
            }
        }
        return requests
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
        return owner == .anonymous
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
                guard let stream = source.heldStream else { continue }
                frames.append(stream.begin)
                frames += stream.group
                // The present group is not available: it begins with the next one.
                if stream.group.isEmpty { watcher.skip(name) }
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

    /// Processes a message of a feed.
    /// - Parameters:
    ///   - feed: the collector's name; empty: the only one.
    ///   - now: monotonic, nanoseconds.
    func take(_ samples: FeedSamples, media: [UInt8], from feed: String = "", now: Int64) {
        let isNew = state.withLock { state -> Bool in
            let name = samples.source
            if !state.isWatched(name) {
                guard state.lingering[name] != nil else { return false }
                state.lingeringBytes += media.count
            }
            let isNew = state.sources[name] == nil
            guard
                var (stream, frames) = Self.received(samples, from: feed, in: state, now: now)
            else { return false }
            if let frame = Self.fragment(samples, media, to: &stream, in: &state, now: now) {
                frames.append(frame)
            }
            state.keep(stream, name, in: feed)
            let part = maximumGroupsBytes / max(1, state.counts.count)
            if state.groupsBytes[feed, default: 0] > part {
                // Several at once, for a low average cost.
                state.forgetGroups(of: feed, downTo: part / 8 * 7)
            }
            Self.distribute(frames, of: name, from: feed, in: &state, now: now)
            return isNew
        }
        // Watchers of all sources may request a batch length for this one.
        if isNew { listener.withLock { $0.changed }() }
    }

    /// A feed's stream of a source with this message, and frames that come before its media; nil: it cannot be shown.
    private static func received(
        _ samples: FeedSamples, from feed: String, in state: State, now: Int64
    ) -> (stream: Stream, frames: [LiveFrame])? {
        let format = LiveFormat(samples, from: feed)
        let known = state.sources[samples.source]?.streams[feed]
        guard let known, known.format == format else {
            guard known != nil || state.counts[feed, default: 0] < maximumSourcesOfFeed else {
                return nil
            }
            do throws(LiveError) {
                let begin = try LiveFrame(format, of: samples.source)
                let stream = Stream(
                    format: format, begin: begin, number: samples.number, heardNanoseconds: now)
                return (stream, [begin])
            } catch {
                // No player supports the format.
                return nil
            }
        }
        var stream = known
        var frames: [LiveFrame] = []
        if samples.number != stream.number &+ 1 {
            stream.gate.skip()
            stream.dropGroup()
            frames.append(.skipped(samples.source))
        }
        stream.number = samples.number
        stream.hear(now)
        return (stream, frames)
    }

    /// The media of a message, which is added to its stream's group; nil: it cannot be decoded, or not yet.
    private static func fragment(
        _ samples: FeedSamples, _ media: [UInt8], to stream: inout Stream, in state: inout State,
        now: Int64
    ) -> LiveFrame? {
        state.fragments &+= 1
        let fragment: LiveFragment
        do throws(LiveError) {
            fragment = try LiveFragment(samples, media: media, number: state.fragments)
        } catch {
            stream.gate.skip()
            return nil
        }
        if fragment.beginsDecodable {
            let held = state.sources[samples.source]?.held
            stream.beginGroup(isHeld: held == nil || held == stream.format.collector, now: now)
        }
        guard stream.gate.admits(beginsDecodable: fragment.beginsDecodable) else { return nil }
        let frame = LiveFrame(fragment)
        // A group without its keyframe is useless.
        if fragment.beginsDecodable || !stream.group.isEmpty {
            stream.group.append(frame)
            stream.groupBytes += frame.bytes.count
        }
        if stream.groupBytes > groupBytes { stream.dropGroup() }
        return frame
    }

    /// Sends frames of the active stream. Another stream replaces an active one that is silent.
    private static func distribute(
        _ frames: [LiveFrame], of name: String, from feed: String, in state: inout State, now: Int64
    ) {
        guard let source = state.sources[name] else { return }
        if feed == source.held {
            if frames.contains(where: { $0.kind == .skipped }) { state.feedLosses += 1 }
            for frame in frames { state.send(frame, of: name) }
            return
        }
        // With a part of a group nothing can be decoded.
        guard let stream = source.streams[feed], !stream.group.isEmpty else { return }
        if source.heldStream?.isSilent(now) ?? true {
            state.hold(name, in: feed, now: now)
        } else if let previous = source.previous, previous.feed == feed,
            now < previous.untilNanoseconds, frames.contains(where: \.isTimelyKeyframe)
        {
            state.hold(name, in: feed, isReturn: true, now: now)
        }
    }

    /// Reports sources that have gone, continues those that have moved, and sends a heartbeat; once a second.
    func tick(now: Int64) {
        if endLingering(now) { listener.withLock { $0.changed }() }
        state.withLock { state in
            for (name, source) in state.sources {
                for (feed, stream) in source.streams
                where now - stream.heardNanoseconds > Self.silenceNanoseconds {
                    state.forget(name, in: feed)
                }
                let rest = state.sources[name]?.streams ?? [:]
                guard rest[source.held] == nil else { continue }
                if let other = rest.max(by: {
                    ($0.value.heardNanoseconds, $1.key) < ($1.value.heardNanoseconds, $0.key)
                }) {
                    state.hold(name, in: other.key, now: now)
                } else {
                    state.forget(name)
                    state.send(.gone(name), of: name)
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

extension LiveFrame {
    /// Media that begins with a keyframe, and that the collector had in time: an agent that was away sends old media first.
    fileprivate var isTimelyKeyframe: Bool {
        guard case .media(let fragment) = content else { return false }
        return fragment.beginsDecodable
            && fragment.lagNanoseconds < LiveHub.timelyNanoseconds
    }
}
