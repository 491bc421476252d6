import Archive
import HTTPTypes
import Media
import Synchronization

/// One live source as LL-HLS: its playlist, and the bytes of what the playlist names (draft-pantos-hls-rfc8216bis §6.2).
///
/// It watches the source while players ask for it, and for a while longer.
actor LiveStream {
    /// Time without a request after which it ends: three reloads of a player without parts.
    static let idleNanoseconds: Int64 = 30_000_000_000
    /// It does not take anything in any more.
    var isOver: Bool { hasEnded }

    /// What a request for media is answered with.
    enum Media: Sendable {
        case bytes([UInt8])
        /// It has never been there, or not any more.
        case gone
    }

    private let timing = LiveTiming()
    private let watcher: LiveWatcher
    private let hub: LiveHub
    private var gatherer: PartGatherer<[UInt8]>
    private var playlist: LivePlaylist? {
        didSet { if playlist != nil { begun.store(true, ordering: .relaxed) } }
    }
    private let begun = Atomic(false)
    /// The source has sent something. Of one that does not exist, nothing ever comes.
    nonisolated var hasBegun: Bool { begun.load(ordering: .relaxed) }
    private var format: LiveFormat?
    private var initializations: [Int: [UInt8]] = [:]
    private var initialization = 0
    /// Bytes of parts, by their names; and of which segment each is.
    private var parts: [PartAddress: (sequence: UInt64, bytes: [UInt8])] = [:]
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isDiscontinuous = false
    /// Fragments without pictures since the last with some.
    private var soundAlone: [UInt8] = []
    private static let maximumSoundBytes = 1 << 20
    private var hasEnded = false
    /// When something was asked for last, monotonic, nanoseconds.
    private var askedNanoseconds: Int64

    private let place: LiveStreamMemory.Place

    /// - Parameter memory: that of all streams.
    init(
        _ source: String, hub: LiveHub, firstSequence: UInt64,
        memory: LiveStreamMemory = LiveStreamMemory()
    ) {
        self.hub = hub
        place = memory.place()
        watcher = LiveWatcher(sources: [source]) { _ in true }
        gatherer = PartGatherer(timing, firstSequence: firstSequence)
        askedNanoseconds = SystemClock.monotonic.nowNanoseconds
    }

    /// Receives media until ``stop()``, or until there were no requests for ``idleNanoseconds``.
    func run() async {
        defer { hub.stop(watcher) }
        guard !hasEnded, hub.start(watcher) else {
            hasEnded = true
            return wake()
        }
        while true {
            let frames = await watcher.next()
            if frames.isEmpty { break }
            for frame in frames { take(frame) }
            guard place.keeps(keptBytes, asked: askedNanoseconds) else {
                forgetAll()
                break
            }
            wake()
            let now = SystemClock.monotonic.nowNanoseconds
            if now - askedNanoseconds > Self.idleNanoseconds { stop() }
        }
        hasEnded = true
        wake()
    }

    nonisolated func stop() { hub.stop(watcher) }

    private var keptBytes: Int {
        soundAlone.count + initializations.values.reduce(0) { $0 + $1.count }
            + parts.values.reduce(0) { $0 + $1.bytes.count }
    }

    /// There is no room for it any more.
    private func forgetAll() {
        playlist = nil
        parts = [:]
        initializations = [:]
        soundAlone = []
    }

    private func take(_ frame: LiveFrame) {
        switch frame.content {
        case .begin(let new, let bytes):
            if let format, format.session != new.session { endSession() }
            format = new
            // It was coded otherwise.
            soundAlone = []
            initialization += 1
            initializations[initialization] = bytes
            initializations[initialization - 8] = nil
            if playlist == nil {
                playlist = LivePlaylist(
                    timing, zero: UTCTime(nanoseconds: new.zeroUTCNanoseconds),
                    firstSequence: gatherer.nextSequence)
            }
        case .media(let fragment):
            guard playlist != nil else { return }
            guard let range = fragment.mainNanoseconds else {
                // Sound that came in a message of its own is part of what comes next.
                guard soundAlone.count < Self.maximumSoundBytes else { return }
                soundAlone += fragment.bytes
                return
            }
            let bytes = soundAlone + fragment.bytes
            soundAlone = []
            var unit = LiveUnit(bytes, sizeBytes: bytes.count, nanoseconds: range)
            unit.isIndependent = fragment.beginsDecodable
            unit.initialization = initialization
            unit.isDiscontinuous = isDiscontinuous
            isDiscontinuous = false
            append(gatherer.append(unit))
        case .skipped:
            soundAlone = []
            isDiscontinuous = true
        case .gone:
            append(gatherer.flush())
            soundAlone = []
            isDiscontinuous = true
        case .beat: break
        }
    }

    /// Another session has another zero: its playlist is another one, whose numbers go on.
    private func endSession() {
        append(gatherer.flush())
        gatherer = PartGatherer(timing, firstSequence: gatherer.nextSequence)
        playlist = nil
        parts = [:]
    }

    private func append(_ gathered: [GatheredPart<[UInt8]>]) {
        guard var playlist else { return }
        for part in gathered {
            parts[part.part.name] = (part.part.address.sequence, Array(part.payloads.joined()))
            playlist.append(part.part)
        }
        self.playlist = playlist
        let first = playlist.firstAvailableSequence
        parts = parts.filter { $0.value.sequence >= first }
    }

    private func wake() {
        let all = waiting
        waiting = []
        for continuation in all { continuation.resume() }
    }

    private func change() async {
        guard !hasEnded else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// The playlist; waits for what is asked for.
    /// - Throws: 400 for what is too far ahead, 503 when it does not come in time.
    func text(_ request: LiveRequest, now: @Sendable () -> Int64) async throws(Problem) -> String {
        askedNanoseconds = now()
        let deadline = askedNanoseconds.clampedAdding(timing.patienceNanoseconds)
        while true {
            if let playlist {
                switch playlist.answer(request) {
                case .playlist(let text): return text
                case .badRequest(let reason): throw Problem(.badRequest, reason)
                case .wait: break
                }
            }
            // The hub says something at least once a second.
            guard now() < deadline, !hasEnded else {
                throw Problem(.serviceUnavailable, "the source does not send anything")
            }
            await change()
        }
    }

    /// The bytes of a resource; waits for the part that comes next.
    func media(_ resource: LiveResource, now: @Sendable () -> Int64) async -> Media {
        askedNanoseconds = now()
        let deadline = askedNanoseconds.clampedAdding(timing.patienceNanoseconds)
        while true {
            switch resource {
            case .initialization(let number):
                return initializations[number].map { .bytes($0) } ?? .gone
            case .segment(let sequence):
                // While it grows, a segment is not what it will be.
                guard sequence < playlist?.nextName.sequence ?? 0 || hasEnded else { return .gone }
                let own = parts.filter { $0.value.sequence == sequence }
                    .sorted { $0.key < $1.key }
                return own.isEmpty ? .gone : .bytes(Array(own.flatMap(\.value.bytes)))
            case .part(let name):
                if let part = parts[name] { return .bytes(part.bytes) }
                // What is hinted is waited for (§4.4.5.3); anything else is not there.
                guard playlist?.nextName == name, now() < deadline, !hasEnded else {
                    return .gone
                }
            }
            await change()
        }
    }
}

/// The live sources that players ask for.
actor LiveStreams {
    private static let maximumStreams = 256

    private let hub: LiveHub
    private let nowUTC: @Sendable () -> Int64
    let memory: LiveStreamMemory
    private var streams: [String: (stream: LiveStream, used: Int64)] = [:]

    /// - Parameter nowUTC: nanoseconds since 1970.
    init(
        hub: LiveHub, memory: LiveStreamMemory = LiveStreamMemory(),
        nowUTC: @escaping @Sendable () -> Int64 = { SystemClock.utc.nowNanoseconds }
    ) {
        self.hub = hub
        self.memory = memory
        self.nowUTC = nowUTC
    }

    /// Sources that are watched.
    var count: Int { streams.count }

    /// The stream of a source that has sent something and is watched now.
    func known(_ source: String, now: Int64) async -> LiveStream? {
        guard let stream = streams[source]?.stream, stream.hasBegun, await !stream.isOver else {
            return nil
        }
        streams[source]?.used = now
        return stream
    }

    func stream(_ source: String, now: Int64) async throws(Problem) -> LiveStream {
        for (name, entry) in streams where now - entry.used > LiveStream.idleNanoseconds {
            entry.stream.stop()
            streams[name] = nil
        }
        if let known = streams[source]?.stream {
            let isOver = await known.isOver
            // Meanwhile another request may have begun a new one.
            if let present = streams[source]?.stream, present !== known || !isOver {
                streams[source]?.used = now
                return present
            }
        }
        guard memory.hasRoom, makeRoom() else {
            throw Problem(.serviceUnavailable, "too many live sources are watched: try again later")
        }
        // Larger than any number of a stream before: a player that was there goes on. No segment is shorter than a second for long.
        let first = UInt64(clamping: nowUTC() / 1_000_000_000)
        let stream = LiveStream(source, hub: hub, firstSequence: first, memory: memory)
        streams[source] = (stream, now)
        Task { await stream.run() }
        return stream
    }

    /// Names that are no sources' do not take the places of sources: the one that was asked for longest ago gives way.
    private func makeRoom() -> Bool {
        guard streams.count >= Self.maximumStreams else { return true }
        let empty = streams.filter { !$0.value.stream.hasBegun }
        guard let oldest = empty.min(by: { $0.value.used < $1.value.used }) else { return false }
        oldest.value.stream.stop()
        streams[oldest.key] = nil
        return true
    }
}
