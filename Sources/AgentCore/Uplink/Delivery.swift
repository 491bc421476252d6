import Media
import CollectorClient
import Spooling
import Wire

/// Delivers one source to its collectors: its record log, and the links that send it.
///
/// A value without threads, sockets and clocks. The records of one boot are one spool of the log, which is sent by one link. Spools
/// of earlier boots are sent first, oldest first, each over its own connection, while new records are written. If the disk fails or
/// is unusable, new records go to a spool in memory, which moves to the disk when that works again.
///
///     senders:  spool of an earlier boot ─► spool of this boot        (disk failure: ─► memory, then the disk again)
///             connected                   written
///
/// A record is numbered and written before the link sends it, so every sent record is in the log.
///
/// A collector may require that persisted records are kept until its store has them (`released`). New records do not wait for that: a
/// sender whose records are all persisted is set aside with its files, and the next one connects. After each reconnection, the
/// set-aside senders come first, because another collector may lack some of their records, and again at the end, to learn that their
/// records are released.
///
/// There may be several collectors (``CollectorChoice``). Records that one has acknowledged are not sent to the next; records without
/// an acknowledgement are. Copies are recognised, because a record is identified by its spool and number. Each change of collector
/// raises the term (``CollectorNote``), durably, before the next Hello.
///
/// A spool that was restored from a snapshot would assign numbers twice. The collector's Welcome shows that it has records that this
/// agent has not sent; new records then go to a spool with a new identity.
struct Delivery<Payload: SpooledPayload>: Sendable {
    typealias Action = AgentAction<Payload>

    /// One spool, and the link that sends it.
    private struct Sender: Sendable {
        var link: AgentLink<Payload>
        /// Link to the second collector; nil without one.
        var mirror: AgentLink<Payload>?
        let identity: SpoolID
        let place: RecordLog.Location
        let epochs: [Epoch]
        /// Records before this number are from an earlier run, or were sent over an earlier link: the collector may have them.
        var firstOwn: UInt64 = 1

        var cursor: Cursor<Payload> { link.cursors[0] }
        /// The number of its next record.
        var next: UInt64 { link.nextNumber(of: 0).sequence }
        /// Upper bound of the numbers that any collector has.
        var highestSent: UInt64 {
            max(cursor.highestSent, mirror?.cursors[0].highestSent ?? 0)
        }
        /// The last record that may be deleted.
        var released: UInt64 {
            min(cursor.released, mirror?.cursors[0].released ?? cursor.released)
        }
    }

    /// Identifies a sender.
    private enum Seat: Hashable {
        case aside(Int)
        case sending(Int)
    }

    /// Delay before a failed disk is used again: doubled after each failure.
    private static var firstRetryNanoseconds: Int64 { 5_000_000_000 }
    private static var longestRetryNanoseconds: Int64 { 60_000_000_000 }
    /// Minimum interval between two renewals of a spool's identity: a repeated refusal has another cause.
    private static var renewalNanoseconds: Int64 { 600_000_000_000 }

    private var settings: UplinkSettings
    private let epoch: EpochID
    private let makeIdentity: @Sendable () -> SpoolID
    /// Opens the spool's directory if that failed at the start; nil without a directory, or once it is open.
    private var openDisk: (@Sendable () throws(SpoolError) -> SpoolSet)?
    private var log: RecordLog
    /// The first one is connected, the last one is written; never empty.
    private var senders: [Sender] = []
    /// Senders whose records are all persisted, and not all released, oldest first.
    private var setAside: [Sender] = []
    private var policy = SyncPolicy()
    private var retryAt: Int64?
    private var retryNanoseconds = Self.firstRetryNanoseconds
    /// The gap since the agent's previous run, sent with the first samples.
    private var restart: RestartGap?
    /// Time of the last change of the spool's identity.
    private var renewedAt: Int64?
    /// Time of the last repeated Hello after a refusal of the numbers.
    private var askedAgainAt: Int64?
    /// Formats that differ from those of the previous run, if its spool is continued.
    private var changedFormats: [TrackFormat] = []
    private var retiredLostSamples: UInt64 = 0
    private var catchUp = CatchUp()
    private var wasFlowing = false
    /// One sender is done, and the next is not connected yet, which is not an outage.
    private var isBetweenSenders = false
    /// The present connection is to be replaced.
    private var hasToReconnect = false
    private var choice: CollectorChoice
    private var note = CollectorNote()
    private var names: CollectorNames
    /// The reason for leaving the previous collector.
    private var moved: String?
    /// The last persisted record of the connected spool, at a collector that is a last resort.
    private var persistedAtLastResort: (spool: SpoolID, number: UInt64)?
    /// The last exchanges with the present collector's clock.
    private var recentExchanges: [ReportedExchange] = []
    private static var recentExchangesKept: Int { 32 }
    private static var recentNanoseconds: Int64 { 60_000_000_000 }
    /// The second collector; nil without mirroring.
    private var mirror: MirrorLane<Payload>?
    private var rate = CaptureRate()
    /// The warning about a missing second collector was logged.
    private var hasMissedMirror = false
    /// The failure to write the note was logged.
    private var hasNoteFailed = false

    /// - Parameters:
    ///   - disk: the spools there; nil: memory only.
    ///   - openDisk: opens them if they could not be opened yet; called repeatedly.
    ///   - epoch: the present clock.
    ///   - makeIdentity: identities for new spools.
    init(
        settings: UplinkSettings, disk: SpoolSet?,
        openDisk: (@Sendable () throws(SpoolError) -> SpoolSet)? = nil,
        formats: [TrackFormat], epoch: EpochID,
        makeIdentity: @escaping @Sendable () -> SpoolID
    ) {
        self.settings = settings
        names = CollectorNames(boxName: settings.agentName)
        log = RecordLog(
            disk: disk, memoryLimitBytes: settings.memoryLimitBytes, formats: formats)
        self.epoch = epoch
        self.makeIdentity = makeIdentity
        self.openDisk = disk == nil ? openDisk : nil
        let kept = log.collectorNote()
        choice = CollectorChoice(
            settings.collectors, source: settings.sourceName, present: kept?.endpoint)
        if self.openDisk != nil { retryAt = .min }
        takeUp()
        if let kept { follow(kept) }
        names.note(note.name, at: note.endpoint, now: nil)
        if !note.mirror.isEmpty, settings.collectors.count > 1 { beginMirror(now: nil) }
    }

    // MARK: State

    /// The epoch number in exchanges with the collector's clock.
    var presentEpoch: UInt32 { senders[0].epochs.last?.number ?? SpoolCoding.epoch }
    var isFlowing: Bool { senders[0].link.isFlowing }
    /// Bytes that the collector has not persisted: payloads of the next records to send, and spool bytes of the others. Files that
    /// the collector has persisted are not counted, although they may exist.
    var keptBytes: Int { senders.reduce(0) { $0 + keptBytes(of: $1) } }

    private func keptBytes(of sender: Sender) -> Int {
        let behind = log.spool(sender.place)?.sizeBytes(from: sender.cursor.windowEnd) ?? 0
        return sender.link.keptBytes + behind
    }

    /// The same, by medium.
    private var keptAmounts: KeptAmounts {
        var amounts = KeptAmounts(
            diskBytes: 0, memoryBytes: 0, memoryLimitBytes: settings.memoryLimitBytes)
        for sender in senders {
            switch sender.place.medium {
            case .disk: amounts.diskBytes += keptBytes(of: sender)
            case .memory: amounts.memoryBytes += keptBytes(of: sender)
            }
        }
        return amounts
    }

