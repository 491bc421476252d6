import Media
import Outbound
import Spooling
import Wire

/// One source's records, from when they are numbered until the collector has them on disk: the spool, and the links that send it.
///
/// A value without threads, sockets and clocks; its storage may be a simulated disk. The records of one boot of the box make
/// one spool, with one identity and one clock. What earlier boots left is sent first, oldest first, each over connections of its
/// own, while new records are already written behind it. Where the disk fails, records go on in memory, as a spool of their own.
///
///     lanes:  spool of an earlier boot ─► spool of this boot        (the disk failed: ─► memory)
///             connected                   written
struct Backlog<Storage: SpoolStorage, Payload: SpooledPayload>: Sendable {
    typealias Action = AgentAction<Payload>

    /// One spool, and the link that sends it.
    private struct Lane: Sendable {
        var link: AgentLink<Payload>
        /// Nil: in memory.
        var generation: UInt32?
        let epochs: [Epoch]
    }

    private static var memoryWindowBytes: Int { 16 << 20 }
    /// Payload bytes on their way at most: more than the credit that a collector gives.
    private static var largestInFlightBytes: Int { 16 << 20 }
    /// Between attempts to use a disk again that has failed: twice as long after each failure.
    private static var firstRetryNanoseconds: Int64 { 30_000_000_000 }
    private static var longestRetryNanoseconds: Int64 { 3_600_000_000_000 }

    private let settings: UplinkSettings
    private let epoch: Identity
    private let makeIdentity: @Sendable () -> Identity
    private var shelf: SpoolShelf<Storage>?
    /// The first is connected, the last is written; never empty.
    private var lanes: [Lane] = []
    /// Formats in force for what comes next.
    private var formats: [TrackFormat]
    private var policy = SyncPolicy()
    private var retryAt: Int64?
    private var retryNanoseconds = Self.firstRetryNanoseconds
    /// What this life of the agent has to say of the one before, with its first samples.
    private var restart: (endNanoseconds: Int64?, text: String)?
    /// Formats that are other ones than in the life before, whose spool goes on.
    private var changedFormats: [TrackFormat] = []
    /// Pictures have been dropped whose group goes on: until the next keyframe, more of it is of no use.
    private var skipsToKeyframe = false
    private var isDropping = false
    private var hasDeletionFailed = false
    private var retiredLostSamples: UInt64 = 0
    private var notices: [Action] = []

    /// - Parameters:
    ///   - shelf: what is on the disk; nil: memory alone.
    ///   - epoch: the present clock.
    ///   - makeIdentity: identities for new spools.
    init(
        settings: UplinkSettings, shelf: SpoolShelf<Storage>?, formats: [TrackFormat],
        epoch: Identity, makeIdentity: @escaping @Sendable () -> Identity
    ) {
        self.settings = settings
        self.shelf = shelf
        self.formats = formats
        self.epoch = epoch
        self.makeIdentity = makeIdentity
        takeUp()
    }

    // MARK: State

    /// The number by which exchanges with the collector's clock name the present one.
    var presentEpoch: UInt32 { lanes[0].epochs.last?.number ?? SpoolCoding.epoch }
    var isFlowing: Bool { lanes[0].link.isFlowing }
    /// Bytes that are not durable at the collector.
    var keptBytes: Int {
        (shelf?.sizeBytes ?? 0)
            + lanes.reduce(0) { $0 + ($1.generation == nil ? $1.link.keptBytes : 0) }
    }
    var keptSamples: UInt64 { lanes.reduce(0) { $0 + $1.link.keptSamples } }
    var lostSamples: UInt64 { lanes.reduce(retiredLostSamples) { $0 + $1.link.lostSamples } }
    /// Whether what is kept outlives the process.
    var isOnDisk: Bool { lanes.allSatisfy { $0.generation != nil } }

    // MARK: What the source gives

    mutating func add(_ batch: Batch, payload: Payload, now: Int64) -> [Action] {
        let actions = begin(now: now) + noteRestart(before: batch, now: now)
        if let loss = skipped(batch) { return actions + add(loss, now: now) }
        return actions
            + keep(now: now) { link in
                link.prepare(
                    runs: batch.runs, digest: batch.digest, payload: payload, of: 0)
            }
    }

