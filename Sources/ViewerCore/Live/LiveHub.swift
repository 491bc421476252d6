import Media
import Synchronization
import Wire

/// Hands each viewer what it watches of a feed. Any thread may call.
///
/// A source is subscribed to while somebody watches it. Its last group of pictures is kept meanwhile, so that who comes later sees a
/// picture at once.
final class LiveHub: Sendable {
    /// Each is a connection with a queue of its own.
    static let maximumWatchers = 500
    /// Longest group of pictures that is kept for those who come later.
    private static let groupBytes = 16 << 20
    /// All groups that are kept: two seconds of 500 sources of 4 Mbit/s.
    static let groupsBytes = 512 << 20
    /// Without a message for so long, a source is gone.
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
        /// Something is missing: decoding goes on with the next keyframe.
        var isBroken = true
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

        mutating func forget(_ name: String) {
            if let source = sources.removeValue(forKey: name) { groupsBytes -= source.groupBytes }
        }

        mutating func keep(_ source: Source, _ name: String) {
            groupsBytes += source.groupBytes - (sources[name]?.groupBytes ?? 0)
            sources[name] = source
        }

        /// Forgets groups until all have so many bytes: the oldest first, whose sources have another one soonest.
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
    /// Called when other sources are wanted than before.
    private let changed = Mutex<@Sendable () -> Void>({})

    init(maximumGroupsBytes: Int = LiveHub.groupsBytes) {
        self.maximumGroupsBytes = maximumGroupsBytes
    }

    /// What is kept for those who come later.
    var keptBytes: Int { state.withLock { $0.groupsBytes } }

    func onChange(_ body: @escaping @Sendable () -> Void) { changed.withLock { $0 = body } }

    /// Topics that somebody wants.
    var topics: Set<[UInt8]> {
        state.withLock { state in
            var topics: Set<[UInt8]> = []
            for watcher in state.watchers.values {
                guard let sources = watcher.sources else { return [[]] }
                for source in sources { topics.insert(FeedTopic.source(source)) }
            }
            return topics
        }
    }

    /// How many watch.
    var watcherCount: Int { state.withLock { $0.watchers.count } }

    /// Groups of pictures that watchers were too slow for, and times that samples were missing in the feed.
    var losses: (skippedGroups: UInt64, feedLosses: UInt64) {
        state.withLock { state in
            let own = state.watchers.values.reduce(0) { $0 + $1.skippedGroups }
            return (state.skippedGroups + own, state.feedLosses)
        }
    }

    /// One more can watch.
    var hasRoom: Bool { watcherCount < Self.maximumWatchers }

    /// Begins to watch; ``stop(_:)`` has to follow.
    /// - Returns: false when there are too many.
    func start(_ watcher: LiveWatcher) -> Bool {
        let frames = state.withLock { state -> [LiveFrame]? in
            guard state.watchers.count < Self.maximumWatchers else { return nil }
            state.watchers[ObjectIdentifier(watcher)] = watcher
            var frames: [LiveFrame] = []
            for (name, source) in state.sources where watcher.wants(name) {
                frames.append(source.begin)
                frames += source.group
                // The group of now is not there: it begins with the next one.
                if source.group.isEmpty { watcher.skip(name) }
            }
            // Nothing that comes now may overtake it.
            for frame in frames { watcher.take(frame) }
            return frames
        }
        changed.withLock { $0 }()
        return frames != nil
    }

    func stop(_ watcher: LiveWatcher) {
        state.withLock { state in
            if state.watchers.removeValue(forKey: ObjectIdentifier(watcher)) != nil {
                state.skippedGroups += watcher.skippedGroups
            }
            // What nobody watches is not heard any more, and would be old for who comes next.
            for name in state.sources.keys
            where !state.watchers.values.contains(where: { $0.wants(name) }) {
                state.forget(name)
            }
        }
        watcher.end()
        changed.withLock { $0 }()
    }

    /// Takes a message of the feed.
    func take(_ samples: FeedSamples, media: [UInt8], now: Int64) {
        state.withLock { state in
            let watchers = state.watchers.values.filter { $0.wants(samples.source) }
            guard !watchers.isEmpty else { return }
            let format = LiveFormat(samples)
            var source: Source
            if let known = state.sources[samples.source], known.format == format {
                source = known
                if samples.number != known.number &+ 1 {
                    state.feedLosses += 1
                    source.isBroken = true
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
                    // A format that no player takes.
                    return
                }
            }
            source.number = samples.number
            source.heardNanoseconds = now
            defer {
                state.keep(source, samples.source)
                if state.groupsBytes > maximumGroupsBytes {
                    // Some more at once, so that it costs nothing on average.
                    state.forgetGroups(downTo: maximumGroupsBytes / 8 * 7)
                }
            }
            state.fragments &+= 1
            let fragment: LiveFragment
            do throws(LiveError) {
                fragment = try LiveFragment(samples, media: media, number: state.fragments)
            } catch {
                source.isBroken = true
                return
            }
            if fragment.beginsDecodable {
                source.group = []
                source.groupBytes = 0
                source.groupNanoseconds = now
                source.isBroken = false
            }
            guard !source.isBroken else { return }
            let frame = LiveFrame(fragment)
            // Without its keyframe, the rest of a group is of no use to who comes later.
            if fragment.beginsDecodable || !source.group.isEmpty {
                source.group.append(frame)
                source.groupBytes += frame.bytes.count
            }
            if source.groupBytes > Self.groupBytes {
                source.group = []
                source.groupBytes = 0
            }
            for watcher in watchers { watcher.take(frame) }
        }
    }

    /// Says which sources have gone, and that the viewer is alive; once a second.
    func tick(now: Int64) {
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
}
