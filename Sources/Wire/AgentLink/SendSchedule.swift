import Media

/// Decides when the records of a source are sent: each immediately, or several together.
///
/// A receiver's cost is mainly a wake-up per message. A picture becomes durable once a second, so records of unwatched
/// sources can be sent together. They are numbered, and on the agent's disk, immediately: only sending is delayed.
///
/// **Which records.** Those that were added while the link gathers, up to ``WireLimits/messageBytes``. A gap, a change
/// of format or a Goodbye is sent immediately, with all records before it.
///
/// **Until when.** Until the next instant at which the collector's clock, less the source's phase, is a multiple of the
/// interval. The instant is chosen once, when the first record begins to wait, and is at most one interval away:
/// neither a later measurement of the collector's clock nor a message of a collector makes a record wait longer.
///
/// **Phases.** The phases are evenly spaced over the interval, and a spool's identity selects one. Agents with the same
/// phase send within the error of their clocks, mostly a millisecond, so that one wake-up of the collector processes
/// several of them. The collector chooses the number of phases (``SendInstants``), because only it knows their total
/// rate.
struct SendSchedule: Hashable, Sendable {
    /// Maximum wait of records; 0: none.
    private(set) var intervalNanoseconds: Int64 = 0
    /// Records up to this one may be sent.
    private(set) var releasedThrough: UInt64
    /// When the waiting records may be sent; nil: none wait.
    private(set) var dueNanoseconds: Int64?
    private var waitingBytes = 0

    /// - Parameter newest: the last record that exists.
    init(newest: UInt64) { releasedThrough = newest }

    /// Sets the maximum wait. Waiting records are sent now: a new viewer must not wait for them.
    /// - Parameter newest: the last record.
    mutating func setInterval(_ nanoseconds: Int64, newest: UInt64) {
        guard nanoseconds != intervalNanoseconds else { return }
        intervalNanoseconds = nanoseconds
        release(through: newest)
    }

    /// A record was added.
    /// - Parameters:
    ///   - through: its last number.
    ///   - bytes: the size of its payload.
    ///   - mayWait: false: it is sent immediately, with everything before it.
    ///   - clock: the collector's clock.
    mutating func add(
        through: UInt64, bytes: Int, mayWait: Bool, clock: CollectorClock, now: Int64
    ) {
        waitingBytes += bytes
        guard mayWait, intervalNanoseconds > 0, waitingBytes < WireLimits.messageBytes else {
            return release(through: through)
        }
        if dueNanoseconds == nil {
            dueNanoseconds = clock.nextInstant(after: now, every: intervalNanoseconds)
        }
    }

    /// Releases records that have waited long enough.
    /// - Returns: whether there were any.
    mutating func tick(newest: UInt64, now: Int64) -> Bool {
        guard let dueNanoseconds, now >= dueNanoseconds else { return false }
        release(through: newest)
        return true
    }

    /// Everything up to a record may be sent.
    mutating func release(through newest: UInt64) {
        releasedThrough = max(releasedThrough, newest)
        dueNanoseconds = nil
        waitingBytes = 0
    }
}

/// The agent's estimate of the collector's clock, to the millisecond: accurate enough for common send instants.
///
/// For any reply of a collector, an instant is in the future and at most one interval away: sums wrap instead of
/// overflowing, and only the remainder of a division by the interval is used.
struct CollectorClock: Sendable {
    /// A more accurate measurement replaces an earlier one immediately, any other after this time: two crystals differ
    /// by 100 ppm at most, 6 ms in it.
    private static let lastingNanoseconds: Int64 = 60_000_000_000

    private var best: (roundTrip: Int64, offset: Int64, measured: Int64)?
    /// Selects the phase: the same for all records of a spool.
    private let seed: UInt64
    /// Number of phases: 1 to ``WireLimits/sendInstants``.
    private(set) var instants = WireLimits.sendInstants

    init(of spool: SpoolID) { seed = spool.high ^ spool.low }

    /// Sets the number of phases from the collector.
    /// - Parameter count: 0: unspecified; clamped to the maximum.
    mutating func setInstants(_ count: UInt32) {
        instants =
            count == 0 ? WireLimits.sendInstants : Int(min(count, UInt32(WireLimits.sendInstants)))
    }

    /// Adds an exchange of the present epoch.
    mutating func add(_ exchange: ReportedExchange) {
        let there = exchange.t2 &- exchange.t1
        let back = exchange.t3 &- exchange.t4
        let roundTrip = there &- back
        guard roundTrip >= 0 else { return }
        if let best, roundTrip > best.roundTrip,
            exchange.t4 &- best.measured < Self.lastingNanoseconds
        {
            return
        }
        best = (roundTrip, back &+ roundTrip / 2, exchange.t4)
    }

    /// The next instant, agent's clock, at which agents of the same phase send.
    func nextInstant(after now: Int64, every interval: Int64) -> Int64 {
        let phase = Int64(seed % UInt64(instants)) * (interval / Int64(instants))
        let passed = (now &+ (best?.offset ?? 0) &- phase) % interval
        return now &+ (interval - (passed < 0 ? passed + interval : passed))
    }
}