    mutating func add(_ loss: Loss, now: Int64) -> [Action] {
        begin(now: now) + keep(now: now) { $0.prepare(loss, of: 0) }
    }

    mutating func setFormat(_ format: TrackFormat, now: Int64) -> [Action] {
        let actions = begin(now: now)
        formats = formats.replacing(format)
        return actions + keep(now: now) { $0.prepare(format, of: 0) }
    }

    mutating func sayGoodbye(_ text: String, now: Int64) -> [Action] {
        begin(now: now) + keep(now: now) { $0.prepareGoodbye(text, of: 0) }
    }

    mutating func add(_ exchange: ReportedExchange) { lanes[0].link.add(exchange) }

    /// Has what is known of the clocks sent now instead of with the next heartbeat.
    mutating func reportExchanges(now: Int64) -> [Action] {
        let actions = lanes[0].link.reportExchanges(now: now)
        return perform(actions, now: now)
    }

    /// How the source's sound does: told with the next heartbeat.
    mutating func setSound(_ sound: SoundHealth) { lanes[0].link.setSound(sound, of: 0) }

    /// Answers a command of the collector that is connected.
    mutating func report(_ report: Report, payload: Payload?, now: Int64) -> [Action] {
        lanes[0].link.report(report, payload: payload, now: now)
    }

    // MARK: What the network does

    mutating func connected(now: Int64) -> [Action] {
        let actions = lanes[0].link.connected(now: now)
        return perform(actions, now: now)
    }

    mutating func disconnected(now: Int64) -> [Action] {
        let actions = lanes[0].link.disconnected(now: now)
        return perform(actions, now: now)
    }

    mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        let actions = lanes[0].link.notAdmitted(why, now: now)
        return perform(actions, now: now)
    }

    mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        let actions = lanes[0].link.received(header, now: now)
        return perform(actions, now: now)
    }

    mutating func tick(now: Int64) -> [Action] {
        if let shelf { lanes[0].link.setStoredBytes(shelf.sizeBytes, of: 0) }
        let actions = lanes[0].link.tick(now: now)
        return perform(actions, now: now)
    }

    // MARK: Synchronising

    /// Files to synchronise now, away from the uplink's thread.
    mutating func takeFilesToSynchronize(now: Int64) -> [String] {
        guard let lane = lanes.last, lane.generation != nil, shelf != nil else { return [] }
        let isDue = policy.decide(
            newest: lane.link.nextSequence(of: 0) - 1, persisted: lane.link.persisted(of: 0),
            hasUnsynced: shelf?.hasUnsynced ?? false, now: now)
        return isDue ? shelf?.takeUnsynced() ?? [] : []
    }

    /// The disk did not take them.
    mutating func synchronizationFailed(_ error: SpoolError, now: Int64) -> [Action] {
        guard lanes.last?.generation != nil else { return [] }
        leaveDisk(error, now: now)
        return takeNotices()
    }
}

// MARK: - Lanes

extension Backlog {
    private static var unknownLoss: String {
        "the box or the agent was restarted; what it lost then, nobody knows"
    }

    /// Finds out what earlier lives left, and goes on with it.
    private mutating func takeUp() {
        guard let shelf else { return beginInMemory() }
        for complaint in shelf.complaints { note(.error, complaint) }
        var lives: [KeptLife] = []
        for spool in shelf.spools {
            if let life = KeptLife(spool, of: shelf) {
                lives.append(life)
                continue
            }
            note(
                .error,
                "\(spool.sizeBytes) bytes of samples in \(shelf.storage.path) cannot be read and are "
                    + "given up")
            delete(spool.generation)
        }
        for life in lives { lanes.append(lane(for: life)) }
        for earlier in lanes.indices.dropLast() { lanes[earlier].link.retire() }
        if !lives.isEmpty {
            let megabytes = (self.shelf?.sizeBytes ?? 0) / 1_000_000
            note(.info, "\(megabytes) MB of samples from before this start are sent first")
        }
        guard let last = lives.last else {
            // Not one record outlived it, but it had not ended.
            if shelf.newestGenerationFound != nil { restart = (nil, Self.unknownLoss) }
            return beginOnDisk()
        }
        if goesOn(last) {
            restart = (last.endNanoseconds, "the agent was not running")
            changedFormats = formats.filter { !last.newestFormats.contains($0) }
            return
        }
        lanes[lanes.count - 1].link.retire()
        if !last.saidGoodbye || shelf.newestGenerationFound ?? 0 > last.generation {
            restart = (last.epoch == epoch ? last.endNanoseconds : nil, Self.unknownLoss)
        }
        beginOnDisk()
    }

