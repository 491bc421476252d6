import Media
import CollectorClient
import Spooling
import Wire

/// One source's records, from when they are numbered until the collector releases them: the spool, and the links that send it.
///
/// A value without threads, sockets and clocks; its storage may be a simulated disk. The records of one boot of the box make
/// one spool, with one identity and one clock. What earlier boots left is sent first, oldest first, each over connections of its
/// own, while new records are already written behind it. Where the disk fails, or cannot be used from the start, records go on in
/// memory, as a spool of their own, which moves to the disk as soon as that takes it.
///
///     senders:  spool of an earlier boot ─► spool of this boot        (the disk failed: ─► memory, then on the disk again)
///             connected                   written
///
/// A collector may want records to be kept although they are on its disk, until its store has them (`released`). New records do not
/// wait for that: a sender of which everything is persisted is set aside, with its files, and the next one connects. With every new
/// connection those set aside come first again, because another collector may have less of them; and at the end, to hear that
/// they are released.
///
/// A spool that was put back to an earlier state (a restored snapshot) would give numbers twice. The collector's greeting tells: it has
/// records that nobody here has sent. What is new here goes on under another identity then.
struct Backlog<Storage: SpoolStorage, Payload: SpooledPayload>: Sendable {
    typealias Action = AgentAction<Payload>

    /// One spool, and the link that sends it.
    private struct Sender: Sendable {
        var link: AgentLink<Payload>
        /// Who numbers its records.
        let identity: SpoolID
        /// Nil: in memory.
        var generation: UInt32?
        let epochs: [Epoch]
        /// Counted through this life: what is behind an earlier sender is not sent before it.
        let ordinal: UInt64
        /// Records before this number are of an earlier life, or were sent over an earlier link: the collector may have them.
        var firstOwn: UInt64 = 1
    }

    private static var memoryWindowBytes: Int { 16 << 20 }
    /// Payload bytes on their way at most: more than the credit that a collector gives.
    private static var largestInFlightBytes: Int { 16 << 20 }
    /// Between attempts to use a disk again that has failed: twice as long after each failure.
    private static var firstRetryNanoseconds: Int64 { 5_000_000_000 }
    private static var longestRetryNanoseconds: Int64 { 60_000_000_000 }
    /// Between two times that a spool is given another identity, at least: what was refused again at once is another trouble.
    private static var renewalNanoseconds: Int64 { 600_000_000_000 }

    private let settings: UplinkSettings
    private let epoch: EpochID
    private let makeIdentity: @Sendable () -> SpoolID
    /// Opens the spool's directory, where that could not be done at the start; nil: there is none, or it is open.
    private var openShelf: (@Sendable () throws(SpoolError) -> SpoolSet<Storage>)?
    private var shelf: SpoolSet<Storage>?
    /// The first is connected, the last is written; never empty.
    private var senders: [Sender] = []
    /// Senders of which everything is persisted and not all is released, oldest first.
    private var setAside: [Sender] = []
    /// Formats in force for what comes next.
    private var formats: [TrackFormat]
    private var policy = SyncPolicy()
    private var retryAt: Int64?
    private var retryNanoseconds = Self.firstRetryNanoseconds
    /// What this life of the agent has to say of the one before, with its first samples.
    private var restart: (endNanoseconds: Int64?, text: String)?
    /// When the spool got another identity, last.
    private var renewedAt: Int64?
    /// When the collector was asked again because it took exception to the numbers.
    private var askedAgainAt: Int64?
    /// Formats that are other ones than in the life before, whose spool goes on.
    private var changedFormats: [TrackFormat] = []
    /// Of what is on the disk.
    private var dropping: DropPolicy
    /// Of what is on the disk only because it is not released.
    private var forgetting: DropPolicy
    private var hasDeletionFailed = false
    private var retiredLostSamples: UInt64 = 0
    private var senderCount: UInt64 = 0
    private var catchUp = CatchUp()
    private var wasFlowing = false
    /// One sender is done, and the next is not connected yet: nothing is lost by that.
    private var isBetweenSenders = false
    private var notices: [Action] = []

