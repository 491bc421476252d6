/// Determines the number of instants per ``WireLimits/gatherMilliseconds`` at which agents send their batches: as few
/// as the network permits.
///
/// Agents that send at the same instant share a wake-up, which is most of the cost of few sources. Their burst is
/// queued in the switch before the collector, and delays the clock probes behind it. The messages of 64 cameras of 4
/// Mbit/s are 16 MB each half second; at one instant, a gigabit link would need 130 ms for them, which exceeds the
/// buffers of any switch. So an instant should have ``burstBytes``, for which that link needs 8 ms, and those 64
/// cameras have twenty instants. Sixteen have five, four have one.
///
/// The collector decides because only it knows the agents' total rate. Agents are distributed evenly over the instants,
/// by the identity of their spools (``CollectorClock``), so a single large source can still exceed the burst.
struct SendInstants: Sendable {
    /// Bytes of all agents at one instant, on average.
    static let burstBytes = 1 << 20
    /// The possible numbers. Each divides the largest, so that an agent that does not know the new number yet still
    /// shares instants with some others.
    static let choices = [1, 2, 5, 10, WireLimits.sendInstants]
    /// Time over which bytes are summed.
    private static let windowNanoseconds: Int64 = 1_000_000_000
    /// Windows with a lower requirement before the number is reduced: rates vary, and a change separates agents for a
    /// heartbeat.
    private static let calmWindows = 5

    /// The current number.
    private(set) var count = WireLimits.sendInstants
    private var bytes = 0
    /// Whether bytes have been added since the last tick.
    private var hasNews = false
    private var windowBegin: Int64?
    /// The requirements of the last windows, oldest first.
    private var needed: [Int] = []

    /// Bytes of records have arrived.
    mutating func add(bytes: Int) {
        self.bytes += bytes
        hasNews = true
    }

    /// Processes the passing of time.
    ///
    /// Records are processed together, about twice a second. So a window begins and ends directly after a batch:
    /// otherwise one second would contain three.
    mutating func tick(now: Int64) {
        defer { hasNews = false }
        guard let begin = windowBegin else {
            windowBegin = now
            bytes = 0
            return
        }
        let mayEnd = hasNews || bytes == 0
        guard now - begin >= (mayEnd ? 1 : 2) * Self.windowNanoseconds else { return }
        let interval = Double(WireLimits.gatherMilliseconds) * 1_000_000
        let perInterval = Double(bytes) * interval / Double(now - begin)
        needed.append(
            Self.choices.first { perInterval <= Double($0 * Self.burstBytes) }
                ?? WireLimits.sendInstants)
        if needed.count > Self.calmWindows { needed.removeFirst() }
        let most = needed.max() ?? WireLimits.sendInstants
        if most > count || needed.count == Self.calmWindows { count = most }
        windowBegin = now
        bytes = 0
    }
}