    /// Memory of all records, bytes: without a disk within the settings' limit, and otherwise at most a window more.
    var memoryBytes: Int {
        let window = senders.reduce(0) { $0 + $1.link.memoryBytes }
        return window + log.memoryBytes
    }
    var keptSamples: UInt64 { senders.reduce(0) { $0 + $1.link.keptSamples } }
    /// Those that are in memory only.
    var keptSamplesInMemory: UInt64 {
        senders.filter { $0.place.medium == .memory }.reduce(0) { $0 + $1.link.keptSamples }
    }
    /// Whether the files of the spools on disk are still there. Reads the directory.
    var hasDiskFiles: Bool { log.disk?.hasFiles ?? false }
    var lostSamples: UInt64 {
        (senders + setAside).reduce(retiredLostSamples) { $0 + $1.link.lostSamples }
    }
    /// Whether the source has ended and all of it is on the collector's disk: only releases are awaited.
    var isPersisted: Bool { senders.allSatisfy(\.link.isPersisted) }
    /// Records that are on the collector's disk and have to be kept until they are released.
    var unreleasedRecords: UInt64 {
        (senders + setAside).reduce(0) { $0 + $1.link.unreleasedRecords }
    }
    /// When queued records are due; nil without any.
    var sendDueNanoseconds: Int64? {
        [senders[0].link, mirrorLink].compactMap { $0?.sendDueNanoseconds }.min()
    }
    /// Whether the collector accepts several records in one message.
    var takesSeveralRecords: Bool { senders[0].link.takesSeveralRecords }
    /// The delay that live viewers request; nil without viewers.
    var watchNanoseconds: Int64? {
        [senders[0].link, mirrorLink].compactMap { $0?.watchNanoseconds(of: 0) }.min()
    }
    /// The endpoint of the collector to connect to.
    var endpoint: String { choice.present }
    /// Whether there are several collectors.
    var hasOtherCollectors: Bool { settings.collectors.count > 1 }
    var term: UInt64 { note.term }
    /// The reason for leaving the previous collector; nil: there was none since the start.
    var movedBecause: String? { moved }
    /// Records that other collectors hold, by their names.
    var held: [String: UInt64] {
        var held: [String: UInt64] = [:]
        for range in (senders + setAside).flatMap(\.cursor.held) {
            held[range.collector, default: 0].addClamped(
                range.sequences.upperBound - range.sequences.lowerBound + 1)
        }
        return held
    }
    /// All kept records are on disk.
    var isOnDisk: Bool { (senders + setAside).allSatisfy { $0.place.medium == .disk } }
    /// Records are kept on disk and in memory.
    private var isSplit: Bool { Set(senders.map(\.place.medium)).count > 1 }
    /// The spool's directory; nil if there is none.
    var storage: (any SpoolStorage)? { log.disk?.storage }

    // MARK: Source

    mutating func add(_ batch: Batch, payload: Payload, now: Int64) -> [Action] {
        let actions = begin(now: now) + noteRestart(before: batch, now: now)
        if let loss = log.loss(of: batch) { return actions + add(loss, now: now) }
        return actions
            + keep(now: now) {
                KeptRecord(batch.runs, digest: batch.digest, payload: payload, at: $0)
            }
    }

    mutating func add(_ loss: Loss, now: Int64) -> [Action] {
        begin(now: now) + keep(now: now) { KeptRecord(loss, at: $0) }
    }

    mutating func setFormat(_ format: TrackFormat, now: Int64) -> [Action] {
        begin(now: now) + keep(now: now) { KeptRecord(format, at: $0) }
    }

    mutating func sayGoodbye(_ text: String, now: Int64) -> [Action] {
        begin(now: now) + keep(now: now) { KeptRecord(goodbye: text, at: $0) }
    }

    /// Adds an exchange of the present clock with the collector's.
    mutating func add(_ exchange: ReportedExchange) {
        var exchange = exchange
        exchange.epoch = presentEpoch
        choice.heard(now: exchange.t4)
        recentExchanges.append(exchange)
        if recentExchanges.count > Self.recentExchangesKept { recentExchanges.removeFirst() }
        senders[0].link.add(exchange)
    }

    /// Reports clock exchanges now instead of with the next heartbeat.
    mutating func reportExchanges(now: Int64) -> [Action] {
        let actions = senders[0].link.reportExchanges(now: now)
        return perform(actions, now: now)
    }

    /// Sets whether the capture is stopped by a command; reported immediately.
    mutating func setStopped(_ isStopped: Bool, now: Int64) -> [Action] {
        let actions = senders[0].link.setStopped(isStopped, of: 0, now: now)
        let others = changeMirror { $0.setStopped(isStopped, of: 0, now: now) }
        return (actions.isEmpty ? [] : perform(actions, now: now))
            + (others.isEmpty ? [] : performMirror(others, now: now))
    }

    /// Sets why nothing is captured of some tracks; a change is reported immediately.
    mutating func setTrouble(_ trouble: String?, now: Int64) -> [Action] {
        let actions = senders[0].link.setTrouble(trouble, of: 0, now: now)
        let others = changeMirror { $0.setTrouble(trouble, of: 0, now: now) }
        return (actions.isEmpty ? [] : perform(actions, now: now))
            + (others.isEmpty ? [] : performMirror(others, now: now))
    }

    /// The reason for the collector's silence, if known.
    mutating func setAbsence(_ reason: String?) { senders[0].link.setAbsence(reason) }

    /// Sets the audio state, which is sent with the next heartbeat.
    mutating func setAudio(_ sound: AudioHealth) {
        senders[0].link.setAudio(sound, of: 0)
        _ = changeMirror {
            $0.setAudio(sound, of: 0)
            return []
        }
    }

    /// Answers a command of the collector that is connected.
    mutating func report(_ report: Report, payload: Payload?, now: Int64) -> [Action] {
        guard report.id & MirrorLane<Payload>.commandBit != 0, mirror != nil else {
            return senders[0].link.report(report, payload: payload, now: now)
        }
        var own = report
        own.id ^= MirrorLane<Payload>.commandBit
        let actions = changeMirror { $0.report(own, payload: payload, now: now) }
        return performMirror(actions, now: now)
    }

    // MARK: Network

    mutating func connected(now: Int64) -> [Action] {
        if note.endpoint != choice.present { turn() }
        var route = route(of: senders[0], now: now)
        route.statement.hasOthers = hasOthers(choice, now: now)
        senders[0].link.route = route
        stateHeld(at: .sending(0), inMirror: false)
        let actions = senders[0].link.connected(now: now)
        return perform(actions, now: now)
    }

    mutating func disconnected(now: Int64) -> [Action] {
        isBetweenSenders = false
        let actions = senders[0].link.disconnected(now: now)
        return perform(actions, now: now)
    }

    /// A connection is ready, before any message.
    mutating func heard(now: Int64) { choice.heard(now: now) }

    /// The session's name, as the collector reports it; empty: it has not.
    var session: String { senders[0].link.session }

    /// See ``AgentLink/shutOut``.
    var shutOut: String? { senders[0].link.shutOut }

    mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        isBetweenSenders = false
        let actions = senders[0].link.notAdmitted(why, now: now)
        return leaveIfTold(perform(actions, now: now), now: now)
    }

    mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: header)
        } catch {
            return perform(senders[0].link.receivedUnreadable(error, now: now), now: now)
        }
        choice.heard(now: now)
        var isPutOff = false
        var before: [Action] = []
        if case .welcome(let welcome) = message {
            names.note(welcome.collector, at: choice.present, now: now)
            before = leaveCopy(now: now)
            if isPutBack(welcome, of: senders[0], now: now) { return before + renew(now: now) }
        }
        if case .refusal(let refusal) = message {
            if refusal.reason == .sequence, asksAgain(now: now) { return disconnected(now: now) }
            isPutOff = isBetweenSenders && refusal.reason == .unknownConnection
        }
        let actions = senders[0].link.received(message, now: now)
        if let seen = senders[0].link.takeSeenTerm() { raiseTerm(above: seen) }
        if case .welcome = message { followPolicy(now: now) }
        return before
            + leaveIfTold(perform(actions, takesBack: !isPutOff, now: now), now: now)
    }

    mutating func tick(now: Int64) -> [Action] {
        returnToDisk(now: now)
        senders[0].link.cursors[0].storedBytes = keptBytes
        senders[0].link.setKept(isSplit ? keptAmounts : nil)
        senders[0].link.moved = moved ?? ""
        // A second collector that is no longer required is owed no records.
        if mirror == nil { senders[0].link.owed = [] }
        if senders[0].link.isFlowing, isRecorded { choice.isUseful(now: now) }
        if let complaint = choice.complaint(now: now) {
            return moveOn(because: complaint, now: now) + lookBehind(now: now)
        }
        if choice.leavesLastResort(now: now) { askAllAgain() }
        noteSession()
        let actions = senders[0].link.tick(now: now)
        return perform(actions, now: now) + tickMirror(now: now) + lookBehind(now: now)
    }

    /// Checks whether the backlog of an outage has been sent.
    private mutating func lookBehind(now: Int64) -> [Action] {
        let newest = CatchUp.Goal(
            spool: senders[senders.count - 1].identity,
            number: senders[senders.count - 1].next - 1)
        if isFlowing {
            if !wasFlowing { catchUp.resumed(newest: newest, keptBytes: keptBytes, now: now) }
            isBetweenSenders = false
        } else if !isBetweenSenders, senders.count > 1 || senders[0].next > 1 {
            catchUp.lost(now: now)
        }
        wasFlowing = isFlowing
        guard catchUp.isBehind else { return [] }
        let senders = senders
        let line = catchUp.look(newest: newest, keptBytes: keptBytes, now: now) { goal in
            let sender = senders.first { $0.identity == goal.spool }
            return sender.map { $0.cursor.persisted >= goal.number } ?? true
        }
        return line.map { [.log(LinkLog(.notice, $0))] } ?? []
    }

    // MARK: Synchronising

    /// Removes and returns the paths of files to synchronise now; the caller does it on another thread. Empty: nothing is due.
    mutating func takeFilesToSynchronize(now: Int64) -> [String] {
        guard let sender = senders.last, sender.place.medium == .disk else { return [] }
        let persisted = sender.cursor.persisted
        let isDue = policy.decide(
            newest: sender.next - 1,
            persisted: min(persisted, sender.mirror?.cursors[0].persisted ?? persisted),
            hasUnsynced: log.hasUnsynced, now: now)
        return isDue ? log.takeUnsynced() : []
    }

    /// Synchronising these files failed.
    mutating func synchronizationFailed(_ error: SpoolError, now: Int64) -> [Action] {
        guard senders.last?.place.medium == .disk else { return [] }
        leaveDisk(error, now: now)
        return takeNotices()
    }
}

