/// Maps exact nanoseconds to the encoder's microseconds and back.
///
/// Encoders reorder pictures and compute decoding times in their own ticks; the time of a tick is kept until nothing
/// can refer to it any more.
struct PictureTimes {
    /// A picture being encoded.
    struct Entry: Hashable {
        let tick: Int64
        let nanoseconds: Int64
        let durationNanoseconds: Int64
    }

    static let ticksPerSecond: Int32 = 1_000_000
    private static let nanosecondsPerTick: Int64 = 1000

    private var entries: [Entry] = []
    private var lastTick: Int64?
    /// The first picture: the reference for decoding times before it.
    private var anchor: Entry?

    /// The tick of the next picture: its time in microseconds, later than all earlier ticks.
    mutating func add(nanoseconds: Int64, durationNanoseconds: Int64) -> Int64 {
        let own = nanoseconds / Self.nanosecondsPerTick
        let tick = lastTick.map { max(own, $0 + 1) } ?? own
        lastTick = tick
        let entry = Entry(
            tick: tick, nanoseconds: nanoseconds, durationNanoseconds: durationNanoseconds)
        if anchor == nil { anchor = entry }
        entries.append(entry)
        return tick
    }

    /// The picture with that presentation tick.
    func entry(tick: Int64) -> Entry? {
        entries.first { $0.tick == tick }
    }

    /// The time of a decoding tick: that of a picture, or, before the first picture, as many microseconds earlier.
    ///
    /// Earlier entries are dropped: decoding times increase, and no presentation time precedes its decoding time.
    mutating func decodingTime(tick: Int64) -> Int64 {
        entries.removeAll { $0.tick < tick }
        if let entry = entry(tick: tick) { return entry.nanoseconds }
        guard let anchor else { return tick * Self.nanosecondsPerTick }
        return anchor.nanoseconds + (tick - anchor.tick) * Self.nanosecondsPerTick
    }
}