    /// - Parameters:
    ///   - shelf: what is on the disk; nil: memory alone.
    ///   - openShelf: opens it, where it should be there and could not be opened yet; asked again and again.
    ///   - epoch: the present clock.
    ///   - makeIdentity: identities for new spools.
    init(
        settings: UplinkSettings, shelf: SpoolSet<Storage>?,
        openShelf: (@Sendable () throws(SpoolError) -> SpoolSet<Storage>)? = nil,
        formats: [TrackFormat], epoch: EpochID,
        makeIdentity: @escaping @Sendable () -> SpoolID
    ) {
        self.settings = settings
        self.shelf = shelf
        dropping = DropPolicy(
            limitBytes: settings.spool?.limitBytes ?? shelf?.limitBytes ?? .max)
        forgetting = dropping
        self.formats = formats
        self.epoch = epoch
        self.makeIdentity = makeIdentity
        self.openShelf = shelf == nil ? openShelf : nil
        if self.openShelf != nil { retryAt = .min }
        takeUp()
    }

    // MARK: State

    /// The number by which exchanges with the collector's clock name the present one.
    var presentEpoch: UInt32 { senders[0].epochs.last?.number ?? SpoolCoding.epoch }
    var isFlowing: Bool { senders[0].link.isFlowing }
    /// Bytes that are not durable at the collector: of records in memory their payload, of those on disk alone what they take
    /// there. A file that the collector has is not counted, although it may still be there.
    var keptBytes: Int {
        senders.reduce(0) { total, sender in
            let onDisk = sender.generation.flatMap { shelf?.spool($0) }
                .map { $0.sizeBytes(from: sender.link.windowEnd(of: 0)) }
            return total + sender.link.keptBytes + (onDisk ?? 0)
        }
    }
    var keptSamples: UInt64 { senders.reduce(0) { $0 + $1.link.keptSamples } }
    var lostSamples: UInt64 {
        (senders + setAside).reduce(retiredLostSamples) { $0 + $1.link.lostSamples }
    }
    /// Whether the source has ended and all of it is on the collector's disk: only releases are awaited.
    var isPersisted: Bool { senders.allSatisfy(\.link.isPersisted) }
    /// Records that are on the collector's disk and have to be kept until they are released.
    var unreleasedRecords: UInt64 {
        (senders + setAside).reduce(0) { $0 + $1.link.unreleasedRecords }
    }
    /// When records that wait for others are to be sent; nil: none wait.
    var sendDueNanoseconds: Int64? { senders[0].link.sendDueNanoseconds }
    /// Whether the collector takes several records in one message.
    var takesSeveralRecords: Bool { senders[0].link.takesSeveralRecords }
    /// Within how much time those who watch the source live wish to have each sample; nil: nobody watches.
    var watchNanoseconds: Int64? { senders[0].link.watchNanoseconds(of: 0) }
    /// Whether what is kept outlives the process.
    var isOnDisk: Bool { (senders + setAside).allSatisfy { $0.generation != nil } }
    /// The spool's directory; nil while there is none.
    var storage: Storage? { shelf?.storage }

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

    mutating func add(_ exchange: ReportedExchange) { senders[0].link.add(exchange) }

    /// Has what is known of the clocks sent now instead of with the next heartbeat.
    mutating func reportExchanges(now: Int64) -> [Action] {
        let actions = senders[0].link.reportExchanges(now: now)
        return perform(actions, now: now)
    }

    /// Whether somebody has stopped the capture: told at once.
    mutating func setStopped(_ isStopped: Bool, now: Int64) -> [Action] {
        let actions = senders[0].link.setStopped(isStopped, of: 0, now: now)
        return actions.isEmpty ? [] : perform(actions, now: now)
    }

    /// Why nothing is heard of the collector, where that is known.
    mutating func setAbsence(_ reason: String?) { senders[0].link.setAbsence(reason) }

    /// How the source's sound does: told with the next heartbeat.
    mutating func setAudio(_ sound: AudioHealth) { senders[0].link.setAudio(sound, of: 0) }

    /// Answers a command of the collector that is connected.
    mutating func report(_ report: Report, payload: Payload?, now: Int64) -> [Action] {
        senders[0].link.report(report, payload: payload, now: now)
    }

    // MARK: What the network does

    mutating func connected(now: Int64) -> [Action] {
        let actions = senders[0].link.connected(now: now)
        return perform(actions, now: now)
    }