// MARK: - Senders

extension Delivery {
    private static var wasNotRunning: String {
        "the agent was not running, or its samples were in memory only"
    }
    private static var unknownLoss: String {
        "the box or the agent was restarted; the amount of lost data is unknown"
    }

    /// Opens the spools of earlier runs, and continues them.
    private mutating func takeUp() {
        guard let disk = log.disk else { return begin(in: .memory) }
        let lives = log.earlierSpools()
        for life in lives { senders.append(sender(for: life)) }
        for earlier in senders.indices.dropLast() { senders[earlier].link.retire() }
        guard let last = lives.last else {
            // No record survived, but the source had not ended.
            if disk.newestGenerationFound != nil { restart = RestartGap(text: Self.unknownLoss) }
            return begin(in: .disk)
        }
        if goesOn(last) {
            restart = RestartGap(ends: last.ends, text: Self.wasNotRunning)
            if hasOtherCollectors {
                // Only the collector with the newest records detects a restored box. Any other one would accept different records
                // under the same numbers, so a new spool begins.
                senders[senders.count - 1].link.retire()
                return begin(in: .disk)
            }
            changedFormats = log.formats.filter { !last.newestFormats.contains($0) }
            senders[senders.count - 1].firstOwn = last.sequences.upperBound
            return
        }
        senders[senders.count - 1].link.retire()
        if !last.saidGoodbye || disk.newestGenerationFound ?? 0 > last.generation {
            restart = RestartGap(
                ends: last.epoch == epoch ? last.ends : [:], text: Self.unknownLoss)
        }
        begin(in: .disk)
    }

    /// Whether this run can continue the spool: same clock, no possibly reused number, same tracks.
    private func goesOn(_ life: EarlierSpool) -> Bool {
        life.epoch == epoch && life.isTailCertain && !life.saidGoodbye
            && Set(life.newestFormats.map(\.kind)) == Set(log.formats.map(\.kind))
    }

    private mutating func sender(for life: EarlierSpool) -> Sender {
        var epochs = [Epoch(number: SpoolCoding.epoch, identity: life.epoch)]
        if life.epoch != epoch {
            epochs.append(Epoch(number: SpoolCoding.epoch + 1, identity: epoch))
        }
        let place = RecordLog.Location(medium: .disk, generation: life.generation)
        return Sender(
            link: link(
                life.identity, in: place, epochs, formats: life.firstFormats,
                kept: (life.sequences, life.newestFormats)),
            identity: life.identity, place: place, epochs: epochs)
    }

    private func link(
        _ identity: SpoolID, in place: RecordLog.Location, _ epochs: [Epoch],
        formats: [TrackFormat],
        kept: (sequences: Range<UInt64>, newestFormats: [TrackFormat])? = nil
    ) -> AgentLink<Payload> {
        var own = AgentLinkSettings(
            endpoint: settings.endpoint, software: settings.software, agent: settings.agentName,
            spool: identity, epochs: epochs)
        let isOnDisk = place.medium == .disk
        own.memoryLimitBytes = isOnDisk ? nil : settings.memoryLimitBytes
        // Records in memory are safe only once they are sent.
        own.gathers = settings.batch.gathers && isOnDisk
        own.window = log.window(of: place.medium)
        var link = AgentLink<Payload>(settings: own)
        _ = link.addSource(settings.sourceName, formats: formats, kept: kept)
        return link
    }

    /// Begins a spool, which is written from now on.
    private mutating func begin(in medium: RecordLog.Medium) {
        let identity = makeIdentity()
        let place = log.begin(in: medium, identity, epoch)
        let epochs = [Epoch(number: SpoolCoding.epoch, identity: epoch)]
        var sender = Sender(
            link: link(identity, in: place, epochs, formats: log.formats), identity: identity,
            place: place, epochs: epochs)
        if mirror != nil { attachMirror(to: &sender) }
        senders.append(sender)
        policy = SyncPolicy()
    }

    /// The disk has failed: new records go to a spool in memory.
    private mutating func leaveDisk(_ error: SpoolError, now: Int64) {
        precondition(senders.last?.place.medium == .disk, "memory takes every record")
        let limit = byteText(settings.memoryLimitBytes)
        let seconds = retryNanoseconds / 1_000_000_000
        log.note(
            .error,
            "\(error); samples are kept in memory (\(limit)) from now on and are lost in a "
                + "power failure. Make the disk writable; next attempt in \(seconds) s")
        retryAt = now + retryNanoseconds
        retryNanoseconds = min(2 * retryNanoseconds, Self.longestRetryNanoseconds)
        retireLast()
        begin(in: .memory)
    }

    /// Returns to the disk, if records in memory can be written to it.
    private mutating func returnToDisk(now: Int64) {
        guard let retryAt, now >= retryAt, senders.last?.place.medium == .memory else { return }
        self.retryAt = now.clampedAdding(Self.firstRetryNanoseconds)
        do throws(SpoolError) {
            if log.disk == nil, let openDisk {
                let opened = try openDisk()
                try opened.checkWritable()
                log.add(disk: opened)
                self.openDisk = nil
                takeUpEarlierLives(now: now)
            }
            try log.disk?.checkWritable()
            try moveToDisk(now: now)
        } catch {
            // The first failure was logged; further ones are not.
            return
        }
        guard let storage else { return }
        self.retryAt = nil
        log.note(.notice, "samples are kept on disk again, in \(storage.path)")
    }

    /// Opens spools of earlier runs on a disk that was not readable at the start; they are sent first.
    private mutating func takeUpEarlierLives(now: Int64) {
        let earlier = log.earlierSpools()
        guard !earlier.isEmpty else { return }
        // The present spool's sender is no longer the first: it sends its Hello later.
        _ = senders[0].link.disconnected(now: now)
        let kept = log.collectorNote()
        senders =
            earlier.map { life in
                var sender = sender(for: life)
                sender.link.retire()
                if let kept { follow(kept, by: &sender) }
                if mirror != nil { attachMirror(to: &sender) }
                return sender
            } + senders
        disconnectMirror(now: now)
        if let kept { note.term = max(note.term, kept.term) + 1 }
        hasToReconnect = true
    }

    /// Moves the last sender's spool from memory to the disk, with the numbers that its records have.
    private mutating func moveToDisk(now: Int64) throws(SpoolError) {
        guard log.disk != nil, let old = senders.last else { return }
        let (place, oldest) = try log.copyToDisk(
            old.place, from: old.released + 1, old.identity, epoch, now: now,
            as: Payload.self)
        try log.write(note)
        let first = log.spool(place)?.firstNumber ?? old.next
        var sender = Sender(
            link: link(
                old.identity, in: place, old.epochs, formats: oldest,
                kept: (first..<old.next, log.formats)),
            identity: old.identity, place: place, epochs: old.epochs,
            firstOwn: max(old.firstOwn, old.highestSent + 1))
        sender.link.cursors[0].follow(old.cursor)
        sender.link.cursors[0].noteSent(through: old.highestSent)
        retiredLostSamples += old.link.lostSamples
        let second = old.mirror?.cursors[0]
        // A Goodbye is the last record; it may be persisted already.
        if old.cursor.goodbye != nil { sender.link.retire() }
        if mirror != nil {
            attachMirror(to: &sender)
            if let second { sender.mirror?.cursors[0].follow(second) }
            if mirror?.connected == old.identity { disconnectMirror(now: now) }
        }
        senders[senders.count - 1] = sender
        log.remove(old.place)
        policy = SyncPolicy()
        // Records in flight are sent again from the disk, after a new Hello.
        hasToReconnect = hasToReconnect || senders.count == 1
    }

