import CollectorClient
import Media
import Spooling
import Wire

/// The records of one source: numbers them, stores them while cursors need them, and drops them when space is exhausted.
///
/// A value without threads, sockets and clocks. It has spools, each with an identity and numbers, in two volumes: the disk, and
/// memory if there is no disk or it has failed. A full volume deletes records in this order:
///
/// 1. files with records that all required collectors have persisted;
/// 2. the oldest groups of pictures that no collector can have, each replaced by a gap with the number of samples.
struct RecordLog: Sendable {
    enum Medium: Hashable, Sendable { case disk, memory }

    /// The location of a spool.
    struct Location: Hashable, Sendable {
        let medium: Medium
        let generation: UInt32
    }

    /// The records that cursors allow to be removed from a spool.
    struct Allowance {
        let place: Location
        /// Records up to this one are on the collector's disk.
        let persisted: UInt64
        /// No collector can have this record, or a later one.
        let firstDroppable: UInt64
        /// Whether all of it is on the collector's disk, and no cursor is in it.
        let isSetAside: Bool
    }

    /// A change by a full volume.
    enum Change {
        case forgot(Location, through: UInt64)
        case removed(Location)
        case dropped(Location, from: UInt64, samples: UInt64)
    }

    /// Spools on one medium, with one limit.
    private struct Volume: Sendable {
        var spools: SpoolSet
        var dropping: DropPolicy
        /// Drop policy for records that are persisted but not released.
        var forgetting: DropPolicy

        init(_ spools: SpoolSet) {
            self.spools = spools
            dropping = DropPolicy(limitBytes: spools.limitBytes)
            forgetting = dropping
        }
    }

    private static let largestWindowBytes = 16 << 20

    /// Formats in force for the next record.
    var formats: [TrackFormat]
    private let memoryLimitBytes: Int
    private var volumes: [Medium: Volume]
    /// The group of pictures that is being captured.
    private var gate = KeyframeGate()
    private var hasDeletionFailed = false
    private var notices: [LinkLog] = []

    /// - Parameters:
    ///   - disk: the spools on disk; nil without a usable disk.
    ///   - memoryLimitBytes: limit of records in memory, including the next ones to send.
    ///   - formats: the formats at the first record.
    init(disk: SpoolSet?, memoryLimitBytes: Int, formats: [TrackFormat]) {
        self.formats = formats
        self.memoryLimitBytes = memoryLimitBytes
        // A record in the window is in memory twice, because its file is there as well. Records are read by whole files: with the last
        // one, a window may have become twice as large.
        let window = Self.windowBytes(of: .memory, memoryLimitBytes)
        volumes = [.memory: Volume(SpoolSet(memoryLimitBytes: memoryLimitBytes - 2 * window))]
        volumes[.disk] = disk.map { Volume($0) }
    }

    private static func windowBytes(of medium: Medium, _ memoryLimitBytes: Int) -> Int {
        min(largestWindowBytes, medium == .memory ? memoryLimitBytes / 8 : memoryLimitBytes)
    }

    // MARK: State

    var disk: SpoolSet? { volumes[.disk]?.spools }
    /// Memory of the records there, bytes.
    var memoryBytes: Int { volumes[.memory]?.spools.sizeBytes ?? 0 }

    func spool(_ place: Location) -> Spool? {
        volumes[place.medium]?.spools.spool(place.generation)
    }

    /// Maximum bytes of a volume's records that a cursor may hold: the next ones and those in flight.
    func window(of medium: Medium) -> RecordWindow {
        var window = RecordWindow()
        window.memoryBytes = Self.windowBytes(of: medium, memoryLimitBytes)
        // More than the credit window of a collector.
        window.inFlightBytes = min(
            Self.largestWindowBytes, (volumes[medium]?.spools.limitBytes ?? .max) / 2)
        window.isPaced = medium == .disk
        return window
    }

    mutating func note(_ level: LinkLog.Level, _ text: String) {
        notices.append(LinkLog(level, text))
    }

    mutating func takeNotices() -> [LinkLog] {
        defer { notices.removeAll() }
        return notices
    }

    // MARK: Spools

    /// Uses a disk that could not be opened before.
    mutating func add(disk: SpoolSet) { volumes[.disk] = Volume(disk) }

