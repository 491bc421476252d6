import Media

/// Decides when a destination is reported as too slow: samples are dropped while it is connected.
struct SlowDestination: Sendable {
    /// Time between two reports, and without drops until the destination is no longer slow.
    private static let intervalNanoseconds: Int64 = 10_000_000_000

    private var known: UInt64 = 0
    /// Dropped since the last report.
    private var unreported: UInt64 = 0
    private var reportedAt: Int64?
    private var droppedAt: Int64?

    /// - Parameters:
    ///   - lateSamples: the total of ``ForwardQueue/lateSamples``.
    ///   - isConnected: drops without a connection have another cause, which is reported.
    ///   - now: monotonic, nanoseconds.
    /// - Returns: the number of dropped samples to report; nil: nothing is to be reported now.
    mutating func note(lateSamples: UInt64, isConnected: Bool, now: Int64) -> UInt64? {
        let more = lateSamples - min(known, lateSamples)
        known = lateSamples
        if more > 0, isConnected {
            unreported += more
            droppedAt = now
        }
        let isDue = reportedAt.map { now - $0 >= Self.intervalNanoseconds } ?? true
        guard unreported > 0, isDue else { return nil }
        defer { unreported = 0 }
        reportedAt = now
        return unreported
    }

    func isSlow(now: Int64) -> Bool {
        droppedAt.map { now - $0 < Self.intervalNanoseconds } ?? false
    }
}
