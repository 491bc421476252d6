import Archive
import Catalog
import Media
import Timing
import Wire

/// A session of another collector, placed on this one's clock.
struct OfferedSession: Hashable, Sendable {
    /// The clock by which its zero was placed.
    enum Means: Hashable, Sendable {
        /// An agent's, which both collectors have measured.
        case agent
        /// The clock of the site's database server.
        case server
        /// The collectors' wall clocks.
        case wall
    }

    var clock: SessionClock
    /// The other collector.
    var collector: String
    /// The session's zero on this collector's monotonic clock, nanoseconds.
    var zeroNanoseconds: Int64
    /// Maximum error of ``zeroNanoseconds``: the other collector's error of zero, half the round trip of the agent's exchange
    /// with it, and this collector's bound of the agent's clock at that moment.
    var errorNanoseconds: Int64
    var means: Means

    /// Segment durations that a collector accepts.
    private static let segments: ClosedRange<Int64> = 1_000_000_000...86_400_000_000_000
    /// Maximum error of an offer that is used.
    private static let largestErrorNanoseconds: Int64 = 5_000_000_000
    /// How far the collectors' wall clocks may be apart.
    private static let wallToleranceNanoseconds: Int64 = 86_400_000_000_000
    /// Relative drift of two collectors' clocks, by which the error grows since the exchange.
    private static let driftPPM: Int64 = 200

    /// Nil: the agent's clock has not been measured here, or the offer is impossible.
    init?(
        _ introduction: SourceIntroduction, clocks: AgentClocks, at now: Instant
    ) {
        guard let offer = introduction.statement.session,
            let epoch = introduction.epochs.first(where: { $0.number == offer.exchange.epoch })?
                .identity
        else { return nil }
        let exchange = offer.exchange
        let agent = ClockID(owner: introduction.clockOwner, epoch: epoch)
        let (sent, received) = (exchange.t1, exchange.t4)
        // The stamps are within 2^61 of zero: their sums and differences are within 64 bits.
        let delay = (received - sent) - (exchange.t3 - exchange.t2)
        guard received >= sent, exchange.t3 >= exchange.t2, delay >= 0,
            Self.segments.contains(offer.clock.segmentNanoseconds)
        else { return nil }
        let middle = sent + (received - sent) / 2
        guard let model = clocks.model(of: agent, at: middle) else { return nil }
        let session =
            exchange.t2 + (exchange.t3 - exchange.t2) / 2 - offer.clock.zeroNanoseconds
        let here = model.collectorNanoseconds(at: middle)
        let age = max(0, now.monotonic.clampedSubtracting(here))
        zeroNanoseconds = here.clampedSubtracting(session)
        errorNanoseconds = offer.clock.zeroErrorNanoseconds
            .clampedAdding(delay / 2)
            .clampedAdding(model.bound(at: middle))
            .clampedAdding(age / 1_000_000 * Self.driftPPM)
        clock = offer.clock
        collector = offer.collector
        means = .agent
        let wall = now.utc.nanoseconds.clampedSubtracting(
            now.monotonic.clampedSubtracting(zeroNanoseconds))
        let apart = wall.clampedSubtracting(clock.zeroUTCNanoseconds).magnitude
        guard zeroNanoseconds <= now.monotonic, errorNanoseconds <= Self.largestErrorNanoseconds,
            apart <= Self.wallToleranceNanoseconds.magnitude
        else { return nil }
    }