    /// Spools of earlier runs on the disk, oldest first. Unreadable spools are deleted and reported.
    mutating func earlierSpools() -> [EarlierSpool] {
        guard let disk else { return [] }
        for complaint in disk.complaints { note(.error, complaint) }
        let earlier = disk.spools.compactMap { spool -> EarlierSpool? in
            if let earlier = EarlierSpool(spool, of: disk) { return earlier }
            note(
                .error,
                "\(spool.sizeBytes) bytes of samples in \(disk.storage.path) cannot be read and are "
                    + "deleted")
            remove(Location(medium: .disk, generation: spool.generation))
            return nil
        }
        if !earlier.isEmpty {
            let bytes = byteText(self.disk?.sizeBytes ?? 0)
            note(.info, "\(bytes) of samples from before this start are sent first")
        }
        return earlier
    }

    /// Begins a spool.
    mutating func begin(
        in medium: Medium, _ identity: SpoolID, _ epoch: EpochID, firstNumber: UInt64 = 1
    ) -> Location {
        guard
            let generation = volumes[medium]?.spools.begin(
                identity: identity.bytes, origin: epoch.bytes, firstNumber: firstNumber)
        else { preconditionFailure("a spool is begun in a volume that there is") }
        return Location(medium: medium, generation: generation)
    }

    /// Copies a spool from memory to the disk, with the numbers that its records have.
    /// - Parameter number: the first record to copy.
    /// - Returns: its new location, and the formats at its first record.
    mutating func copyToDisk<Payload: SpooledPayload>(
        _ place: Location, from number: UInt64, _ identity: SpoolID, _ epoch: EpochID, now: Int64,
        as: Payload.Type
    ) throws(SpoolError) -> (place: Location, formats: [TrackFormat]) {
        let next = spool(place)?.nextNumber ?? number
        let (records, oldest) = content(of: place, number...max(number, next), as: Payload.self)
        var inForce = oldest ?? formats
        let copy = begin(
            in: .disk, identity, epoch,
            firstNumber: records.first?.sequences.lowerBound ?? next)
        do throws(SpoolError) {
            for record in records {
                try write(record, to: copy, formats: inForce, staysShort: false, now: now)
                if let format = record.format { inForce = inForce.replacing(format) }
            }
        } catch {
            remove(copy)
            throw error
        }
        return (copy, oldest ?? formats)
    }

    /// Deletes a spool without records that have to be kept.
    mutating func remove(_ place: Location) {
        do throws(SpoolError) {
            try volumes[place.medium]?.spools.remove(place.generation)
        } catch {
            deletionFailed(error)
        }
    }

    private mutating func deletionFailed(_ error: SpoolError) {
        guard !hasDeletionFailed else { return }
        hasDeletionFailed = true
        note(.error, "\(error); samples already sent stay in the spool until they can be deleted")
    }

    // MARK: The collectors

    /// The note in the spools' directory; nil if there is none, or it is unreadable.
    mutating func collectorNote() -> CollectorNote? {
        guard let disk else { return nil }
        do throws(SpoolError) {
            guard let bytes = try disk.readNote(limitBytes: CollectorNote.maximumBytes + 1) else {
                return nil
            }
            if let note = CollectorNote(bytes) { return note }
            self.note(
                .error,
                "what \(disk.storage.path) keeps of the collectors is damaged: records may be sent again"
            )
        } catch {
            self.note(.error, "\(error)")
        }
        return nil
    }

    /// Deletes the note, whose records are all gone.
    mutating func removeCollectorNote() {
        do throws(SpoolError) {
            try disk?.removeNote()
        } catch {
            deletionFailed(error)
        }
    }

    /// Makes it durable; without a disk it is in memory only, like the records. Blocks.
    func write(_ note: CollectorNote) throws(SpoolError) {
        try disk?.writeNote(note.encoded())
    }

    // MARK: Records

    /// The loss of a batch that cannot be decoded, because the beginning of its group of pictures was dropped; nil: it can.
    mutating func loss(of batch: Batch) -> Loss? {
        gate.admits(beginsDecodable: batch.beginsDecodable ?? false)
            ? nil : batch.loss(Dropped.text)
    }