    /// The last sender gets no more records; one without records that is not connected is removed.
    private mutating func retireLast() {
        let last = senders.count - 1
        senders[last].link.retire()
        senders[last].mirror?.retire()
        guard senders[last].next == 1, last > 0 else { return }
        log.remove(senders[last].place)
        senders.removeLast()
    }

    /// The connected sender has no records left to keep.
    private mutating func finishSender() -> [Action] {
        log.remove(senders[0].place)
        guard senders.count > 1 || !setAside.isEmpty else {
            log.removeCollectorNote()
            return [.finished]
        }
        retiredLostSamples += senders[0].link.lostSamples
        senders.removeFirst()
        // The source has ended: the remaining spools have to be released.
        if senders.isEmpty { takeBack() }
        isBetweenSenders = true
        return [.reconnect(afterMilliseconds: 0)]
    }

    /// Connects the next sender if the connected one waits only for releases.
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

    /// Set-aside senders are connected again, first.
    private mutating func takeBack() {
        senders = setAside + senders
        setAside = []
    }

    private mutating func takeNotices() -> [Action] {
        defer { hasToReconnect = false }
        return log.takeNotices().map { .log($0) }
            + (hasToReconnect ? [.reconnect(afterMilliseconds: 0)] : [])
    }
}

// MARK: - Collectors

extension Delivery {
    /// Applies the note about collectors of an earlier run.
    private mutating func follow(_ kept: CollectorNote) {
        note = kept
        for index in senders.indices { follow(kept, by: &senders[index]) }
    }

    /// Continues a spool of an earlier run according to its note.
    private func follow(_ kept: CollectorNote, by sender: inout Sender) {
        sender.link.cursors[0].held = kept.held[sender.identity] ?? []
        sender.link.cursors[0].ownFirst = kept.ownFirst[sender.identity]?.first ?? 1
        // The note's collector had released these records, not the present one.
        if !kept.endpoint.isEmpty, kept.endpoint != note.endpoint {
            sender.link.cursors[0].leave(kept.collectorName)
        }
    }

    /// The route of the connected sender, for its Hello.
    private func route(of sender: Sender, now: Int64) -> LinkRoute {
        var route = LinkRoute(endpoint: choice.present)
        route.statement.term = note.term
        route.isLastResort = choice.isLastResort
        route.statement.collectors = UInt32(1 + others(than: choice.present, now: now).count)
        if let session = note.session,
            let epoch = sender.epochs.last(where: { $0.identity == session.epoch })
        {
            var exchange = session.exchange
            exchange.epoch = epoch.number
            route.statement.session = SessionOffer(
                clock: session.clock, collector: session.collector, exchange: exchange)
        }
        return route
    }

    /// The only collector's host name was resolved, which was not possible at the start. With several addresses, each is a collector.
    mutating func learn(_ endpoints: [String], now: Int64) -> [Action] {
        guard settings.collectors.count == 1, endpoints.count > 1 else { return [] }
        log.note(
            .notice,
            "\(settings.endpoint) has \(endpoints.count) addresses, which are used as a collector each"
        )
        settings.endpoint = endpoints.joined(separator: ",")
        choice = CollectorChoice(
            endpoints, source: settings.sourceName, present: note.endpoint)
        isBetweenSenders = false
        let ending = perform(senders[0].link.disconnected(now: now), now: now)
        return ending.filter { !$0.isReconnection } + [.reconnect(afterMilliseconds: 0)]
    }

    /// Another collector was selected: raises the term, and makes it durable before any record is sent there.
    private mutating func turn() {
        let former = note.endpoint.isEmpty ? nil : note.collectorName
        for seat in seats {
            if former != nil, let start = firstForNext(at: seat, after: self[seat].released) {
                self[seat].link.cursors[0].keepAgain(from: start)
            }
            self[seat].link.cursors[0].leave(former)
            // Until the next Welcome, records that only the former collector has are not released.
            if mirror != nil { self[seat].link.cursors[0].rewind() }
        }
        if let former {
            log.note(
                .notice,
                "the source is sent to \(choice.present) from now on (term \(note.term + 1))"
                    + heldText(by: former))
        }
        note.term += 1
        note.endpoint = choice.present
        note.name = ""
        recentExchanges.removeAll()
        writeNote()
    }

    /// The first record that the next collector is sent, of those after `released`: the beginning of the group of pictures, so that its
    /// archive can be read alone, or of the record, because records are never split. What the present collector has of it is a copy.
    private mutating func firstForNext(at seat: Seat, after released: UInt64) -> UInt64? {
        let place = self[seat].place
        guard !self[seat].link.isComplete else { return nil }
        return log.groupStart(of: released + 1, in: place, as: Payload.self)
            ?? log.recordStart(of: released + 1, in: place, as: Payload.self)
    }

    private func heldText(by collector: String) -> String {
        guard let records = held[collector], records > 0 else { return "" }
        return
            "; \(collector) has acknowledged \(records) records that are not on this box any more"
    }

    /// A collector has seen a higher term of the spool, which was restored or copied. The next Welcome tells which records the
    /// collector has.
    private mutating func raiseTerm(above seen: UInt64) {
        note.term = max(note.term, seen) + 1
        log.note(.warning, "the spool's term is raised to \(note.term)")
        writeNote()
    }

    /// Switches to another collector if the present one has ended the connection for good.
    private mutating func leaveIfTold(_ actions: [Action], now: Int64) -> [Action] {
        guard let reason = senders[0].link.takeDeparture(), hasOthers(choice, now: now) else {
            return actions
        }
        return actions.filter { !$0.isReconnection }
            + moveOn(because: reason, isRefused: true, now: now)
    }

    /// Whether the present collector records, as far as is known. One that is a last resort may be unable to: it has to persist
    /// records, so that another one is tried otherwise.
    private var isRecorded: Bool {
        mutating get {
            guard choice.isLastResort else {
                persistedAtLastResort = nil
                return true
            }
            let (spool, number) = (senders[0].identity, senders[0].cursor.persisted)
            let before = persistedAtLastResort
            persistedAtLastResort = (spool, number)
            return senders[0].link.keptSamples == 0 || before?.spool != spool
                || number > before?.number ?? 0
        }
    }

    /// Connects to the present collector again, this time as an agent that has others.
    private mutating func askAllAgain() {
        log.note(
            .notice,
            "asking all collectors again: the one at \(choice.present) records the source because no other one did"
        )
        hasToReconnect = true
    }

    /// Switches to the next collector.
    /// - Parameter isRefused: the present one has sent the agent away.
    private mutating func moveOn(
        because reason: String, isRefused: Bool = false, now: Int64
    ) -> [Action] {
        noteSession(isLeaving: true)
        let former = choice.present
        // A line for each collector; then ``AgentLink`` logs that all are unavailable, less and less often.
        let level = choice.isRepeating ? LinkLog.Level.debug : .warning
        isBetweenSenders = false
        let ending = perform(senders[0].link.disconnected(now: now), now: now)
        choice.advance(now: now, isRefused: isRefused)
        exclude(now: now)
        // The former collector's state does not count for the new one, which may be the second collector.
        if mirror != nil { for seat in seats { self[seat].link.cursors[0].rewind() } }
        moved = "\(former): \(reason)"
        while let text = moved, text.utf8.count > WireLimits.textBytes { moved?.removeLast() }
        log.note(level, "leaving the collector at \(former): \(reason); trying \(choice.present)")
        return ending.filter { !$0.isReconnection } + takeNotices()
            + [.reconnect(afterMilliseconds: choice.pauseMilliseconds)]
    }