    mutating func disconnected(now: Int64) -> [Action] {
        isBetweenSenders = false
        let actions = senders[0].link.disconnected(now: now)
        return perform(actions, now: now)
    }

    /// The session's name, as the collector reports it; empty: it has not.
    var session: String { senders[0].link.session }

    /// See ``AgentLink/shutOut``.
    var shutOut: String? { senders[0].link.shutOut }

    mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        isBetweenSenders = false
        let actions = senders[0].link.notAdmitted(why, now: now)
        return perform(actions, now: now)
    }

    mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        if isPutBack(header, now: now) { return renew(now: now) }
        if isOutOfOrder(header, now: now) { return disconnected(now: now) }
        let isPutOff = isBetweenSenders && Self.isPutOff(header)
        let actions = senders[0].link.received(header, now: now)
        return perform(actions, takesBack: !isPutOff, now: now)
    }

    /// Whether the collector answers that the agent should come later.
    private static func isPutOff(_ header: [UInt8]) -> Bool {
        do throws(WireError) {
            guard case .refusal(let refusal) = try WireMessage(decoding: header) else {
                return false
            }
            return refusal.reason == .unknownConnection
        } catch {
            // The link says so.
            return false
        }
    }

    mutating func tick(now: Int64) -> [Action] {
        returnToDisk(now: now)
        if shelf != nil { senders[0].link.setStoredBytes(keptBytes, of: 0) }
        let actions = senders[0].link.tick(now: now)
        return perform(actions, now: now) + lookBehind(now: now)
    }

    /// Whether what piled up during an outage has been sent.
    private mutating func lookBehind(now: Int64) -> [Action] {
        let newest = CatchUp.Goal(
            sender: senders[senders.count - 1].ordinal,
            number: senders[senders.count - 1].link.nextSequence(of: 0) - 1)
        if isFlowing {
            if !wasFlowing { catchUp.resumed(newest: newest, keptBytes: keptBytes, now: now) }
            isBetweenSenders = false
        } else if !isBetweenSenders, senders.count > 1 || senders[0].link.nextSequence(of: 0) > 1 {
            catchUp.lost(now: now)
        }
        wasFlowing = isFlowing
        let senders = senders
        let line = catchUp.look(newest: newest, keptBytes: keptBytes, now: now) { goal in
            guard let sender = senders.first(where: { $0.ordinal >= goal.sender }) else {
                return true
            }
            return sender.ordinal > goal.sender || sender.link.persisted(of: 0) >= goal.number
        }
        return line.map { [.log(LinkLog(.notice, $0))] } ?? []
    }

    // MARK: Synchronising

    /// Files to synchronise now, away from the uplink's thread.
    mutating func takeFilesToSynchronize(now: Int64) -> [String] {
        guard let sender = senders.last, sender.generation != nil, shelf != nil else { return [] }
        let isDue = policy.decide(
            newest: sender.link.nextSequence(of: 0) - 1, persisted: sender.link.persisted(of: 0),
            hasUnsynced: shelf?.hasUnsynced ?? false, now: now)
        return isDue ? shelf?.takeUnsynced() ?? [] : []
    }

    /// The disk did not take them.
    mutating func synchronizationFailed(_ error: SpoolError, now: Int64) -> [Action] {
        guard senders.last?.generation != nil else { return [] }
        leaveDisk(error, now: now)
        return takeNotices()
    }
}

// MARK: - Senders

extension Backlog {
    private static var unknownLoss: String {
        "the box or the agent was restarted; the amount of lost data is unknown"
    }

    /// Finds out what earlier lives left, and goes on with it.
    private mutating func takeUp() {
        guard let shelf else { return beginInMemory() }
        let lives = keptLives()
        for life in lives { senders.append(sender(for: life)) }
        for earlier in senders.indices.dropLast() { senders[earlier].link.retire() }
        guard let last = lives.last else {
            // Not one record outlived it, but it had not ended.
            if shelf.newestGenerationFound != nil { restart = (nil, Self.unknownLoss) }
            return beginOnDisk()
        }
        if goesOn(last) {
            restart = (last.endNanoseconds, "the agent was not running")
            changedFormats = formats.filter { !last.newestFormats.contains($0) }
            senders[senders.count - 1].firstOwn = last.sequences.upperBound
            return
        }
        senders[senders.count - 1].link.retire()
        if !last.saidGoodbye || shelf.newestGenerationFound ?? 0 > last.generation {
            restart = (last.epoch == epoch ? last.endNanoseconds : nil, Self.unknownLoss)
        }
        beginOnDisk()
    }

