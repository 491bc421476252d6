package import Archive
import Media
import Recordings

extension RecordingLibrary {
    /// Ranges of records in one line: more than a source has of one collector.
    private static let maximumRanges = 512

    /// Declares records that a collector holds as lost.
    /// - Returns: the affected sources, with the number of their records.
    package func declareLosses(
        of collector: String
    ) throws -> [(source: SourceKey, records: UInt64)] {
        var changed: [(source: SourceKey, records: UInt64)] = []
        for session in try sessionNames() {
            let report = try verification(of: session)
            for source in report.sources {
                let own = (source.held ?? []).filter { $0.collector == collector }
                guard !own.isEmpty else { continue }
                let key = SourceKey(session: session, source: source.name)
                let recorded = try recording(session).source(source.name)
                let places = try recorded?.held() ?? []
                var lines = try declaredLosses(of: key)
                for held in own {
                    let place = places.first {
                        $0.collector == collector && $0.spool == held.spool
                    }
                    lines.append(
                        Self.loss(held, place, text: "declared lost by 'tributary lost'"))
                }
                try write(lines, of: key)
                changed.append((key, own.lazy.map(\.records).clampedSum))
            }
        }
        return changed
    }

    /// Reverts the declaration for a collector.
    package func takeBackLosses(
        of collector: String
    ) throws -> [(source: SourceKey, records: UInt64)] {
        var changed: [(source: SourceKey, records: UInt64)] = []
        for session in try sessionNames() {
            for source in try sourceNames(session) {
                let key = SourceKey(session: session, source: source)
                let lines = try declaredLosses(of: key)
                let own = lines.filter { $0.collector == collector }
                guard !own.isEmpty else { continue }
                try write(lines.filter { $0.collector != collector }, of: key)
                changed.append((key, own.lazy.compactMap(\.samples).clampedSum))
            }
        }
        return changed
    }

    /// Acknowledged records of a source that none of the archives has.
    /// - Returns: the records, without times; nil if an archive, or a part of one, that may have them could not be read.
    func unfound(of source: SourceKey) throws(ArchiveError) -> [HeldRecords]? {
        guard let merged else { return [] }
        guard let unfound = try merged.unfound(of: source) else { return nil }
        // An archive that is away may have them.
        return unfound.isEmpty || !isIncomplete ? unfound : nil
    }

    /// Losses of records that none of several archives has: a line for each collector and spool.
    func losses(of source: SourceKey) throws(ArchiveError) -> [LedgerEntry] {
        guard let unfound = try unfound(of: source), !unfound.isEmpty,
            let recorded = try recording(source.session).source(source.source)
        else { return [] }
        return try recorded.placed(unfound).map(Self.loss(of:))
    }

    /// A line about records that no archive has, as if they had been declared lost.
    /// - Parameter unfound: located on the timeline.
    static func loss(of unfound: HeldRecords) -> LedgerEntry {
        loss(
            unfound, unfound,
            text: "\(unfound.collector) has acknowledged them, and no archive has them")
    }

    private static func loss(
        _ held: HeldRecords, _ place: HeldRecords?, text: String
    ) -> LedgerEntry {
        var line = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: SystemClock.utc.nowNanoseconds))
        line.cause = LedgerEntry.collectorLost
        line.collector = held.collector
        line.spool = held.spool
        line.ranges = Array(held.ranges.prefix(maximumRanges))
        line.samples = held.records
        line.text = text
        // The capture time of the first of them is unknown.
        if let place, let end = place.endNanoseconds {
            let start = place.startNanoseconds ?? min(0, end)
            line.startNanoseconds = start
            line.durationNanoseconds = UInt64(clamping: end.clampedSubtracting(start))
        }
        return line
    }

    private func declaredLosses(of source: SourceKey) throws(ArchiveError) -> [LedgerEntry] {
        try Ledger.read(layout.declaredLosses(source)).entries
    }

    private func write(_ lines: [LedgerEntry], of source: SourceKey) throws(ArchiveError) {
        let path = layout.declaredLosses(source)
        guard !lines.isEmpty else {
            try FileSystem.remove(path, on: layout.disk)
            try FileSystem.synchronizeDirectory(layout.source(source), on: layout.disk)
            return
        }
        try FileSystem.replace(path, with: lines.flatMap(Ledger.line))
    }
}