    /// Whether the spool can be written by this life: same clock, no number that might be given twice, same tracks.
    private func goesOn(_ life: KeptLife) -> Bool {
        life.epoch == epoch && life.isTailCertain && !life.saidGoodbye
            && Set(life.newestFormats.map(\.kind)) == Set(formats.map(\.kind))
    }

    private func lane(for life: KeptLife) -> Lane {
        var epochs = [Epoch(number: SpoolCoding.epoch, identity: life.epoch)]
        if life.epoch != epoch {
            epochs.append(Epoch(number: SpoolCoding.epoch + 1, identity: epoch))
        }
        var link = AgentLink<Payload>(settings: linkSettings(life.identity, epochs, onDisk: true))
        _ = link.addSource(
            settings.sourceName, formats: life.firstFormats,
            kept: (life.sequences, life.newestFormats))
        return Lane(link: link, generation: life.generation, epochs: epochs)
    }

    private func linkSettings(
        _ identity: Identity, _ epochs: [Epoch], onDisk: Bool
    ) -> AgentLinkSettings {
        var link = AgentLinkSettings(
            endpoint: settings.endpoint, software: settings.software, agent: settings.agentName,
            spool: identity, epochs: epochs)
        link.memoryLimitBytes = settings.memoryLimitBytes
        if onDisk, let shelf {
            link.window = RecordWindow(
                memoryBytes: min(Self.memoryWindowBytes, settings.memoryLimitBytes),
                inFlightBytes: min(Self.largestInFlightBytes, shelf.limitBytes / 2))
        }
        return link
    }

    private mutating func beginOnDisk() {
        let identity = makeIdentity()
        let origin = epoch.bytes
        guard let generation = shelf?.begin(identity: identity.bytes, origin: origin) else {
            return beginInMemory()
        }
        appendLane(identity, generation)
    }

    private mutating func beginInMemory() { appendLane(makeIdentity(), nil) }

    private mutating func appendLane(_ identity: Identity, _ generation: UInt32?) {
        let epochs = [Epoch(number: SpoolCoding.epoch, identity: epoch)]
        var link = AgentLink<Payload>(
            settings: linkSettings(identity, epochs, onDisk: generation != nil))
        _ = link.addSource(settings.sourceName, formats: formats)
        lanes.append(Lane(link: link, generation: generation, epochs: epochs))
        policy = SyncPolicy()
    }

    /// The disk has failed: what comes next is kept in memory, under numbers of its own.
    private mutating func leaveDisk(_ error: SpoolError, now: Int64) {
        let megabytes = settings.memoryLimitBytes / 1_000_000
        let seconds = retryNanoseconds / 1_000_000_000
        note(
            .error,
            "\(error); samples are kept in memory (\(megabytes) MB) from now on, where a power cut "
                + "takes them. Make the disk writable: it is tried again in \(seconds) s")
        retryAt = now + retryNanoseconds
        retryNanoseconds = min(2 * retryNanoseconds, Self.longestRetryNanoseconds)
        retireLast()
        beginInMemory()
    }

    /// Uses the disk again, if it can be written.
    private mutating func returnToDisk(now: Int64) {
        // What earlier lanes keep in memory would not be bounded if there could be many.
        guard let retryAt, now >= retryAt, let shelf, lanes.count == 1,
            lanes.last?.generation == nil
        else { return }
        do throws(SpoolError) {
            try shelf.checkWritable()
        } catch {
            self.retryAt = now + Self.firstRetryNanoseconds
            return
        }
        self.retryAt = nil
        beginOnDisk()
        if lanes.count > 1 {
            let disk = lanes.removeLast()
            retireLast()
            lanes.append(disk)
        }
        note(.notice, "samples are kept on disk again, in \(shelf.storage.path)")
    }