    /// Stores the state that another collector needs to continue the session: in memory at each update, on disk for a new session.
    private mutating func noteSession(isLeaving: Bool = false) {
        guard hasOtherCollectors else { return }
        let link = senders[0].link
        if link.isFlowing, link.session.isEmpty, note.session?.collector == note.collectorName {
            // The session has ended there, and must not be continued.
            note.session = nil
            writeNote()
        }
        if link.isFlowing, note.name != link.collectorName, note.endpoint == choice.present {
            note.name = link.collectorName
            writeNote()
        }
        guard let clock = link.sessionClock, link.isFlowing || isLeaving,
            note.endpoint == choice.present, isLeaving || note.session?.clock != clock,
            let newest = recentExchanges.last,
            let number = senders[0].epochs.first(where: { $0.identity == epoch })?.number
        else { return }
        let best = recentExchanges.filter {
            $0.epoch == number && newest.t4 - $0.t4 <= Self.recentNanoseconds
        }.min { $0.delayNanoseconds < $1.delayNanoseconds }
        guard let best else { return }
        let isOther = note.session?.clock.session != clock.session
        note.session = CollectorNote.Session(
            clock: clock, exchange: best, epoch: epoch, collector: note.collectorName)
        // On a change of collector, it is written with the next term.
        if isOther, !isLeaving { writeNote() }
    }

    private mutating func writeNote() {
        note.held = [:]
        note.ownFirst = ownFirst
        for sender in setAside + senders where !sender.cursor.held.isEmpty {
            note.held[sender.identity] = sender.cursor.held
        }
        do throws(SpoolError) {
            try log.write(note)
            hasNoteFailed = false
        } catch {
            // A box with a failed disk must still record. After a crash, a collector that has seen a higher term refuses its records,
            // and the term is raised again.
            if !hasNoteFailed {
                log.note(.error, "\(error); the change of collector is not noted on the disk")
            }
            hasNoteFailed = true
        }
    }
}

extension AgentAction {
    /// Whether it is another connection.
    fileprivate var isReconnection: Bool {
        if case .reconnect = self { true } else { false }
    }
}

extension ReportedExchange {
    /// Its time in transit.
    fileprivate var delayNanoseconds: Int64 { (t4 - t1) - (t3 - t2) }
}

// MARK: - Records

extension Delivery {
    /// Numbers a record, writes it, and then passes it to the link.
    private mutating func keep(
        now: Int64, _ make: (RecordNumber) -> KeptRecord<Payload>
    ) -> [Action] {
        returnToDisk(now: now)
        var kept: KeptRecord<Payload>?
        while kept == nil {
            do throws(SpoolError) {
                kept = try log.append(
                    to: senders[senders.count - 1].place, staysShort: policy.isPrompt, now: now,
                    make)
            } catch {
                leaveDisk(error, now: now)
            }
        }
        guard let kept else { return [] }
        let last = senders.count - 1
        rate.add(kept.memoryBytes, now: now)
        let actions = senders[last].link.admit(kept, to: 0, now: now)
        let others = senders[last].mirror?.admit(kept, to: 0, now: now) ?? []
        if !kept.isGoodbye { makeRoom(in: senders[last].place.medium, now: now) }
        return perform(actions, now: now) + (mirror == nil ? [] : performMirror(others, now: now))
    }

    /// The first records of this run: formats that differ from the previous run, if its spool is continued.
    private mutating func begin(now: Int64) -> [Action] {
        let changed = changedFormats
        changedFormats = []
        return changed.flatMap { format in keep(now: now) { KeptRecord(format, at: $0) } }
    }

    /// Adds the gap since the previous run before the first samples.
    private mutating func noteRestart(before batch: Batch, now: Int64) -> [Action] {
        guard var restart else { return [] }
        let losses = restart.losses(before: batch.runs)
        self.restart = restart.isReported ? nil : restart
        return losses.flatMap { add($0, now: now) }
    }

    /// Performs a link's log actions, and returns the others.
    /// - Parameter takesBack: whether set-aside senders are connected first after a lost connection. Not if the collector only
    ///   postponed the next sender: it accepts a limited rate of Hellos per source, and with many spools the last would never be
    ///   sent.
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
            case .reconnect(let pause):
                if takesBack { takeBack() }
                // The next connection may be to another clock.
                recentExchanges.removeAll()
                // The first collector has everything: only the second one is waited for.
                let isAtRest = mirror != nil && isPersisted && senders[0].link.unreleasedRecords > 0
                result.append(
                    isAtRest
                        ? .reconnect(
                            afterMilliseconds: max(pause, MirrorLane<Payload>.refusedMilliseconds))
                        : action)
            case .send, .command, .failed, .log:
                result.append(action)
            }
        }
        log.release(senders[0].place, through: senders[0].released)
        if mirror != nil { result += pair() }
        return result + setAsideIfPersisted(now: now) + takeNotices()
    }

    private mutating func fetch(_ number: UInt64, now: Int64) -> [Action] {
        let (records, formats) = log.content(
            of: senders[0].place, number...number, as: Payload.self)
        // Without the record, it would be requested again forever.
        guard records.first?.sequences.contains(number) ?? false else { return [] }
        return senders[0].link.loaded(
            records, formats: formats ?? log.formats, of: 0, now: now)
    }
}

// MARK: - Restored spools

extension Delivery {
    private static var putBack: String {
        "the box was restored to an earlier state; samples captured since then and not sent are lost"
    }

    /// Whether the collector has records of the open spool that this agent has not sent: the spool or the whole box was restored or
    /// copied, and would assign numbers twice.
    private func isPutBack(_ welcome: Welcome, of sender: Sender, now: Int64) -> Bool {
        guard senders.count == 1, sender.identity == senders[0].identity,
            renewedAt.map({ now - $0 >= Self.renewalNanoseconds }) ?? true,
            let state = welcome.sources.first(where: { $0.source == 0 })
        else { return false }
        return state.received > max(sender.highestSent, sender.firstOwn - 1)
    }

    /// Whether to send another Hello after a refusal with the reason `sequence`, for the first time in a while: the next Welcome
    /// shows whether the spool was restored. If not, the next such refusal is final.
    private mutating func asksAgain(now: Int64) -> Bool {
        guard senders.count == 1,
            askedAgainAt.map({ now - $0 >= Self.renewalNanoseconds }) ?? true
        else { return false }
        askedAgainAt = now
        return true
    }

    /// Moves records of this run that were not sent to a spool with a new identity.
    private mutating func renew(now: Int64) -> [Action] {
        guard let old = senders.first else { return [] }
        renewedAt = now
        let first = max(old.highestSent + 1, old.firstOwn)
        var (records, inForce) = log.content(
            of: old.place, first...max(first, old.next), as: Payload.self)
        records.removeAll { $0.sequences.lowerBound < first }
        log.note(
            .warning,
            "the collector has records of this spool that this agent has not sent: the box was restored to an "
                + "earlier state. Samples captured since then continue in a new spool")
        retiredLostSamples += old.link.lostSamples
        senders.removeFirst()
        changedFormats = []
        restart = nil
        log.formats = inForce ?? log.formats
        begin(in: old.place.medium)
        let start = records.lazy.compactMap { $0.samples?.runs.times.lowerBound }.first
        var actions: [Action] = []
        if let start {
            actions += add(
                Loss(
                    track: nil, cause: .restart, startNanoseconds: start, durationNanoseconds: 0,
                    samples: 0, text: Self.putBack), now: now)
        } else {
            restart = RestartGap(text: Self.putBack)
        }
        for record in records { actions += keepAgain(record, now: now) }
        log.remove(old.place)
        return takeNotices() + actions + [.reconnect(afterMilliseconds: 0)]
    }

    /// Renumbers a record.
    private mutating func keepAgain(_ record: KeptRecord<Payload>, now: Int64) -> [Action] {
        if let samples = record.samples, let payload = record.payload {
            return keep(now: now) {
                KeptRecord(samples.runs, digest: samples.payloadDigest, payload: payload, at: $0)
            }
        }
        if let gap = record.gap {
            let loss = Loss(
                track: gap.track, cause: gap.cause, startNanoseconds: gap.startNanoseconds,
                durationNanoseconds: gap.durationNanoseconds, samples: gap.samples, text: gap.text)
            return keep(now: now) { KeptRecord(loss, at: $0) }
        }
        if let format = record.format {
            return keep(now: now) { KeptRecord(format, at: $0) }
        }
        return keep(now: now) { KeptRecord(goodbye: Self.putBack, at: $0) }
    }
}

// MARK: - Full storage