    /// What is on the disk of earlier lives, oldest first; what cannot be read of it is given up, loudly.
    private mutating func keptLives() -> [EarlierSpool] {
        guard let shelf else { return [] }
        for complaint in shelf.complaints { note(.error, complaint) }
        var lives: [EarlierSpool] = []
        for spool in shelf.spools {
            if let life = EarlierSpool(spool, of: shelf) {
                lives.append(life)
                continue
            }
            note(
                .error,
                "\(spool.sizeBytes) bytes of samples in \(shelf.storage.path) cannot be read and are "
                    + "deleted")
            delete(spool.generation)
        }
        if !lives.isEmpty {
            let bytes = byteText(self.shelf?.sizeBytes ?? 0)
            note(.info, "\(bytes) of samples from before this start are sent first")
        }
        return lives
    }

    /// Whether the spool can be written by this life: same clock, no number that might be given twice, same tracks.
    private func goesOn(_ life: EarlierSpool) -> Bool {
        life.epoch == epoch && life.isTailCertain && !life.saidGoodbye
            && Set(life.newestFormats.map(\.kind)) == Set(formats.map(\.kind))
    }

    private mutating func sender(for life: EarlierSpool) -> Sender {
        var epochs = [Epoch(number: SpoolCoding.epoch, identity: life.epoch)]
        if life.epoch != epoch {
            epochs.append(Epoch(number: SpoolCoding.epoch + 1, identity: epoch))
        }
        var link = AgentLink<Payload>(settings: linkSettings(life.identity, epochs, onDisk: true))
        _ = link.addSource(
            settings.sourceName, formats: life.firstFormats,
            kept: (life.sequences, life.newestFormats))
        return Sender(
            link: link, identity: life.identity, generation: life.generation, epochs: epochs,
            ordinal: nextOrdinal())
    }

    private mutating func nextOrdinal() -> UInt64 {
        senderCount += 1
        return senderCount
    }

    private func linkSettings(
        _ identity: SpoolID, _ epochs: [Epoch], onDisk: Bool
    ) -> AgentLinkSettings {
        var link = AgentLinkSettings(
            endpoint: settings.endpoint, software: settings.software, agent: settings.agentName,
            spool: identity, epochs: epochs)
        link.memoryLimitBytes = settings.memoryLimitBytes
        // What is in memory alone is lost with the process: there, sending is what makes it safe.
        link.gathers = settings.batch.gathers && onDisk
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
        appendSender(identity, generation)
    }

    private mutating func beginInMemory() { appendSender(makeIdentity(), nil) }

    private mutating func appendSender(_ identity: SpoolID, _ generation: UInt32?) {
        let epochs = [Epoch(number: SpoolCoding.epoch, identity: epoch)]
        var link = AgentLink<Payload>(
            settings: linkSettings(identity, epochs, onDisk: generation != nil))
        _ = link.addSource(settings.sourceName, formats: formats)
        senders.append(
            Sender(
                link: link, identity: identity, generation: generation, epochs: epochs,
                ordinal: nextOrdinal()))
        policy = SyncPolicy()
    }

    /// The disk has failed: what comes next is kept in memory, under numbers of its own.
    private mutating func leaveDisk(_ error: SpoolError, now: Int64) {
        let limit = byteText(settings.memoryLimitBytes)
        let seconds = retryNanoseconds / 1_000_000_000
        note(
            .error,
            "\(error); samples are kept in memory (\(limit)) from now on and are lost in a "
                + "power failure. Make the disk writable; next attempt in \(seconds) s")
        retryAt = now + retryNanoseconds
        retryNanoseconds = min(2 * retryNanoseconds, Self.longestRetryNanoseconds)
        retireLast()
        beginInMemory()
    }