    /// No more records go to the last lane; one that never had any, and is not connected, is not worth a connection.
    private mutating func retireLast() {
        let last = lanes.count - 1
        lanes[last].link.retire()
        guard lanes[last].link.nextSequence(of: 0) == 1, last > 0 else { return }
        if let generation = lanes[last].generation { delete(generation) }
        lanes.removeLast()
    }

    /// The connected lane has nothing left to send.
    private mutating func finishLane() -> [Action] {
        if let generation = lanes[0].generation { delete(generation) }
        guard lanes.count > 1 else { return [.finished] }
        retiredLostSamples += lanes[0].link.lostSamples
        lanes.removeFirst()
        return [.reconnect(afterMilliseconds: 0)]
    }

    private mutating func delete(_ generation: UInt32) {
        do throws(SpoolError) {
            try shelf?.remove(generation)
        } catch {
            deletionFailed(error)
        }
    }

    private mutating func deletionFailed(_ error: SpoolError) {
        guard !hasDeletionFailed else { return }
        hasDeletionFailed = true
        note(.error, "\(error); what has been sent stays there until it can be deleted")
    }

    private mutating func note(_ level: LinkLog.Level, _ text: String) {
        notices.append(.log(LinkLog(level, text)))
    }

    private mutating func takeNotices() -> [Action] {
        defer { notices.removeAll() }
        return notices
    }
}

// MARK: - Records

extension Backlog {
    /// Numbers a record, writes it, and only then lets the link have it.
    private mutating func keep(
        now: Int64, _ prepare: (AgentLink<Payload>) -> KeptRecord<Payload>
    ) -> [Action] {
        returnToDisk(now: now)
        var record = prepare(lanes[lanes.count - 1].link)
        if let generation = lanes[lanes.count - 1].generation {
            do throws(SpoolError) {
                try write(record, to: generation, now: now)
            } catch {
                leaveDisk(error, now: now)
                record = prepare(lanes[lanes.count - 1].link)
            }
        }
        let last = lanes.count - 1
        let actions = lanes[last].link.admit(record, to: 0, now: now)
        if record.kind != .goodbye { makeRoom(now: now) }
        return perform(actions, now: now)
    }

    private mutating func write(
        _ record: KeptRecord<Payload>, to generation: UInt32, now: Int64
    ) throws(SpoolError) {
        let hasVideo = formats.contains { $0.kind == .video }
        let new = SpoolShelf<Storage>.NewRecord(
            firstNumber: record.sequences.lowerBound, count: UInt32(record.sequences.count),
            kind: record.kind.rawValue,
            beginsGroup: record.kind == .samples && (!hasVideo || record.beginsWithKeyframe))
        let prefix = SpoolCoding.prefix(of: record.header)
        // A change of format is in force behind its record, not at it; but who begins there may as well know it.
        let preamble = { [formats] in SpoolCoding.preamble(formats) }
        try prefix.withUnsafeBufferPointer { prefix throws(SpoolError) in
            let prefix = UnsafeRawBufferPointer(prefix)
            guard let payload = record.payload else {
                try shelf?.append(
                    new, body: [prefix], to: generation, staysShort: policy.isPrompt, now: now,
                    preamble: preamble)
                return
            }
            try payload.withUnsafeBytes { payload throws(SpoolError) in
                try shelf?.append(
                    new, body: [prefix, payload], to: generation, staysShort: policy.isPrompt,
                    now: now, preamble: preamble)
            }
        }
    }

    /// In front of everything in this life: the formats that are not those of the life before, where its spool goes on.
    private mutating func begin(now: Int64) -> [Action] {
        let changed = changedFormats
        changedFormats = []
        return changed.flatMap { format in keep(now: now) { $0.prepare(format, of: 0) } }
    }

    /// With the first samples of this life: that there was another, and what is between them.
    private mutating func noteRestart(before batch: Batch, now: Int64) -> [Action] {
        guard let restart else { return [] }
        self.restart = nil
        let first = batch.runs.times.lowerBound
        let start = restart.endNanoseconds ?? first
        return add(
            Loss(
                track: nil, cause: .restart, startNanoseconds: start,
                durationNanoseconds: max(0, min(first - start, WireLimits.gapNanoseconds)),
                samples: 0, text: restart.text), now: now)
    }