extension Delivery {
    /// Keeps a volume within its limit, as far as the cursors allow it.
    private mutating func makeRoom(in medium: RecordLog.Medium, now: Int64) {
        do throws(SpoolError) {
            while let change = try log.makeRoom(in: medium, allowances) {
                apply(change, now: now)
            }
        } catch {
            // Media is only dropped if that is noted durably.
            if senders.last?.place.medium == .disk { leaveDisk(error, now: now) }
        }
    }

    private var allowances: [RecordLog.Allowance] {
        func allowance(_ sender: Sender, isSetAside: Bool) -> RecordLog.Allowance {
            // When the spool is full, one persisted copy suffices.
            let second = sender.mirror?.cursors[0]
            return RecordLog.Allowance(
                place: sender.place,
                persisted: max(sender.cursor.persisted, second?.persisted ?? 0),
                firstDroppable: max(sender.cursor.firstDroppable, second?.firstDroppable ?? 0),
                isSetAside: isSetAside)
        }
        return setAside.map { allowance($0, isSetAside: true) }
            + senders.map { allowance($0, isSetAside: false) }
    }

    /// Applies the log's drops to the link of a spool.
    private mutating func apply(_ change: RecordLog.Change, now: Int64) {
        switch change {
        case .forgot(let place, let number):
            for seat in seats where self[seat].place == place {
                forget(number, at: seat, now: now)
            }
        case .removed(let place):
            for sender in setAside where sender.place == place {
                retiredLostSamples += sender.link.lostSamples
            }
            setAside.removeAll { $0.place == place }
        case .dropped(let place, let first, let samples):
            for index in senders.indices where senders[index].place == place {
                senders[index].link.cursors[0].dropped(from: first, samples: samples)
                senders[index].mirror?.cursors[0].dropped(from: first, samples: samples)
            }
        }
    }
}

// MARK: - The second collector

extension Delivery {
    /// Whether records are sent to two collectors.
    var isMirrored: Bool { mirror != nil }
    /// The endpoint to connect to for the second collector; nil: none at present.
    func mirrorEndpoint(now: Int64) -> String? {
        guard let mirror, mirror.choice.present != choice.present else { return nil }
        // It continues the session of the first one, which exists after the first sample.
        let waits = now - mirror.beganNanoseconds < MirrorLane<Payload>.sessionPatienceNanoseconds
        let knows = note.session?.collector == note.collectorName
        return knows || !waits ? mirror.choice.present : nil
    }
    var isMirrorFlowing: Bool { mirrorLink?.isFlowing ?? false }
    /// See ``isPersisted``.
    var isMirrorPersisted: Bool { senders.allSatisfy { $0.mirror?.isPersisted ?? true } }
    /// See ``takesSeveralRecords``.
    var mirrorTakesSeveralRecords: Bool { mirrorLink?.takesSeveralRecords ?? false }
    /// The present clock's number in the spool that is connected or will be next: each spool has its own numbers.
    var mirrorEpoch: UInt32 {
        (mirrorSeat ?? nextMirrorSeat).flatMap { self[$0].epochs.last?.number } ?? presentEpoch
    }

    /// State of the second collector; nil without one.
    var mirrorStatus: MirrorStatus? {
        guard let mirror else { return nil }
        var status = MirrorStatus()
        status.collector = mirror.choice.present
        status.isConnected = isMirrorFlowing
        status.owed = owed
        status.lasts = spoolLasts
        status.trouble = mirrorLink?.shutOut
        return status
    }

    /// Time until the spool, or the log in memory, is full at the present data rate; nil if the rate is unknown.
    var spoolLasts: Duration? {
        guard let rate = rate.bytesPerSecond, rate > 0, let medium = senders.last?.place.medium
        else { return nil }
        let room = medium == .disk ? log.disk.map { $0.limitBytes - $0.sizeBytes } : nil
        let left = room ?? settings.memoryLimitBytes - log.memoryBytes
        return .seconds(Int64(min(Double(max(0, left)) / rate, 1e9)))
    }

    /// Records that each collector lacks.
    var owed: [OwedRecords] {
        func owed(_ name: String, _ link: (Sender) -> AgentLink<Payload>?) -> OwedRecords {
            var owed = OwedRecords(collector: name, records: 0, bytes: 0)
            for seat in seats {
                guard let cursor = link(self[seat])?.cursors[0] else { continue }
                owed.records.addClamped(cursor.keptSamples)
                owed.bytes += UInt64(
                    log.spool(self[seat].place)?.sizeBytes(from: cursor.persisted + 1) ?? 0)
            }
            return owed
        }
        let first = owed(
            CollectorNote.called(
                note.endpoint == choice.present ? note.name : "", at: choice.present), \.link)
        guard let mirror else { return [first] }
        return [first, owed(mirror.collectorName, \.mirror)]
    }

    // MARK: Connection

    /// Actions for the second collector's connection.
    mutating func takeMirrorActions() -> [Action] {
        guard let actions = mirror?.actions, !actions.isEmpty else { return [] }
        mirror?.actions = []
        return actions
    }

    /// See ``add(_:)-(ReportedExchange)``.
    mutating func addToMirror(_ exchange: ReportedExchange) {
        var exchange = exchange
        exchange.epoch = mirrorEpoch
        mirror?.choice.heard(now: exchange.t4)
        _ = changeMirror {
            $0.add(exchange)
            return []
        }
    }

    mutating func reportMirrorExchanges(now: Int64) -> [Action] {
        performMirror(changeMirror { $0.reportExchanges(now: now) }, now: now)
    }

    mutating func mirrorHeard(now: Int64) { mirror?.choice.heard(now: now) }

    mutating func setMirrorAbsence(_ reason: String?) {
        _ = changeMirror {
            $0.setAbsence(reason)
            return []
        }
    }

    /// The connection is established.
    mutating func mirrorConnected(now: Int64) -> [Action] {
        guard let present = mirror?.choice.present else { return [] }
        if note.mirror != present { turnMirror() }
        if mirror?.isBetweenSpools == false {
            // The collector may be another one, or have lost its disk.
            for seat in seats { self[seat].mirror?.cursors[0].rewind() }
        }
        mirror?.isBetweenSpools = false
        guard let seat = nextMirrorSeat else { return [] }
        let identity = self[seat].identity
        mirror?.connected = identity
        var route = route(of: self[seat], now: now)
        route.endpoint = present
        route.statement.hasOthers = mirror.map { hasOthers($0.choice, now: now) } ?? false
        route.isLastResort = mirror?.choice.isLastResort ?? false
        route.statement.isMirror = true
        self[seat].mirror?.route = route
        stateHeld(at: seat, inMirror: true)
        let actions = changeMirror { $0.connected(now: now) }
        return performMirror(actions, now: now)
    }

    mutating func mirrorDisconnected(now: Int64) -> [Action] {
        mirror?.isBetweenSpools = false
        forgetMirrorExchanges()
        return performMirror(changeMirror { $0.disconnected(now: now) }, now: now)
    }

    /// Forgets unreported exchanges: the next collector's clock may be another one.
    private mutating func forgetMirrorExchanges() {
        for seat in seats { self[seat].mirror?.forgetExchanges() }
    }

    mutating func mirrorNotAdmitted(_ why: String, now: Int64) -> [Action] {
        mirror?.isBetweenSpools = false
        let actions = changeMirror { $0.notAdmitted(why, now: now) }
        return performMirror(actions, now: now) + leaveMirrorIfTold(now: now)
    }