    /// Uses the disk again, if it takes what is in memory: a power cut must not have it.
    private mutating func returnToDisk(now: Int64) {
        guard let retryAt, now >= retryAt, senders.last?.generation == nil else { return }
        self.retryAt = now.clampedAdding(Self.firstRetryNanoseconds)
        do throws(SpoolError) {
            if shelf == nil, let openShelf {
                let opened = try openShelf()
                try opened.checkWritable()
                shelf = opened
                self.openShelf = nil
                takeUpEarlierLives(now: now)
            }
            try shelf?.checkWritable()
            try moveToDisk(now: now)
        } catch {
            // It was said when it failed; that it still does is no news.
            return
        }
        guard let shelf else { return }
        self.retryAt = nil
        note(.notice, "samples are kept on disk again, in \(shelf.storage.path)")
    }

    /// What earlier lives left on a disk that could not be read when this one began: it is sent first.
    private mutating func takeUpEarlierLives(now: Int64) {
        let earlier = keptLives()
        guard !earlier.isEmpty else { return }
        // What sends at this moment is not the first any more: it greets when its turn comes.
        _ = senders[0].link.disconnected(now: now)
        senders =
            earlier.map { life in
                var sender = sender(for: life)
                sender.link.retire()
                return sender
            } + senders
        notices.append(.reconnect(afterMilliseconds: 0))
    }

    /// Writes the records of the last sender, which is in memory, as a spool on the disk, with the numbers they have.
    private mutating func moveToDisk(now: Int64) throws(SpoolError) {
        guard shelf != nil, var sender = senders.last else { return }
        let identity = sender.identity
        let records = sender.link.recordsInMemory(of: 0)
        let next = sender.link.nextSequence(of: 0)
        let first = records.first?.sequences.lowerBound ?? next
        let oldest = sender.link.oldestFormats(of: 0)
        let origin = epoch.bytes
        guard
            let generation = shelf?.begin(
                identity: identity.bytes, origin: origin, firstNumber: first)
        else { return }
        do throws(SpoolError) {
            var inForce = oldest
            for record in records {
                try write(record, to: generation, formats: inForce, now: now)
                if let format = record.format { inForce = inForce.replacing(format) }
            }
        } catch {
            delete(generation)
            throw error
        }
        var link = AgentLink<Payload>(settings: linkSettings(identity, sender.epochs, onDisk: true))
        _ = link.addSource(
            settings.sourceName, formats: oldest, kept: (first..<next, formats))
        retiredLostSamples += sender.link.lostSamples
        sender.firstOwn = max(sender.firstOwn, sender.link.highestSent(of: 0) + 1)
        // Nothing comes behind a goodbye; that it is on disk may be known already.
        if records.contains(where: \.isGoodbye) { link.retire() }
        sender.link = link
        sender.generation = generation
        senders[senders.count - 1] = sender
        policy = SyncPolicy()
        // What was on its way is sent again, from the disk: another link begins with another greeting.
        if senders.count == 1 { notices.append(.reconnect(afterMilliseconds: 0)) }
    }

    /// No more records go to the last sender; one that never had any, and is not connected, is not worth a connection.
    private mutating func retireLast() {
        let last = senders.count - 1
        senders[last].link.retire()
        guard senders[last].link.nextSequence(of: 0) == 1, last > 0 else { return }
        if let generation = senders[last].generation { delete(generation) }
        senders.removeLast()
    }

    /// The connected sender has nothing left to keep.
    private mutating func finishSender() -> [Action] {
        if let generation = senders[0].generation { delete(generation) }
        guard senders.count > 1 || !setAside.isEmpty else { return [.finished] }
        retiredLostSamples += senders[0].link.lostSamples
        senders.removeFirst()
        // The source has ended: what is left of it is to be released.
        if senders.isEmpty { takeBack() }
        isBetweenSenders = true
        return [.reconnect(afterMilliseconds: 0)]
    }

    /// Lets the next sender connect, where of the connected one only releases are awaited.
    private mutating func setAsideIfPersisted(now: Int64) -> [Action] {
        guard senders.count > 1, senders[0].link.isFlowing, senders[0].link.isPersisted,
            senders[0].link.unreleasedRecords > 0
        else { return [] }
        var sender = senders.removeFirst()
        _ = sender.link.disconnected(now: now)
        setAside.append(sender)
        isBetweenSenders = true
        return [.reconnect(afterMilliseconds: 0)]
    }

