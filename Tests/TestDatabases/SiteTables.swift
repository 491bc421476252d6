package import Catalog

/// The tables that the collectors of a site share, in memory: rows of sessions, and reports. A copy is an earlier state, as that of a
/// standby or of a backup.
package struct SiteTables: Sendable {
    /// The source that a collector records, and the time of its report.
    package struct Report: Sendable {
        package var recorded: SiteSessionRows.Recorded
        package var heardNanoseconds: Int64

        package init(recorded: SiteSessionRows.Recorded, heardNanoseconds: Int64) {
            self.recorded = recorded
            self.heardNanoseconds = heardNanoseconds
        }
    }

    package var rows: [SiteSession] = []
    /// By name of the collector.
    package var recordings: [String: Report] = [:]
    /// Start of the server: each server has a clock of its own.
    package var server: Int64 = 1
    /// When each row was inserted, by its number, nanoseconds.
    private var inserted: [Int64: Int64] = [:]

    package init() {}

    private func found(for proposal: SiteProposal, now: Int64) -> SiteSessionRows {
        let newest = rows.max { $0.number < $1.number }
        let others = recordings.filter { $0.key != proposal.collector }
        let recordings = others.values.map {
            SiteSessionRows.Recording(
                session: $0.recorded.session, heardSeconds: Double(now - $0.heardNanoseconds) / 1e9,
                zero: $0.recorded.zero)
        }
        let names = SiteSessionRows.recordedSessions(recordings, besides: proposal.stopped)
        return SiteSessionRows(
            proposed: rows.first { $0.session == proposal.session }, newest: newest,
            newestSeconds: newest.map { Double(now - (inserted[$0.number] ?? 0)) / 1e9 }
                ?? .infinity,
            recorded: rows.filter { names.contains($0.session) }
                .min { $0.number < $1.number },
            recordings: recordings)
    }

    /// Whether a session that is recorded is the site's.
    package func isAgreed(_ proposal: SiteProposal, now: Int64) -> Bool {
        let found = found(for: proposal, now: now)
        guard case .row(let row) = found.decision(for: proposal, of: proposal.collector) else {
            return false
        }
        return row.session == proposal.session
    }

    /// The answer to a proposal; inserts a row if none applies.
    package mutating func agree(
        _ proposal: SiteProposal, exchange: ServerExchange, now: Int64
    ) -> SiteAgreement {
        let found = found(for: proposal, now: now)
        switch found.decision(for: proposal, of: proposal.collector) {
        case .row(let row): return found.agreement(on: row, with: proposal, at: exchange)
        case .insert(let number):
            var zero = exchange.instant(atMonotonic: proposal.zeroMonotonicNanoseconds)
            zero.errorNanoseconds += proposal.zeroErrorNanoseconds
            let row = SiteSession(
                number: number, session: proposal.session,
                zeroUTCNanoseconds: proposal.zeroUTCNanoseconds,
                wallErrorNanoseconds: proposal.wallErrorNanoseconds,
                segmentNanoseconds: proposal.segmentNanoseconds,
                collector: proposal.collector, archive: proposal.collector, zero: zero)
            rows.append(row)
            inserted[number] = now
            return found.agreement(on: row, with: proposal, at: exchange)
        }
    }
}