    mutating func mirrorReceived(_ header: [UInt8], now: Int64) -> [Action] {
        guard let seat = mirrorSeat else { return [] }
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: header)
        } catch {
            let actions = changeMirror { $0.receivedUnreadable(error, now: now) }
            return performMirror(actions, now: now)
        }
        mirror?.choice.heard(now: now)
        if case .welcome(let welcome) = message {
            if let present = mirror?.choice.present {
                names.note(welcome.collector, at: present, now: now)
            }
            // Its acknowledgements are those of the first connection.
            let leaving = leaveCopy(now: now)
            if mirrorSeat != seat { return leaving }
            if isPutBack(welcome, of: self[seat], now: now) { return renew(now: now) }
        }
        let actions = changeMirror { $0.received(message, now: now) }
        if let seen = self[seat].mirror?.takeSeenTerm() { raiseTerm(above: seen) }
        if case .welcome = message, let name = self[seat].mirror?.collectorName,
            self[seat].mirror?.isFlowing ?? false
        {
            mirror?.name = name
            if note.mirrorName != name {
                note.mirrorName = name
                writeNote()
            }
        }
        return performMirror(actions, now: now) + leaveMirrorIfTold(now: now)
    }

    // MARK: Links

    private var seats: [Seat] {
        setAside.indices.map { .aside($0) } + senders.indices.map { .sending($0) }
    }

    private subscript(seat: Seat) -> Sender {
        get {
            switch seat {
            case .aside(let index): setAside[index]
            case .sending(let index): senders[index]
            }
        }
        _modify {
            switch seat {
            case .aside(let index): yield &setAside[index]
            case .sending(let index): yield &senders[index]
            }
        }
    }

    /// The sender of the connected spool; nil if not connected.
    private var mirrorSeat: Seat? {
        guard let connected = mirror?.connected else { return nil }
        return seats.first { self[$0].identity == connected }
    }

    /// The sender of the next connection: the oldest one that is not persisted.
    private var nextMirrorSeat: Seat? {
        seats.first { !(self[$0].mirror?.isPersisted ?? true) } ?? seats.last
    }

    private var mirrorLink: AgentLink<Payload>? { mirrorSeat.flatMap { self[$0].mirror } }

    /// Calls the link that is connected or will be connected next.
    private mutating func changeMirror(
        _ body: (inout AgentLink<Payload>) -> [Action]
    ) -> [Action] {
        guard mirror != nil, let seat = mirrorSeat ?? nextMirrorSeat, var link = self[seat].mirror
        else { return [] }
        self[seat].mirror = nil
        defer { self[seat].mirror = link }
        return body(&link)
    }

    /// Adds a link to the second collector, which has none of the sender's records.
    private mutating func attachMirror(to sender: inout Sender) {
        let first = min(log.spool(sender.place)?.firstNumber ?? sender.next, sender.next)
        let formats =
            first < sender.next
            ? log.content(of: sender.place, first...first, as: Payload.self).formats : nil
        var link = AgentLink(
            beside: sender.link, from: first, formats: formats ?? log.formats)
        let own = sender.mirror?.cursors[0].ownFirst ?? note.ownFirst[sender.identity]?.second
        if let own { link.cursors[0].ownFirst = own }
        sender.link.cursors[0].setOtherReleased(link.cursors[0].releasable)
        link.cursors[0].setOtherReleased(sender.cursor.releasable)
        sender.mirror = link
    }

    /// Follows the first collector's release policy.
    private mutating func followPolicy(now: Int64) {
        guard senders[0].link.isFlowing, let wants = senders[0].link.wantsMirror else { return }
        let hasOther = !others(than: choice.present, now: now).isEmpty
        if wants, !hasOther { warnOfOneCollector() }
        let isPossible = wants && hasOther
        if isPossible, mirror == nil { beginMirror(now: now) }
        if !isPossible, mirror != nil {
            endMirror(because: "it does not ask for two collectors", now: now)
        }
    }

    /// Warns, once, that there is no second collector.
    private mutating func warnOfOneCollector() {
        guard !hasMissedMirror else { return }
        hasMissedMirror = true
        let isOneEndpoint = settings.collectors.count < 2
        let advice =
            isOneEndpoint
            ? "give --collector two endpoints with a comma between them"
            : "all endpoints of --collector lead to \(names.name(of: choice.present)); add one of another "
                + "collector, or give each collector its own --name"
        log.note(
            .warning,
            "the collector at \(choice.present) wants every record at two collectors "
                + "(--release mirrored), and this agent has one: \(advice). Until then records are at one "
                + "collector only")
    }

    /// Endpoints that are not known to be addresses of the collector at `endpoint`.
    private func others(than endpoint: String, now: Int64) -> [String] {
        let same = names.addresses(of: endpoint, among: settings.collectors, now: now)
        return settings.collectors.filter { !same.contains($0) }
    }

    /// Whether there is another collector to switch to, not only another address of the present one.
    private func hasOthers(_ choice: CollectorChoice, now: Int64) -> Bool {
        choice.hasOthers
            && others(than: choice.present, now: now).contains { !choice.excluded.contains($0) }
    }

    /// Each connection uses another collector.
    private mutating func exclude(now: Int64) {
        guard let second = mirror?.choice.present else {
            choice.excluded = []
            return
        }
        let collectors = settings.collectors
        mirror?.choice.excluded = names.addresses(of: choice.present, among: collectors, now: now)
        choice.excluded = names.addresses(of: second, among: collectors, now: now)
    }

    /// Leaves the second collector if it is the first one, at another address: its records are one copy.
    private mutating func leaveCopy(now: Int64) -> [Action] {
        guard let second = mirror?.choice.present, second != choice.present,
            names.areOne(second, choice.present), mirror?.connected != nil || isKnown(second, now)
        else { return [] }
        exclude(now: now)
        for seat in seats { self[seat].mirror?.cursors[0].rewind() }
        let actions = pair()
        if mirror?.choice.hasOthers ?? false {
            return actions
                + moveMirror(
                    because: "it is the same collector as the one at \(choice.present)", now: now)
        }
        endMirror(because: "its other addresses lead to the same collector", now: now)
        warnOfOneCollector()
        return actions + takeNotices()
    }

    private func isKnown(_ second: String, _ now: Int64) -> Bool {
        names.addresses(of: choice.present, among: settings.collectors, now: now).contains(second)
    }

    /// States in the next Hello which records are at the other of the two collectors.
    private mutating func stateHeld(at seat: Seat, inMirror: Bool) {
        guard mirror != nil, let first = self[seat].link.cursors.first,
            let second = self[seat].mirror?.cursors.first
        else {
            self[seat].link.cursors[0].alsoHeld = []
            return
        }
        let (own, other) = inMirror ? (secondName, first) : (note.collectorName, second)
        let name = inMirror ? note.collectorName : secondName
        let present =
            name.isEmpty
            ? nil : other.ownPersisted.map { HeldRange(collector: name, sequences: $0) }
        let held = (present.map { [$0] } ?? []) + other.held.filter { $0.collector != own }
        if inMirror {
            self[seat].mirror?.cursors[0].alsoHeld = held
        } else {
            self[seat].link.cursors[0].alsoHeld = held
        }
    }

    /// Name of the second collector that was connected last; empty: there was none.
    private var secondName: String { CollectorNote.called(note.mirrorName, at: note.mirror) }

    /// The first records that two collectors have, for the note; empty without a second one.
    private var ownFirst: [SpoolID: CollectorNote.OwnFirst] {
        var numbers: [SpoolID: CollectorNote.OwnFirst] = [:]
        for sender in setAside + senders where sender.place.medium == .disk {
            guard let second = sender.mirror?.cursors[0].ownFirst else { continue }
            numbers[sender.identity] = CollectorNote.OwnFirst(
                first: sender.cursor.ownFirst, second: second)
        }
        return numbers
    }

    /// - Parameter now: nil at the start, where the first collector's session is not waited for.
    private mutating func beginMirror(now: Int64?) {
        var second = CollectorChoice(
            settings.collectors, source: settings.sourceName,
            present: note.mirror.isEmpty ? nil : note.mirror)
        second.excluded = names.addresses(
            of: choice.present, among: settings.collectors, now: now ?? 0)
        if second.excluded.contains(second.present) { second.advance(now: now) }
        choice.excluded = [second.present]
        var lane = MirrorLane<Payload>(second, now: now ?? .min / 2)
        lane.name = note.mirrorName
        mirror = lane
        for seat in seats {
            var sender = self[seat]
            attachMirror(to: &sender)
            self[seat] = sender
        }
        if note.mirror.isEmpty {
            note.mirror = second.present
            writeNote()
        }
        log.note(
            .notice,
            "records are sent to \(choice.present) and to \(second.present), and kept until both have "
                + "them on disk")
    }

    private mutating func endMirror(because reason: String, now: Int64) {
        disconnectMirror(now: now)
        for seat in seats {
            let sent = self[seat].mirror?.cursors[0].highestSent ?? 0
            self[seat].mirror = nil
            self[seat].link.cursors[0].noteSent(through: sent)
            self[seat].link.cursors[0].setOtherReleased(nil)
        }
        mirror = nil
        choice.excluded = []
        note.mirror = ""
        note.mirrorName = ""
        writeNote()
        log.note(
            .notice,
            "records are sent to \(choice.present) alone: \(reason)")
    }

    /// Records a change of the second collector, as ``turn()`` does for the first one.
    private mutating func turnMirror() {
        guard let present = mirror?.choice.present else { return }
        let former =
            note.mirror.isEmpty ? nil : CollectorNote.called(note.mirrorName, at: note.mirror)
        for seat in seats {
            if former != nil, let released = self[seat].mirror?.cursors[0].released,
                let start = firstForNext(at: seat, after: released)
            {
                self[seat].mirror?.cursors[0].keepAgain(from: start)
            }
            self[seat].mirror?.cursors[0].leave(former)
        }
        note.term += 1
        note.mirror = present
        note.mirrorName = ""
        mirror?.name = ""
        writeNote()
    }

    private mutating func leaveMirrorIfTold(now: Int64) -> [Action] {
        var reason: String?
        _ = changeMirror {
            reason = $0.takeDeparture()
            return []
        }
        guard let reason, mirror?.choice.hasOthers ?? false else { return [] }
        return moveMirror(because: reason, isRefused: true, now: now)
    }

    private mutating func moveMirror(
        because reason: String, isRefused: Bool = false, now: Int64
    ) -> [Action] {
        guard let choice = mirror?.choice else { return [] }
        let level = choice.isRepeating ? LinkLog.Level.debug : .warning
        mirror?.choice.advance(now: now, isRefused: isRefused)
        disconnectMirror(pauseMilliseconds: mirror?.choice.pauseMilliseconds ?? 0, now: now)
        for seat in seats { self[seat].mirror?.cursors[0].rewind() }
        exclude(now: now)
        log.note(
            level,
            "leaving the second collector at \(choice.present): \(reason); trying \(mirror?.choice.present ?? "")"
        )
        return takeNotices()
    }

    /// Closes the connection, and reconnects after a pause.
    private mutating func disconnectMirror(pauseMilliseconds: Int64 = 0, now: Int64) {
        guard mirror != nil else { return }
        _ = changeMirror { $0.disconnected(now: now) }
        forgetMirrorExchanges()
        mirror?.connected = nil
        mirror?.isBetweenSpools = false
        mirror?.actions = [.reconnect(afterMilliseconds: pauseMilliseconds)]
    }

    // MARK: Ticks

    private mutating func tickMirror(now: Int64) -> [Action] {
        guard mirror != nil else { return [] }
        exclude(now: now)
        if ownFirst != note.ownFirst { writeNote() }
        let owed = owed
        senders[0].link.owed = owed
        let kept = Int(clamping: owed.last?.bytes ?? 0)
        let present = mirror?.choice.present ?? ""
        if isMirrorFlowing { mirror?.choice.isUseful(now: now) }
        if mirrorEndpoint(now: now) != nil, let complaint = mirror?.choice.complaint(now: now) {
            return moveMirror(because: complaint, now: now)
        }
        if mirror?.choice.leavesLastResort(now: now) ?? false { disconnectMirror(now: now) }
        if mirror?.connected != nil, mirrorSeat == nil { disconnectMirror(now: now) }
        if let seat = mirrorSeat, let next = nextMirrorSeat, seat != next,
            self[seat].mirror?.isFlowing ?? false, self[seat].mirror?.isPersisted ?? false
        {
            disconnectMirror(now: now)
            mirror?.isBetweenSpools = true
        }
        let amounts = isSplit ? keptAmounts : nil
        let actions = changeMirror {
            $0.owed = owed
            $0.route.endpoint = present
            $0.cursors[0].storedBytes = kept
            $0.setKept(amounts)
            return $0.tick(now: now)
        }
        return performMirror(actions, now: now) + warnOfOneCopy(owed, now: now)
    }

    /// Warns that records are at one collector only.
    private mutating func warnOfOneCopy(_ owed: [OwedRecords], now: Int64) -> [Action] {
        let (first, second) = (isFlowing, isMirrorFlowing)
        let persisted = seats.reduce(into: (first: UInt64(0), second: UInt64(0))) { sum, seat in
            sum.first &+= self[seat].cursor.persisted
            sum.second &+= self[seat].mirror?.cursors[0].persisted ?? 0
        }
        mirror?.copies.first.follow(
            isFlowing: first, owed: owed.first?.records ?? 0, persisted: persisted.first, now: now)
        mirror?.copies.second.follow(
            isFlowing: second, owed: owed.last?.records ?? 0, persisted: persisted.second, now: now)
        guard first || second,
            let isSecond = mirror?.takeNotice(isFlowing: (first, second), now: now),
            let lacking = isSecond ? owed.last : owed.first
        else { return [] }
        let reason =
            (isSecond ? second : first)
            ? "is connected, and puts nothing on its disk, which may be full" : "is away"
        let lasts = spoolLasts.map { "; the spool lasts for about \(Self.text(of: $0))" } ?? ""
        return [
            .log(
                LinkLog(
                    .warning,
                    "records are at one collector only: \(lacking.collector) \(reason), "
                        + "\(byteText(Int(clamping: lacking.bytes))) are kept for it\(lasts)"))
        ]
    }

    private static func text(of duration: Duration) -> String {
        let seconds = duration.components.seconds
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7_200 { return "\(seconds / 60) min" }
        return "\(seconds / 3_600) h"
    }

    /// Performs the log actions of a second collector's link, queues those of its connection, and returns the rest.
    private mutating func performMirror(_ actions: [Action], now: Int64) -> [Action] {
        var result: [Action] = []
        var pending = actions[...]
        while let action = pending.popFirst() {
            switch action {
            case .fetch(_, let number):
                guard let seat = mirrorSeat else { continue }
                let (records, formats) = log.content(
                    of: self[seat].place, number...number, as: Payload.self)
                guard records.first?.sequences.contains(number) ?? false else { continue }
                let inForce = formats ?? log.formats
                pending =
                    changeMirror { $0.loaded(records, formats: inForce, of: 0, now: now) } + pending
            case .finished:
                // `pair()` decides for both links.
                continue
            case .failed(let line):
                result.append(.log(LinkLog(.error, "\(line); trying again")))
                replaceFailedMirror()
                mirror?.actions.append(
                    .reconnect(afterMilliseconds: MirrorLane<Payload>.refusedMilliseconds))
            case .reconnect(let pause):
                let isAtRest =
                    mirrorSeat.flatMap { self[$0].mirror?.cursors[0].awaitsOther } ?? false
                mirror?.connected = nil
                mirror?.actions.append(
                    isAtRest
                        ? .reconnect(
                            afterMilliseconds: max(pause, MirrorLane<Payload>.refusedMilliseconds))
                        : action)
            case .send:
                mirror?.actions.append(action)
            case .command(var command):
                command.id ^= MirrorLane<Payload>.commandBit
                result.append(.command(command))
            case .log:
                result.append(action)
            }
        }
        return result + pair() + takeNotices()
    }

    /// Replaces a link that was refused permanently.
    private mutating func replaceFailedMirror() {
        guard let seat = mirrorSeat else { return }
        var sender = self[seat]
        sender.link.cursors[0].noteSent(through: sender.highestSent)
        attachMirror(to: &sender)
        self[seat] = sender
        mirror?.connected = nil
    }

    /// Releases records that neither collector needs any more.
    private mutating func pair() -> [Action] {
        for seat in seats {
            guard let second = self[seat].mirror?.cursors[0].releasable else { continue }
            let first = self[seat].cursor.releasable
            self[seat].link.cursors[0].setOtherReleased(second)
            self[seat].mirror?.cursors[0].setOtherReleased(first)
            log.release(self[seat].place, through: self[seat].released)
        }
        for sender in setAside where Self.isOver(sender) {
            retiredLostSamples += sender.link.lostSamples
            log.remove(sender.place)
        }
        setAside.removeAll { Self.isOver($0) }
        guard senders.count == 1, setAside.isEmpty, Self.isOver(senders[0]) else { return [] }
        return finishSender()
    }

    /// Whether a spool is complete and released by both collectors.
    private static func isOver(_ sender: Sender) -> Bool {
        sender.link.isComplete && (sender.mirror?.isComplete ?? true)
    }

    /// Records of a spool were deleted for lack of space, up to one that a collector has persisted.
    private mutating func forget(_ number: UInt64, at seat: Seat, now: Int64) {
        let (first, second) = (self[seat].cursor.persisted, self[seat].mirror?.cursors[0].persisted)
        let (name, own) = (mirror?.collectorName, note.collectorName)
        self[seat].link.cursors[0].forget(through: number, heldBy: name)
        guard let second else { return }
        self[seat].mirror?.cursors[0].forget(through: number, heldBy: own)
        // The next Hello has to state the new first record.
        if first < number, seat == .sending(0) { hasToReconnect = true }
        if second < number, seat == mirrorSeat { disconnectMirror(now: now) }
    }
}