    /// What was set aside is to be connected again, first.
    private mutating func takeBack() {
        senders = setAside + senders
        setAside = []
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
        note(.error, "\(error); samples already sent stay in the spool until they can be deleted")
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
        var record = prepare(senders[senders.count - 1].link)
        if let generation = senders[senders.count - 1].generation {
            do throws(SpoolError) {
                try write(record, to: generation, formats: formats, now: now)
            } catch {
                leaveDisk(error, now: now)
                record = prepare(senders[senders.count - 1].link)
            }
        }
        let last = senders.count - 1
        let actions = senders[last].link.admit(record, to: 0, now: now)
        if record.kind != .goodbye { makeRoom(now: now) }
        return perform(actions, now: now)
    }

    private mutating func write(
        _ record: KeptRecord<Payload>, to generation: UInt32, formats: [TrackFormat], now: Int64
    ) throws(SpoolError) {
        let hasVideo = formats.contains { $0.kind == .video }
        let new = SpoolSet<Storage>.NewRecord(
            firstNumber: record.sequences.lowerBound, count: UInt32(record.sequences.count),
            kind: record.kind.rawValue,
            beginsGroup: record.kind == .samples && (!hasVideo || record.beginsWithKeyframe))
        let prefix = SpoolCoding.prefix(of: record.header)
        // A change of format is in force behind its record, not at it; but who begins there may as well know it.
        let preamble = { SpoolCoding.preamble(formats) }
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
        let video = batch.runs.first { $0.track == .video }
        let canBeDecoded = video?.flags(at: 0).contains(.keyframe) ?? false
        guard dropping.newestGroup.drops(canBeDecoded: canBeDecoded) else { return nil }
        let times = batch.runs.times
        return Loss(
            track: nil, cause: .spoolFull, startNanoseconds: times.lowerBound,
            durationNanoseconds: times.upperBound - times.lowerBound, samples: UInt64(batch.count),
            text: Dropped.text)
    }

    /// Does what the link asked of the disk, and passes on the rest.
    /// - Parameter takesBack: whether those set aside are connected first after a lost connection. Not so when the collector has only
    ///   put off the next sender: it is the same one, and it greets a source only so often. With many spools, the last would never
    ///   have its turn.
    private mutating func perform(
        _ actions: [Action], takesBack: Bool = true, now: Int64
    ) -> [Action] {
        var result = takeNotices()
        var pending = actions[...]
        while let action = pending.popFirst() {
            switch action {
            case .fetch(_, let number):
                let more = fetch(number, now: now)
                result += takeNotices()
                pending = more + pending
            case .finished:
                return result + finishSender() + takeNotices()
            case .reconnect:
                if takesBack { takeBack() }
                result.append(action)
            case .send, .command, .failed, .log:
                result.append(action)
            }
        }
        release()
        return result + setAsideIfPersisted(now: now) + takeNotices()
    }

    private mutating func fetch(_ number: UInt64, now: Int64) -> [Action] {
        guard let generation = senders[0].generation, let shelf else { return [] }
        let reading = SpoolReading<Payload>(generation, from: number, shelf: shelf)
        for line in reading.complaints { note(.error, line) }
        // Nothing to go on with would be asked for again, for ever.
        guard reading.records.first?.sequences.contains(number) ?? false else { return [] }
        return senders[0].link.loaded(
            reading.records, formats: reading.formats ?? formats, of: 0, now: now)
    }

    /// Deletes what the collector has released.
    private mutating func release() {
        guard let generation = senders[0].generation else { return }
        do throws(SpoolError) {
            try shelf?.release(generation, through: senders[0].link.released(of: 0))
        } catch {
            deletionFailed(error)
        }
        if let shelf {
            dropping.note(keptBytes: shelf.sizeBytes)
            forgetting.note(keptBytes: shelf.sizeBytes)
        }
    }
}

// MARK: - Put back

extension Backlog {
    private static var putBack: String {
        "the box was restored to an earlier state; samples captured since then and not sent are lost"
    }

