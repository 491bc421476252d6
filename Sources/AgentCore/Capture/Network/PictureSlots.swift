import Media

/// The pictures of a track at their usual distance: the time up to which they are complete, and the number of missing ones.
///
/// Samples come in decoding order, so that a picture may follow one with a later time. No sample has a presentation time before the
/// decoding time of the sample before it.
struct PictureSlots {
    /// Pictures after the first missing one: more than the reordered pictures of any codec.
    private static let mostPictures = 64

    /// All pictures before this time are recorded or reported as missing; nil before the first picture.
    private(set) var dueNanoseconds: Int64?
    /// Times of recorded pictures after a missing or later one, ascending.
    private var pictures: [Int64] = []
    /// Pictures were passed while their distance was unknown: the next one is due a distance later.
    private var isUnspaced = false

    /// Adds a recorded picture while none are known to be missing.
    /// - Parameter final: its decoding time.
    mutating func add(_ time: Int64, final: Int64, intervalNanoseconds interval: Int64) {
        space(interval)
        if dueNanoseconds == nil { dueNanoseconds = time }
        insert(time)
        advance(interval)
        // No earlier picture follows: the camera has sent none there.
        while let first = pictures.first, first <= final || pictures.count > Self.mostPictures {
            pass(first, interval)
        }
    }

    /// The missing pictures before a time, which are reported by the caller.
    /// - Parameter start: the first missing time if no picture was recorded yet.
    mutating func takeMissing(
        before time: Int64, from start: Int64, intervalNanoseconds interval: Int64
    ) -> Int {
        space(interval)
        var place = dueNanoseconds ?? start
        var missing = 0
        for end in pictures.filter({ $0 < time }) + [time] {
            if interval > 0 {
                missing += Int(clamping: (max(0, end - place) + interval / 2) / interval)
            }
            place = max(place, end.clampedAdding(interval))
        }
        dueNanoseconds = max(dueNanoseconds ?? time, time)
        pictures.removeAll { $0 < time }
        advance(interval)
        return missing
    }

    /// Known pictures are missing from the present time on.
    /// - Returns: that time, and the end of the last one; nil before the first picture.
    mutating func takeMissing(
        _ count: Int, intervalNanoseconds interval: Int64
    ) -> Range<Int64>? {
        space(interval)
        guard let start = dueNanoseconds else { return nil }
        let end = start.clampedAdding(Int64(count) * interval)
        dueNanoseconds = max(start, end)
        advance(interval)
        return start..<max(start, end)
    }

    private mutating func insert(_ time: Int64) {
        pictures.insert(time, at: pictures.firstIndex { $0 > time } ?? pictures.count)
    }

    /// Passes the pictures that follow without a gap.
    private mutating func advance(_ interval: Int64) {
        while let first = pictures.first, let dueNanoseconds,
            first <= dueNanoseconds.clampedAdding(interval / 2)
        {
            pass(first, interval)
        }
    }

    /// The distance of pictures has become known.
    private mutating func space(_ interval: Int64) {
        guard isUnspaced, interval > 0 else { return }
        isUnspaced = false
        dueNanoseconds = dueNanoseconds?.clampedAdding(interval)
    }

    private mutating func pass(_ first: Int64, _ interval: Int64) {
        isUnspaced = interval <= 0
        pictures.removeFirst()
        dueNanoseconds = max(dueNanoseconds ?? first, first.clampedAdding(interval))
    }
}
