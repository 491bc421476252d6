/// Gives the encoder whole microseconds and gets the exact nanoseconds back.
///
/// Encoders reorder pictures and compute decoding times in their own ticks; a picture's tick stands for its
/// time until nothing can refer to it any more.
struct PictureTimes {
    /// A picture on its way through the encoder.
    struct Entry: Hashable {
        let tick: Int64
        let nanoseconds: Int64
        let durationNanoseconds: Int64
    }

    static let ticksPerSecond: Int32 = 1_000_000
    private static let nanosecondsPerTick: Int64 = 1000

    private var entries: [Entry] = []
    private var lastTick: Int64?
    /// The first picture, where the scale is anchored for the times that no picture has.
    private var anchor: Entry?

    /// The tick of the next picture: its time in microseconds, later than every tick before it.
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

    /// The time of a decoding tick: some picture's, or, before the first picture, so many microseconds earlier.
    ///
    /// What lies before it is forgotten, as decoding times only grow and no presentation time precedes its own.
    mutating func decodingTime(tick: Int64) -> Int64 {
        entries.removeAll { $0.tick < tick }
        if let entry = entry(tick: tick) { return entry.nanoseconds }
        guard let anchor else { return tick * Self.nanosecondsPerTick }
        return anchor.nanoseconds + (tick - anchor.tick) * Self.nanosecondsPerTick
    }
}