    /// Whether the collector says that it has records of the spool that is being written which nobody here has sent: the spool, or the
    /// whole box, is a copy of what it was. Numbers would be given twice.
    private func isPutBack(_ header: [UInt8], now: Int64) -> Bool {
        guard senders.count == 1, let sender = senders.first,
            renewedAt.map({ now - $0 >= Self.renewalNanoseconds }) ?? true
        else { return false }
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: header)
        } catch {
            // The link says so.
            return false
        }
        switch message {
        case .welcome(let welcome):
            guard let state = welcome.sources.first(where: { $0.source == 0 }) else {
                return false
            }
            return state.received > max(sender.link.highestSent(of: 0), sender.firstOwn - 1)
        case .hello, .refusal, .samples, .gap, .trackUpdate, .goodbye, .heartbeat, .clockProbe,
            .clockReply,
            .acknowledgement, .ping, .command, .report, .enrol, .enrolled, .unknown:
            return false
        }
    }

    /// Whether the collector takes exception to the numbers, for the first time in a while: its next greeting says what it has, and so
    /// whether the spool was put back. If it was not, the next such refusal is the last.
    private mutating func isOutOfOrder(_ header: [UInt8], now: Int64) -> Bool {
        guard senders.count == 1,
            askedAgainAt.map({ now - $0 >= Self.renewalNanoseconds }) ?? true
        else { return false }
        do throws(WireError) {
            guard case .refusal(let refusal) = try WireMessage(decoding: header),
                refusal.reason == .sequence
            else { return false }
        } catch {
            // The link says so.
            return false
        }
        askedAgainAt = now
        return true
    }

    /// Goes on under another identity with what the collector cannot have: what this life has captured and not sent.
    private mutating func renew(now: Int64) -> [Action] {
        guard let old = senders.first else { return [] }
        renewedAt = now
        let first = max(old.link.highestSent(of: 0) + 1, old.firstOwn)
        let (records, inForce) = unsent(of: old, from: first)
        note(
            .warning,
            "the collector has records of this spool that this agent has not sent: the box was restored to an "
                + "earlier state. Samples captured since then continue in a new spool")
        retiredLostSamples += old.link.lostSamples
        senders.removeFirst()
        formats = inForce
        changedFormats = []
        restart = nil
        if old.generation != nil { beginOnDisk() } else { beginInMemory() }
        let start = records.lazy.compactMap { $0.samples?.runs.times.lowerBound }.first
        var actions: [Action] = []
        if let start {
            actions += add(
                Loss(
                    track: nil, cause: .restart, startNanoseconds: start, durationNanoseconds: 0,
                    samples: 0, text: Self.putBack), now: now)
        } else {
            restart = (nil, Self.putBack)
        }
        for record in records { actions += keepAgain(record, now: now) }
        if let generation = old.generation { delete(generation) }
        return takeNotices() + actions + [.reconnect(afterMilliseconds: 0)]
    }

    /// A sender's records from a number on, and the formats in force at the first; those for what comes next, where there are none.
    private mutating func unsent(
        of sender: Sender, from first: UInt64
    ) -> (records: [KeptRecord<Payload>], formats: [TrackFormat]) {
        guard let generation = sender.generation, let shelf else {
            let all = sender.link.recordsInMemory(of: 0)
            let sent = all.prefix { $0.sequences.lowerBound < first }
            let inForce = sent.compactMap(\.format)
                .reduce(sender.link.oldestFormats(of: 0)) { $0.replacing($1) }
            let records = Array(all[sent.endIndex...])
            return (records, records.isEmpty ? formats : inForce)
        }
        var records: [KeptRecord<Payload>] = []
        var inForce: [TrackFormat]?
        var number = first
        while number < sender.link.nextSequence(of: 0) {
            let reading = SpoolReading<Payload>(generation, from: number, shelf: shelf)
            for line in reading.complaints { note(.error, line) }
            guard let last = reading.records.last, last.sequences.upperBound >= number else {
                break
            }
            inForce = inForce ?? reading.formats
            records += reading.records.filter { $0.sequences.lowerBound >= number }
            number = last.sequences.upperBound + 1
        }
        return (records, inForce ?? formats)
    }

    /// Numbers a record anew.
    private mutating func keepAgain(_ record: KeptRecord<Payload>, now: Int64) -> [Action] {
        if let samples = record.samples, let payload = record.payload {
            return keep(now: now) {
                $0.prepare(
                    runs: samples.runs, digest: samples.payloadDigest, payload: payload, of: 0)
            }
        }
        if let gap = record.gap {
            let loss = Loss(
                track: gap.track, cause: gap.cause, startNanoseconds: gap.startNanoseconds,
                durationNanoseconds: gap.durationNanoseconds, samples: gap.samples, text: gap.text)
            return keep(now: now) { $0.prepare(loss, of: 0) }
        }
        if let format = record.format {
            formats = formats.replacing(format)
            return keep(now: now) { $0.prepare(format, of: 0) }
        }
        return keep(now: now) { $0.prepareGoodbye(Self.putBack, of: 0) }
    }
}

