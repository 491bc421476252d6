import Archive

/// The times that a network camera states, as text.
enum StatedText {
    /// Tolerated error of the clocks that are compared.
    private static let toleranceNanoseconds: Int64 = 50_000_000

    static func line(_ stated: ClockSummary.Stated) -> String {
        let offset = stated.offsetNanoseconds
        let ahead = stated.aheadNanoseconds
        let late = "after their arrival by up to \(ClockText.duration(ahead))"
        let verdict =
            ahead <= 0
            ? "none after its arrival"
            : ahead <= toleranceNanoseconds
                ? "\(late), within the tolerance of \(ClockText.duration(toleranceNanoseconds))"
                : "\(late): its clock is ahead by at least that"
        return "camera's clock, \(stated.track): stated less recorded times "
            + "\(ClockText.duration(offset.least)) to \(ClockText.duration(offset.greatest)), "
            + "median \(ClockText.duration(offset.median)); \(verdict)"
    }
}
