import Synchronization

/// The live sources with clients, by name.
final class LiveSources: Sendable {
    /// Result of a request for a source.
    enum Lookup: Sendable {
        case described(LiveSource.Use, LiveSource.Description)
        /// It sends nothing, or does not exist.
        case silent
        /// Too many sources are in use.
        case full
    }

    private let hub: LiveHub
    private let sources = Mutex<[String: LiveSource]>([:])

    init(hub: LiveHub) { self.hub = hub }

    /// Limit of subscribed sources: other live streams have at least 100 of the places in ``LiveHub``.
    static let maximumSources = LiveHub.maximumWatchers - 100
    /// Limit of subscribed sources without clients; the least recently used one is closed for another.
    static let maximumIdleSources = 32

    /// The description of a source, subscribed to if necessary, after its first samples.
    func lookUp(_ name: String) async -> Lookup {
        guard let use = use(name) else { return .full }
        guard let description = await use.source.description() else {
            return use.source.isRefused ? .full : .silent
        }
        return .described(use, description)
    }

    /// The source of a name, subscribed to if necessary; nil if there are too many.
    func use(_ name: String) -> LiveSource.Use? {
        if let known = sources.withLock({ $0[name] }), let use = known.use() { return use }
        makeRoom()
        let (use, isNew) = sources.withLock { sources -> (LiveSource.Use?, Bool) in
            // Another request may have created it.
            if let known = sources[name]?.use() { return (known, false) }
            guard sources.count < Self.maximumSources else { return (nil, false) }
            let new = LiveSource(name, hub: hub)
            sources[name] = new
            return (new.use(), true)
        }
        if isNew, let source = use?.source { Task { await source.run() } }
        return use
    }

    /// Removes closed sources, and closes those without clients beyond their limit.
    private func makeRoom() {
        let idle = sources.withLock { sources -> [LiveSource] in
            sources = sources.filter { !$0.value.isOver }
            var idle: [(source: LiveSource, since: Int64)] = []
            for source in sources.values {
                if let since = source.idleSince { idle.append((source, since)) }
            }
            let isFull = sources.count >= Self.maximumSources
            let surplus = max(idle.count - Self.maximumIdleSources, isFull ? 1 : 0)
            return idle.sorted { $0.since < $1.since }.prefix(surplus).map(\.source)
        }
        guard !idle.isEmpty else { return }
        for source in idle { source.closeIfIdle() }
        sources.withLock { sources in sources = sources.filter { !$0.value.isOver } }
    }

    /// Number of subscribed sources.
    var count: Int { sources.withLock { $0.values.count { !$0.isOver } } }

    var readerCount: Int {
        sources.withLock { $0.values.reduce(0) { $0 + $1.readerCount } }
    }

    func stop() {
        for source in sources.withLock({ Array($0.values) }) { source.stop() }
    }
}