// MARK: - Too much

extension Backlog {
    /// Keeps within what the spool may take: first goes what is on the collector's disk and was to be kept until its store has it,
    /// then the oldest groups that the collector cannot have give way to a gap.
    private mutating func makeRoom(now: Int64) {
        while let shelf, dropping.isExceeded(by: shelf.sizeBytes) {
            if forgetOldest() { continue }
            guard let (place, group) = oldestGroup() else { return }
            do throws(SpoolError) {
                try drop(group, of: place)
            } catch {
                // Without a durable note of what was dropped nothing may go.
                if senders.last?.generation != nil { leaveDisk(error, now: now) }
                return
            }
        }
    }

    /// Deletes the oldest file whose records are all on the collector's disk. Nothing is missing by that, unless that disk is lost.
    /// - Returns: whether there was one.
    private mutating func forgetOldest() -> Bool {
        for (place, sender) in (setAside + senders).enumerated() {
            // Of a spool that ends, the last file holds no next number: it goes with what is known of it.
            if place < setAside.count, let generation = sender.generation,
                shelf?.spool(generation)?.oldestReleasable == nil
            {
                delete(generation)
                guard shelf?.spool(generation) == nil else { return false }
                retiredLostSamples += sender.link.lostSamples
                setAside.remove(at: place)
                noteForgetting()
                return true
            }
            guard let generation = sender.generation,
                let numbers = shelf?.spool(generation)?.oldestReleasable,
                numbers.upperBound <= sender.link.lastForgettable(of: 0)
            else { continue }
            do throws(SpoolError) {
                try shelf?.release(generation, through: numbers.upperBound)
            } catch {
                deletionFailed(error)
                return false
            }
            if place < setAside.count {
                setAside[place].link.forgot(through: numbers.upperBound, of: 0)
            } else {
                senders[place - setAside.count].link.forgot(through: numbers.upperBound, of: 0)
            }
            noteForgetting()
            return true
        }
        return false
    }

    private mutating func noteForgetting() {
        guard let shelf, forgetting.reportsDrop() else { return }
        note(
            .warning,
            "the spool \(shelf.storage.path) (\(byteText(shelf.limitBytes))) is too small to keep samples until "
                + "the collector's store has them: from now on samples that are on the collector's disk alone are "
                + "forgotten. Enlarge --spool-limit")
    }

    private func oldestGroup() -> (sender: Int, group: Spool.Group)? {
        for (place, sender) in senders.enumerated() {
            if let generation = sender.generation,
                let group = shelf?.spool(generation)?.oldestGroup(
                    from: sender.link.firstDroppable(of: 0))
            {
                return (place, group)
            }
        }
        return nil
    }

    private mutating func drop(_ group: Spool.Group, of place: Int) throws(SpoolError) {
        guard let shelf, let generation = senders[place].generation else { return }
        let dropped = Dropped(
            group, generation, of: shelf, fixedBelow: senders[place].link.firstDroppable(of: 0),
            newestFormats: formats)
        try self.shelf?.replace(
            group, of: generation, with: dropped.substitutes,
            preamble: SpoolCoding.preamble(dropped.formatsBehind))
        senders[place].link.dropped(
            from: dropped.numbers.lowerBound, samples: dropped.samples, of: 0)
        if group.isNewest, place == senders.count - 1,
            formats.contains(where: { $0.kind == .video })
        {
            dropping.newestGroup.dropBeginning()
        }
        guard dropping.reportsDrop() else { return }
        note(
            .error,
            "the spool \(shelf.storage.path) is full (\(byteText(shelf.limitBytes))) and the "
                + "collector does not accept data: the oldest samples are dropped from now on")
    }
}