    /// What is lost of a batch whose group of pictures has lost its beginning; nil: nothing.
    private mutating func skipped(_ batch: Batch) -> Loss? {
        guard skipsToKeyframe else { return nil }
        let video = batch.runs.first { $0.track == .video }
        if video?.flags(at: 0).contains(.keyframe) ?? false {
            skipsToKeyframe = false
            return nil
        }
        let times = batch.runs.times
        return Loss(
            track: nil, cause: .spoolFull, startNanoseconds: times.lowerBound,
            durationNanoseconds: times.upperBound - times.lowerBound, samples: UInt64(batch.count),
            text: Dropped.text)
    }

    /// Does what the link asked of the disk, and passes on the rest.
    private mutating func perform(_ actions: [Action], now: Int64) -> [Action] {
        var result = takeNotices()
        var pending = actions[...]
        while let action = pending.popFirst() {
            switch action {
            case .fetch(_, let number):
                let more = fetch(number, now: now)
                result += takeNotices()
                pending = more + pending
            case .finished:
                return result + finishLane() + takeNotices()
            case .send, .command, .reconnect, .failed, .log:
                result.append(action)
            }
        }
        release()
        return result + takeNotices()
    }

    private mutating func fetch(_ number: UInt64, now: Int64) -> [Action] {
        guard let generation = lanes[0].generation, let shelf else { return [] }
        let reading = SpoolReading<Payload>(generation, from: number, shelf: shelf)
        for line in reading.complaints { note(.error, line) }
        // Nothing to go on with would be asked for again, for ever.
        guard reading.records.first?.sequences.contains(number) ?? false else { return [] }
        return lanes[0].link.loaded(
            reading.records, formats: reading.formats ?? formats, of: 0, now: now)
    }

    /// Deletes what is durable at the collector.
    private mutating func release() {
        guard let generation = lanes[0].generation else { return }
        do throws(SpoolError) {
            try shelf?.release(generation, through: lanes[0].link.persisted(of: 0))
        } catch {
            deletionFailed(error)
        }
        if let shelf, shelf.sizeBytes < shelf.limitBytes / 2 { isDropping = false }
    }
}

// MARK: - Too much

extension Backlog {
    /// Keeps within what the spool may take: the oldest groups that the collector cannot have give way to a gap.
    private mutating func makeRoom(now: Int64) {
        while let shelf, shelf.sizeBytes > shelf.limitBytes {
            guard let (place, group) = oldestGroup() else { return }
            do throws(SpoolError) {
                try drop(group, of: place)
            } catch {
                // Without a durable note of what was dropped nothing may go.
                if lanes.last?.generation != nil { leaveDisk(error, now: now) }
                return
            }
        }
    }

    private func oldestGroup() -> (lane: Int, group: Spool.Group)? {
        for (place, lane) in lanes.enumerated() {
            if let generation = lane.generation,
                let group = shelf?.spool(generation)?.oldestGroup(
                    from: lane.link.firstDroppable(of: 0))
            {
                return (place, group)
            }
        }
        return nil
    }

    private mutating func drop(_ group: Spool.Group, of place: Int) throws(SpoolError) {
        guard let shelf, let generation = lanes[place].generation else { return }
        let dropped = Dropped(
            group, generation, of: shelf, fixedBelow: lanes[place].link.firstDroppable(of: 0),
            newestFormats: formats)
        try self.shelf?.replace(
            group, of: generation, with: dropped.substitutes,
            preamble: SpoolCoding.preamble(dropped.formatsBehind))
        lanes[place].link.dropped(
            from: dropped.numbers.lowerBound, samples: dropped.samples, of: 0)
        if group.isNewest, place == lanes.count - 1 {
            skipsToKeyframe = formats.contains { $0.kind == .video }
        }
        guard !isDropping else { return }
        isDropping = true
        note(
            .error,
            "the spool \(shelf.storage.path) is full (\(shelf.limitBytes / 1_000_000) MB) and the "
                + "collector has not taken it: the oldest samples are dropped from now on")
    }
}
