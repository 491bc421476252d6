/// Schedules keyframes by the pictures' times, not by their number.
struct KeyframeSchedule {
    private let intervalNanoseconds: Int64
    private var isRequested = false
    private var latest: Int64?

    init(intervalNanoseconds: Int64) {
        self.intervalNanoseconds = intervalNanoseconds
    }

    /// Makes the next picture a keyframe.
    mutating func request() { isRequested = true }

    /// Whether the picture at that time has to be a keyframe; a picture up to `tolerance` early counts as due.
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

    /// The encoder has made a keyframe: the interval restarts.
    mutating func made(atNanoseconds time: Int64) {
        latest = latest.map { max($0, time) } ?? time
    }
}