    /// The site's session, placed by the clock of its database server, or by the wall clocks; nil: it cannot be placed.
    init?(_ answer: SiteAgreement, host: HostClock, at now: Instant) {
        let row = answer.session
        guard ArchiveLayout.isValidName(row.session),
            Self.segments.contains(row.segmentNanoseconds),
            row.zeroUTCNanoseconds.magnitude <= UInt64(RecordLimits.timeNanoseconds)
        else { return nil }
        collector = row.collector
        let byWall = now.monotonic.clampedSubtracting(
            now.utc.nanoseconds.clampedSubtracting(row.zeroUTCNanoseconds))
        let wallError = max(0, row.wallErrorNanoseconds)
            .clampedAdding(max(0, host.wallErrorNanoseconds))
        let error = max(0, answer.zeroErrorNanoseconds)
        // A wall clock that is not synchronised may be off by any time: it contradicts nothing.
        let areWallsSynchronised =
            max(row.wallErrorNanoseconds, host.wallErrorNanoseconds)
            < HostClock.unknownErrorNanoseconds
        if let zero = answer.zeroMonotonicNanoseconds, error <= wallError,
            // The server's clock was set in between if synchronised wall clocks contradict it.
            !areWallsSynchronised
                || zero.clampedSubtracting(byWall).magnitude
                    <= UInt64(error.clampedAdding(wallError))
        {
            (zeroNanoseconds, errorNanoseconds, means) = (zero, error, .server)
        } else {
            (zeroNanoseconds, errorNanoseconds, means) = (byWall, wallError, .wall)
        }
        clock = SessionClock(
            session: row.session, zeroUTCNanoseconds: row.zeroUTCNanoseconds,
            zeroNanoseconds: zeroNanoseconds,
            zeroErrorNanoseconds: min(errorNanoseconds, WireLimits.intervalNanoseconds),
            segmentNanoseconds: row.segmentNanoseconds)
        guard errorNanoseconds <= Self.largestErrorNanoseconds,
            zeroNanoseconds.magnitude <= UInt64(RecordLimits.timeNanoseconds) / 2
        else { return nil }
    }

    /// One line for the log.
    var text: String {
        let what =
            switch means {
            case .agent:
                "the session goes on from \(collector): its zero is placed by an agent's clock"
            case .server:
                "the site's session, begun by \(collector): its zero is placed by the database server's clock"
            case .wall:
                "the site's session, begun by \(collector): its zero is placed by the wall clocks"
            }
        return "\(what), to within \((errorNanoseconds + 999) / 1_000) µs"
    }

    /// The position of another session on this session's timeline, as an attachment.
    /// - Parameters:
    ///   - zero: the other one's, on this collector's monotonic clock.
    ///   - error: the maximum error of that.
    func attachment(
        ofZero zero: Int64, errorNanoseconds error: Int64
    ) -> SessionManifest.Attachment {
        SessionManifest.Attachment(
            session: clock.session, zeroUTCNanoseconds: clock.zeroUTCNanoseconds,
            segmentNanoseconds: clock.segmentNanoseconds,
            offsetNanoseconds: zero.clampedSubtracting(zeroNanoseconds),
            boundNanoseconds: UInt64(clamping: errorNanoseconds.clampedAdding(error)))
    }
}

extension SessionManifest.Attachment {
    /// One line for the log.
    func text(of own: String) -> String {
        "session \(own) is attached to the site's session \(session): its zero is "
            + "\(offsetNanoseconds.magnitude / 1_000_000) ms "
            + "\(offsetNanoseconds < 0 ? "before" : "after") that one's, to within "
            + "\((boundNanoseconds.clampedAdding(999)) / 1_000) µs"
    }
}

extension SessionManifest {
    /// The zero as sent to agents.
    var sessionClock: SessionClock {
        SessionClock(
            session: session, zeroUTCNanoseconds: zeroUTCNanoseconds,
            zeroNanoseconds: presentZeroNanoseconds,
            zeroErrorNanoseconds: min(
                correction.errorNanoseconds, WireLimits.intervalNanoseconds),
            segmentNanoseconds: segmentNanoseconds)
    }
}

extension SessionRecorder {
    /// The session in which another collector recorded the held sources, if this collector can continue it.
    func offeredSession(at now: Instant) -> OfferedSession? {
        waitingIntroductions.compactMap { OfferedSession($0, clocks: clocks, at: now) }
            .filter { !isTaken($0.clock.session) }
            .min {
                ($0.clock.zeroUTCNanoseconds, $0.clock.session, $0.errorNanoseconds)
                    < ($1.clock.zeroUTCNanoseconds, $1.clock.session, $1.errorNanoseconds)
            }
    }

    /// Adds a ledger line, once, with this session's offset from the one in which another collector recorded a source.
    mutating func relate(_ name: String, at now: Instant) -> [Action] {
        guard let zero = sessionZero, let session = sessionName,
            let introduction = sources[name]?.value.introduction,
            introduction.statement.session.map({ $0.clock.session != session }) ?? false,
            let offer = OfferedSession(introduction, clocks: clocks, at: now)
        else { return [] }
        return sources[name]?.value.recordRelation(to: offer, zero: zero, at: now) ?? []
    }
}
