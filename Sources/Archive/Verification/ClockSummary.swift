import Media

/// The clock mapping of a source, over its whole recording.
package struct ClockSummary: Codable, Hashable, Sendable {
    /// The least, the median and the greatest of some values.
    package struct Spread: Codable, Hashable, Sendable {
        package var least: Int64
        package var median: Int64
        package var greatest: Int64

        /// Nil without any values.
        init?(_ values: [Int64]) {
            let sorted = values.sorted()
            guard let first = sorted.first, let last = sorted.last else { return nil }
            (least, median, greatest) = (first, sorted[sorted.count / 2], last)
        }
    }

    /// One epoch of the box's clock.
    package struct Epoch: Codable, Hashable, Sendable {
        /// Hexadecimal.
        package var identity: String
        package var fragments: Int
        /// Number of clock exchanges in the fragments.
        package var exchanges: Int
        /// Collector − agent, as applied.
        package var offsetNanoseconds: Spread
        /// The growth of the offset, parts per billion of the agent's time.
        package var skewPartsPerBillion: Spread
        /// Maximum error of the offset; with several archives, of times on the first one's timeline.
        package var boundNanoseconds: Spread
    }

    /// The times that a network camera states for a track, by its ledger lines.
    package struct Stated: Codable, Hashable, Sendable {
        package var track: String
        /// Stated less recorded times.
        package var offsetNanoseconds: Spread
        /// The greatest stated time less the arrival of its packets; positive: the camera's clock is ahead by at least as much.
        package var aheadNanoseconds: Int64
    }

    /// In the order of their first occurrence in the recording.
    package var epochs: [Epoch] = []
    /// The ledger lines about discontinuities.
    package var discontinuities: [LedgerEntry] = []
    /// Number of rejected clock exchanges, according to the ledger.
    package var rejectedExchanges: UInt64 = 0
    package var outlyingExchanges: UInt64 = 0
    /// Stated clocks of network cameras that have sent sender reports; nil if no track has any.
    package var stated: [Stated]?

    /// Adds the error with which an archive's times are moved to another timeline, nanoseconds, to the bounds of clocks that were
    /// measured.
    package mutating func widen(by nanoseconds: Int64) {
        for index in epochs.indices where epochs[index].boundNanoseconds.greatest > 0 {
            epochs[index].boundNanoseconds.least.addClamped(nanoseconds)
            epochs[index].boundNanoseconds.median.addClamped(nanoseconds)
            epochs[index].boundNanoseconds.greatest.addClamped(nanoseconds)
        }
    }

    /// The clock data of one fragment.
    package struct Reading: Sendable {
        var epoch: EpochID
        var clock: FragmentRecord.Clock
        var exchanges: Int

        package init(_ record: FragmentRecord) {
            epoch = record.epoch
            clock = record.clock
            exchanges = record.exchanges.count
        }
    }

    /// - Parameters:
    ///   - readings: in the order of the recording.
    ///   - ledger: all lines of the source.
    package init(_ readings: [Reading], _ ledger: [LedgerEntry]) {
        var order: [EpochID] = []
        for reading in readings where !order.contains(reading.epoch) { order.append(reading.epoch) }
        let byEpoch = Dictionary(grouping: readings, by: \.epoch)
        epochs = order.compactMap { identity in
            let own = byEpoch[identity] ?? []
            guard let offset = Spread(own.map(\.clock.offsetNanoseconds)),
                let skew = Spread(own.map(\.clock.skewPartsPerBillion)),
                let bound = Spread(own.map { Int64(clamping: $0.clock.boundNanoseconds) })
            else { return nil }
            return Epoch(
                identity: identity.description, fragments: own.count,
                exchanges: own.reduce(0) { $0 + $1.exchanges }, offsetNanoseconds: offset,
                skewPartsPerBillion: skew, boundNanoseconds: bound)
        }
        discontinuities = ledger.filter { $0.kind == .discontinuity }
        // Ledger lines count from an epoch's beginning: the last one has the total.
        var rejected: [String: (UInt64, UInt64)] = [:]
        for entry in ledger where entry.kind == .exchanges {
            guard let epoch = entry.epoch, entry.rejectedExchanges != nil else { continue }
            rejected[epoch] = (entry.rejectedExchanges ?? 0, entry.outlyingExchanges ?? 0)
        }
        for (one, other) in rejected.values {
            rejectedExchanges.addClamped(one)
            outlyingExchanges.addClamped(other)
        }
        stated = Self.stated(ledger)
    }

    private static func stated(_ ledger: [LedgerEntry]) -> [Stated]? {
        let lines = ledger.filter { $0.kind == .stated }
        let all = TrackKind.allCases.map(\.description).compactMap { track -> Stated? in
            let own = lines.filter { $0.track == track }
            guard var offset = Spread(own.compactMap(\.offsetNanoseconds)),
                let ahead = own.compactMap(\.aheadNanoseconds).max()
            else { return nil }
            offset.least = own.compactMap(\.leastNanoseconds).min() ?? offset.least
            offset.greatest = own.compactMap(\.greatestNanoseconds).max() ?? offset.greatest
            return Stated(track: track, offsetNanoseconds: offset, aheadNanoseconds: ahead)
        }
        return all.isEmpty ? nil : all
    }
}