    /// Numbers a record, and writes it.
    /// - Parameter staysShort: whether it will probably be released soon.
    mutating func append<Payload: SpooledPayload>(
        to place: Location, staysShort: Bool, now: Int64,
        _ make: (RecordNumber) -> KeptRecord<Payload>
    ) throws(SpoolError) -> KeptRecord<Payload> {
        let record = make(
            RecordNumber(
                source: 0, sequence: spool(place)?.nextNumber ?? 1, epoch: SpoolCoding.epoch))
        // A format applies after its record, but a cursor that starts there may use it as well.
        if let format = record.format { formats = formats.replacing(format) }
        try write(record, to: place, formats: formats, staysShort: staysShort, now: now)
        return record
    }

    private mutating func write<Payload: SpooledPayload>(
        _ record: KeptRecord<Payload>, to place: Location, formats: [TrackFormat], staysShort: Bool,
        now: Int64
    ) throws(SpoolError) {
        let hasVideo = formats.contains { $0.kind == .video }
        let new = SpoolSet.NewRecord(
            firstNumber: record.sequences.lowerBound, count: UInt32(record.sequences.count),
            kind: record.kind.rawValue,
            beginsGroup: record.kind == .samples && (!hasVideo || record.beginsWithKeyframe))
        let prefix = SpoolCoding.prefix(of: record.header)
        let preamble = { SpoolCoding.preamble(formats) }
        try prefix.withUnsafeBufferPointer { prefix throws(SpoolError) in
            let prefix = UnsafeRawBufferPointer(prefix)
            guard let payload = record.payload else {
                try volumes[place.medium]?.spools.append(
                    new, body: [prefix], to: place.generation, staysShort: staysShort, now: now,
                    preamble: preamble)
                return
            }
            try payload.withUnsafeBytes { payload throws(SpoolError) in
                try volumes[place.medium]?.spools.append(
                    new, body: [prefix, payload], to: place.generation, staysShort: staysShort,
                    now: now, preamble: preamble)
            }
        }
    }

    /// Records of a spool, with gaps for unreadable ones, and the formats at the first of them.
    mutating func content<Payload: SpooledPayload>(
        of place: Location, _ numbers: ClosedRange<UInt64>, as: Payload.Type
    ) -> (records: [KeptRecord<Payload>], formats: [TrackFormat]?) {
        guard let spools = volumes[place.medium]?.spools else { return ([], nil) }
        var records: [KeptRecord<Payload>] = []
        var inForce: [TrackFormat]?
        var number = numbers.lowerBound
        while numbers.contains(number) {
            let reading = SpoolReading<Payload>(place.generation, from: number, shelf: spools)
            for line in reading.complaints { note(.error, line) }
            guard let last = reading.records.last?.sequences.upperBound, last >= number else {
                break
            }
            inForce = inForce ?? reading.formats
            records += reading.records
            number = last + 1
        }
        return (records, inForce)
    }

    /// The number of the record that begins the group of pictures of `number`; nil without pictures, or if that record has been
    /// deleted.
    mutating func groupStart<Payload: SpooledPayload>(
        of number: UInt64, in place: Location, as: Payload.Type
    ) -> UInt64? {
        guard formats.contains(where: { $0.kind == .video }), let spool = spool(place) else {
            return nil
        }
        let last = min(number, spool.nextNumber - 1)
        guard spool.firstNumber <= last else { return nil }
        return content(of: place, spool.firstNumber...last, as: Payload.self).records.last {
            $0.beginsWithKeyframe && $0.sequences.lowerBound <= number
        }?.sequences.lowerBound
    }

    /// The first number of the record that contains `number`; nil if there is none.
    mutating func recordStart<Payload: SpooledPayload>(
        of number: UInt64, in place: Location, as: Payload.Type
    ) -> UInt64? {
        guard let spool = spool(place), spool.firstNumber <= number, number < spool.nextNumber
        else { return nil }
        return content(of: place, number...number, as: Payload.self).records.first?.sequences
            .lowerBound
    }

    // MARK: Synchronising

    /// Whether a power cut could lose records that are on the disk.
    var hasUnsynced: Bool { disk?.hasUnsynced ?? false }

