/// When the next keyframe is due, by the pictures' times and not by their number.
struct KeyframeSchedule {
    private let intervalNanoseconds: Int64
    private var isRequested = false
    private var latest: Int64?

    init(intervalNanoseconds: Int64) {
        self.intervalNanoseconds = intervalNanoseconds
    }

    /// The next picture has to be a keyframe.
    mutating func request() { isRequested = true }

    /// Whether the picture at that time has to be a keyframe; `tolerance` makes a picture that comes a little early the
    /// due one.
    mutating func isDue(atNanoseconds time: Int64, toleranceNanoseconds: Int64) -> Bool {
        if let latest, !isRequested,
            time - latest < intervalNanoseconds - toleranceNanoseconds
        {
            return false
        }
        isRequested = false
        latest = time
        return true
    }

    /// The encoder made a keyframe of its own accord: the interval counts from there.
    mutating func made(atNanoseconds time: Int64) {
        latest = latest.map { max($0, time) } ?? time
    }
}
