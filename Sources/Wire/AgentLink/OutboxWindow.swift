import Media

// An outbox whose records are on a disk, with a part of them in memory.
extension Outbox {
    /// Records are read ahead of sending, so that the disk is read in files, not records.
    private static var readAheadBytes: Int { 1 << 20 }

    /// The number of the first record to read from the disk now; nil: none.
    var wanted: UInt64? {
        guard let window, windowEnd < nextSequence, memoryBytes < window.memoryBytes else {
            return nil
        }
        var unsentBytes = 0
        for record in records[sentCount...] {
            unsentBytes += record.memoryBytes
            if unsentBytes >= Self.readAheadBytes { return nil }
        }
        return windowEnd
    }

    /// Adds records from the disk.
    /// - Parameters:
    ///   - read: consecutive records; the first is, or contains, the requested one.
    ///   - formats: those in force before the first.
    mutating func load(_ read: [Record], formats: [TrackFormat]) {
        guard let first = read.first, first.sequences.contains(windowEnd) else { return }
        if records.isEmpty { baseFormats = formats }
        for record in read {
            if case .gap(let gap) = record.content, gap.cause == .corruptRecord {
                lostSamples += gap.samples
            }
            if case .goodbye = record.content { goodbye = record.sequences.lowerBound }
        }
        insert(read, at: records.count..<records.count)
        windowEnd = min(nextSequence, (records.last?.sequences.upperBound ?? 0) + 1)
        trimGaps()
    }

    /// The first number that may be dropped: after all records that the collector may have.
    var firstDroppable: UInt64 { max(fixedUpTo + 1, firstSequence) }
    /// The last number that may be deleted from the disk without a gap: those before are on the collector's disk.
    var lastForgettable: UInt64 { persisted }

    /// Records from a number on have changed on the disk: they are read again.
    mutating func forgetWindow(from sequence: UInt64, lostSamples samples: UInt64) {
        lostSamples += samples
        guard sequence < windowEnd else { return }
        let place = records.firstIndex { $0.sequences.lowerBound >= sequence } ?? records.count
        precondition(place >= sentCount, "what was sent stays as it is")
        insert([], at: place..<records.count)
        windowEnd = records.last.map { $0.sequences.upperBound + 1 } ?? sequence
    }

    /// Makes a gap begin after the records that the collector has.
    ///
    /// Only the gap of a restarted agent may overlap those: it stands for records that the previous run may have sent.
    /// Those that have not arrived are lost in either case.
    mutating func trimGaps() {
        guard window != nil else { return }
        for (place, record) in records.enumerated() {
            guard case .gap(var gap) = record.content, gap.sequences.lowerBound <= fixedUpTo,
                gap.sequences.upperBound > fixedUpTo
            else { continue }
            // Arrived records are counted as samples, one per number: a change of format among them makes this too low.
            let arrived = fixedUpTo + 1 - gap.sequences.lowerBound
            gap.samples -= min(gap.samples, arrived)
            gap.sequences = fixedUpTo + 1...gap.sequences.upperBound
            let trimmed = Record(
                sequences: gap.sequences, content: .gap(gap),
                header: WireMessage.gap(gap).encoded())
            insert([trimmed], at: place..<place + 1)
            return
        }
    }
}
