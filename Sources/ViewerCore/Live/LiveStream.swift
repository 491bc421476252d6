import Archive
import HTTPTypes
import Media
import Synchronization

/// One live source as LL-HLS: its playlist, and the media that it lists (draft-pantos-hls-rfc8216bis §6.2).
///
/// It watches the source while players request it, and for a while after.
actor LiveStream {
    /// The stream ends after this time without requests: three reloads of a player without parts.
    static let idleNanoseconds: Int64 = 30_000_000_000
    /// It accepts no more media.
    var isOver: Bool { hasEnded }

    /// Response to a request for media.
    enum Media: Sendable {
        case bytes([UInt8])
        /// It does not exist, or was removed.
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
    /// The source has sent media. A source that does not exist never does.
    nonisolated var hasBegun: Bool { begun.load(ordering: .relaxed) }
    private var format: LiveFormat?
    private var initializations: [Int: [UInt8]] = [:]
    private var initialization = 0
    /// Bytes of parts by name, with the number of their segment.
    private var parts: [PartAddress: (sequence: UInt64, bytes: [UInt8])] = [:]
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isDiscontinuous = false
    /// Fragments without pictures since the last with some.
    private var soundAlone: [UInt8] = []
    private static let maximumSoundBytes = 1 << 20
    private var hasEnded = false
    /// Time of the last request, monotonic, nanoseconds.
    private var askedNanoseconds: Int64

    private let place: LiveStreamMemory.Share

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

    /// Receives media until ``stop()`` is called, or the stream is idle.
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

    /// Removes all media, for lack of memory.
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
            // Its format has changed.
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
                // Audio in a separate message is added to the next unit.
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

    /// Another session has another zero: it gets a new playlist with continued numbers.
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

    /// The playlist; blocks for a blocking reload.
    /// - Throws: 400 for a sequence number too far ahead, 503 on timeout.
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
            // The hub sends a frame at least once a second.
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
                // An incomplete segment must not be sent.
                guard sequence < playlist?.nextName.sequence ?? 0 || hasEnded else { return .gone }
                let own = parts.filter { $0.value.sequence == sequence }
                    .sorted { $0.key < $1.key }
                return own.isEmpty ? .gone : .bytes(Array(own.flatMap(\.value.bytes)))
            case .part(let name):
                if let part = parts[name] { return .bytes(part.bytes) }
                // A request for the hinted part blocks (§4.4.5.3).
                guard playlist?.nextName == name, now() < deadline, !hasEnded else {
                    return .gone
                }
            }
            await change()
        }
    }
}

/// The live sources that players request.
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

    /// The stream of a source that has sent media and is watched now.
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
            // Another request may have created a new stream in the meantime.
            if let present = streams[source]?.stream, present !== known || !isOver {
                streams[source]?.used = now
                return present
            }
        }
        guard memory.hasRoom, makeRoom() else {
            throw Problem(.serviceUnavailable, "too many live sources are watched: try again later")
        }
        // Larger than all numbers of a previous stream, so that a player continues: no segment is shorter than a second for long.
        let first = UInt64(clamping: nowUTC() / 1_000_000_000)
        let stream = LiveStream(source, hub: hub, firstSequence: first, memory: memory)
        streams[source] = (stream, now)
        Task { await stream.run() }
        return stream
    }

    /// Removes the least recently requested stream whose name is not a source.
    private func makeRoom() -> Bool {
        guard streams.count >= Self.maximumStreams else { return true }
        let empty = streams.filter { !$0.value.stream.hasBegun }
        guard let oldest = empty.min(by: { $0.value.used < $1.value.used }) else { return false }
        oldest.value.stream.stop()
        streams[oldest.key] = nil
        return true
    }
}
