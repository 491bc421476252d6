import Media

/// A collector's proposal of a session to its site.
package struct SiteProposal: Hashable, Sendable {
    package var session: String
    package var collector: String
    package var zeroUTCNanoseconds: Int64
    package var wallErrorNanoseconds: Int64
    package var segmentNanoseconds: Int64
    /// Zero on the collector's monotonic clock, and its error there.
    package var zeroMonotonicNanoseconds: Int64
    package var zeroErrorNanoseconds: Int64
    /// Sessions that were stopped there by an operator: they do not apply.
    package var stopped: Set<String>

    package init(
        session: String, collector: String, zeroUTCNanoseconds: Int64, wallErrorNanoseconds: Int64,
        segmentNanoseconds: Int64, zeroMonotonicNanoseconds: Int64, zeroErrorNanoseconds: Int64,
        stopped: Set<String> = []
    ) {
        self.session = session
        self.collector = collector
        self.zeroUTCNanoseconds = zeroUTCNanoseconds
        self.wallErrorNanoseconds = wallErrorNanoseconds
        self.segmentNanoseconds = segmentNanoseconds
        self.zeroMonotonicNanoseconds = zeroMonotonicNanoseconds
        self.zeroErrorNanoseconds = zeroErrorNanoseconds
        self.stopped = stopped
    }
}

extension SiteSession {
    /// The row that a collector inserts for its proposal.
    init(
        _ proposal: SiteProposal, number: Int64, archive: String, at exchange: ServerExchange
    ) {
        self.init(
            number: number, session: proposal.session,
            zeroUTCNanoseconds: proposal.zeroUTCNanoseconds,
            wallErrorNanoseconds: proposal.wallErrorNanoseconds,
            segmentNanoseconds: proposal.segmentNanoseconds, collector: proposal.collector,
            archive: archive, zero: exchange.zero(of: proposal))
    }
}

extension ServerExchange {
    /// Zero of a proposal on the server's clock.
    func zero(of proposal: SiteProposal) -> ServerInstant {
        var zero = instant(atMonotonic: proposal.zeroMonotonicNanoseconds)
        zero.errorNanoseconds = zero.errorNanoseconds.clampedAdding(proposal.zeroErrorNanoseconds)
        return zero
    }
}

/// The site's answer to a ``SiteProposal``.
package struct SiteAgreement: Hashable, Sendable {
    package var session: SiteSession
    /// Whether it is the proposed session.
    package var isProposed: Bool
    /// Zero on the collector's monotonic clock; nil: the server's clock is another one since zero was measured.
    package var zeroMonotonicNanoseconds: Int64?
    package var zeroErrorNanoseconds: Int64

    package init(
        session: SiteSession, isProposed: Bool, zeroMonotonicNanoseconds: Int64?,
        zeroErrorNanoseconds: Int64
    ) {
        self.session = session
        self.isProposed = isProposed
        self.zeroMonotonicNanoseconds = zeroMonotonicNanoseconds
        self.zeroErrorNanoseconds = zeroErrorNanoseconds
    }
}

/// The rows that exist when a collector proposes a session; decides which one applies. A value, so that the simulation and the
/// server's client share the decision.
package struct SiteSessionRows: Hashable, Sendable {
    /// A session that a collector records, in its report.
    package struct Recorded: Hashable, Sendable, Codable {
        package var session: String
        package var zero: ServerInstant

        package init(session: String, zero: ServerInstant) {
            self.session = session
            self.zero = zero
        }
    }

    /// The session of another collector, with the age of its report.
    package struct Recording: Hashable, Sendable {
        package var session: String
        package var heardSeconds: Double
        package var zero: ServerInstant

        package init(session: String, heardSeconds: Double, zero: ServerInstant) {
            self.session = session
            self.heardSeconds = heardSeconds
            self.zero = zero
        }
    }

    package enum Decision: Hashable, Sendable {
        /// This row applies.
        case row(SiteSession)
        /// The proposed session is inserted with this number; if the number exists by then, the rows are read again.
        case insert(number: Int64)
    }

    /// A collector that inserted a row has reported that it records it by then.
    package static let newSeconds = 10.0
    /// A collector that records a session by its last report counts as recording it for this long without reports: the
    /// database may have been unreachable for all collectors. The default of the idle timeout.
    package static let openSeconds = 3_600.0

    /// The row with the proposed session's name, if there is one.
    package var proposed: SiteSession?
    /// The row with the highest number, if there is one, and its age.
    package var newest: SiteSession?
    package var newestSeconds: Double
    /// The row with the lowest number of ``recordedSessions(_:besides:)``, if there is one.
    package var recorded: SiteSession?
    package var recordings: [Recording]

    package init(
        proposed: SiteSession?, newest: SiteSession?, newestSeconds: Double,
        recorded: SiteSession?, recordings: [Recording]
    ) {
        self.proposed = proposed
        self.newest = newest
        self.newestSeconds = newestSeconds
        self.recorded = recorded
        self.recordings = recordings
    }

    /// Sessions that collectors record, by name.
    /// - Parameter stopped: see ``SiteProposal``.
    package static func recordedSessions(
        _ recordings: [Recording], besides stopped: Set<String>
    ) -> [String] {
        Set(recordings.filter { $0.heardSeconds <= openSeconds }.map(\.session))
            .subtracting(stopped).sorted()
    }

    /// The answer to a proposal. If several sessions are being recorded, the one with the lowest number applies, so that
    /// collectors that have begun two at once agree.
    /// - Parameter archive: that of the proposing collector, which records only the proposed session.
    package func decision(for proposal: SiteProposal, of archive: String) -> Decision {
        // A collector that has just inserted or joined a row may not have reported it.
        let young =
            newestSeconds < Self.newSeconds
            ? newest.flatMap {
                $0.archive == archive || proposal.stopped.contains($0.session) ? nil : $0
            } : nil
        // The proposed one counts, too: the answer to an earlier attempt was lost, or the session is resumed after a restart.
        let open = [proposed, recorded, young].compactMap(\.self)
        if let first = open.min(by: { $0.number < $1.number }) { return .row(first) }
        return .insert(number: (newest?.number ?? 0) + 1)
    }

    /// The row's zero on the clock of a collector, by the most exact measurement of the collectors that record it. A
    /// measurement that claims no error is invalid, and is not used.
    package func agreement(
        on row: SiteSession, with proposal: SiteProposal, at exchange: ServerExchange
    ) -> SiteAgreement {
        let instants =
            [row.zero] + recordings.filter { $0.session == row.session }.map(\.zero)
        let best = instants.filter { $0.errorNanoseconds > 0 }.compactMap(exchange.monotonic).min {
            $0.errorNanoseconds < $1.errorNanoseconds
        }
        return SiteAgreement(
            session: row, isProposed: row.session == proposal.session,
            zeroMonotonicNanoseconds: best?.nanoseconds,
            zeroErrorNanoseconds: best?.errorNanoseconds ?? 0)
    }
}
