import Media

/// Deviations from computed times that change slowly, so that samples of one clock keep their distances.
enum SlewLimit {
    /// Tried one after the other, ppm. Recorded times, which are always possible, were slewed by 500 ppm, and clocks
    /// differ in rate.
    static let ratesPPM: [Int64] = [250, 500, 750]

    /// The deviations nearest to 0 in their windows that change slowly enough; nil when there are none.
    ///
    /// - Parameters:
    ///   - windows: of the deviations, ns.
    ///   - times: ns, ascending, as many as windows.
    static func deviations(_ windows: [ClosedRange<Int64>], at times: [Int64]) -> [Int64]? {
        for rate in ratesPPM {
            if let found = deviations(windows, at: times, ratePPM: rate) { return found }
        }
        return nil
    }

    private static func deviations(
        _ windows: [ClosedRange<Int64>], at times: [Int64], ratePPM: Int64
    ) -> [Int64]? {
        func change(_ index: Int) -> Int64 {
            max(0, times[index].clampedSubtracting(times[index - 1])) / 1_000_000 * ratePPM
        }
        // Deviations that are reachable from the first window at the maximum rate.
        var reachable: [ClosedRange<Int64>] = []
        for (index, window) in windows.enumerated() {
            guard let last = reachable.last else {
                reachable.append(window)
                continue
            }
            let lowest = max(window.lowerBound, last.lowerBound.clampedSubtracting(change(index)))
            let highest = min(window.upperBound, last.upperBound.clampedAdding(change(index)))
            guard lowest <= highest else { return nil }
            reachable.append(lowest...highest)
        }
        var found: [Int64] = []
        for (index, range) in reachable.enumerated().reversed() {
            var lowest = range.lowerBound
            var highest = range.upperBound
            if let next = found.last {
                lowest = max(lowest, next.clampedSubtracting(change(index + 1)))
                highest = min(highest, next.clampedAdding(change(index + 1)))
            }
            found.append(min(max(0, lowest), highest))
        }
        return found.reversed()
    }
}