    mutating func takeUnsynced() -> [String] { volumes[.disk]?.spools.takeUnsynced() ?? [] }

    // MARK: Removing

    /// Deletes records that need not be kept.
    mutating func release(_ place: Location, through number: UInt64) {
        do throws(SpoolError) {
            try volumes[place.medium]?.spools.release(place.generation, through: number)
        } catch {
            deletionFailed(error)
        }
        for medium in volumes.keys {
            let bytes = volumes[medium]?.spools.sizeBytes ?? 0
            volumes[medium]?.dropping.note(keptBytes: bytes)
            volumes[medium]?.forgetting.note(keptBytes: bytes)
        }
    }

    /// Deletes records of a full volume: call it until nothing changes.
    /// - Parameter allowances: of all spools, oldest first; the last one is being written.
    /// - Throws: if the note about dropped records cannot be written; nothing is dropped then.
    mutating func makeRoom(
        in medium: Medium, _ allowances: [Allowance]
    ) throws(SpoolError) -> Change? {
        guard let volume = volumes[medium], volume.dropping.isExceeded(by: volume.spools.sizeBytes)
        else { return nil }
        for allowance in allowances where allowance.place.medium == medium {
            if let change = forgetOldest(allowance) { return change }
        }
        for allowance in allowances where allowance.place.medium == medium {
            guard
                let group = spool(allowance.place)?.oldestGroup(from: allowance.firstDroppable)
            else { continue }
            let change = try drop(group, allowance)
            if group.isNewest, allowance.place == allowances.last?.place,
                formats.contains(where: { $0.kind == .video })
            {
                gate.skip()
            }
            return change
        }
        return nil
    }

    /// Deletes the oldest file whose records are all on the collector's disk. They are lost only with that disk.
    private mutating func forgetOldest(_ allowance: Allowance) -> Change? {
        let place = allowance.place
        let oldest = spool(place)?.oldestReleasable
        if oldest == nil, allowance.isSetAside {
            // The last file of a completed spool has no next number: the spool is removed as a whole.
            remove(place)
            guard spool(place) == nil else { return nil }
            noteForgetting(in: place.medium)
            return .removed(place)
        }
        guard let last = oldest?.upperBound, last <= allowance.persisted else { return nil }
        do throws(SpoolError) {
            try volumes[place.medium]?.spools.release(place.generation, through: last)
        } catch {
            deletionFailed(error)
            return nil
        }
        noteForgetting(in: place.medium)
        return .forgot(place, through: last)
    }

    private mutating func drop(
        _ group: Spool.Group, _ allowance: Allowance
    ) throws(SpoolError) -> Change {
        let place = allowance.place
        let (records, before) = content(of: place, group.numbers, as: NoPayload.self)
        let behind =
            volumes[place.medium]?.spools.preamble(behind: group, place.generation)
            .flatMap(SpoolCoding.formats) ?? formats
        let dropped = Dropped(
            records, group.numbers, formats: (before, behind),
            others: spool(place)?.substitutes ?? [], fixedBelow: allowance.firstDroppable)
        try volumes[place.medium]?.spools.replace(
            group, of: place.generation, with: dropped.substitutes,
            preamble: SpoolCoding.preamble(behind))
        if volumes[place.medium]?.dropping.reportsDrop() ?? false {
            note(
                .error,
                "\(name(of: place.medium)) is full and the collector does not accept data: the oldest samples "
                    + "are dropped from now on")
        }
        return .dropped(place, from: dropped.numbers.lowerBound, samples: dropped.samples)
    }

    private mutating func noteForgetting(in medium: Medium) {
        guard volumes[medium]?.forgetting.reportsDrop() ?? false else { return }
        note(
            .warning,
            "\(name(of: medium)) is too small to keep samples until the collector's store or the second collector "
                + "has them: from now on samples that are on one collector's disk alone are forgotten. Enlarge "
                + (medium == .disk ? "--spool-limit" : "--memory-limit"))
    }

    /// A volume, with its limit.
    private func name(of medium: Medium) -> String {
        switch medium {
        case .disk: "the spool \(disk?.storage.path ?? "") (\(byteText(disk?.limitBytes ?? 0)))"
        case .memory: "the memory for samples (\(byteText(memoryLimitBytes)))"
        }
    }
}
