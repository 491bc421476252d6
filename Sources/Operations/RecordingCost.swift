import Glibc

/// The cost of recording since the collector's start. All figures only grow.
package struct RecordingCost: Hashable, Sendable {
    /// Sum over all sources of the time that they were connected, seconds.
    package var streamSeconds = 0.0
    /// User and system CPU time of the process; nil where the system does not provide it.
    package var cpuSeconds: Double?
    /// Wake-ups of the receiving thread: its voluntary context switches (getrusage(2)).
    package var wakeUps: UInt64 = 0
    /// Bytes of messages copied in memory after libzmq had received them: headers. Media is written from libzmq's
    /// memory.
    package var copiedBytes: UInt64 = 0
    /// `fdatasync` of files with media.
    package var synchronisations: UInt64 = 0

    package init() {}

    /// `RUSAGE_THREAD` of `<bits/resource.h>`, which needs `_GNU_SOURCE` and is not imported.
    private static let thisThread: __rusage_who_t = 1

    /// Voluntary context switches of the calling thread.
    package static func wakeUpsOfThisThread() -> UInt64 {
        var usage = rusage()
        guard getrusage(Self.thisThread, &usage) == 0 else { return 0 }
        return UInt64(clamping: usage.ru_nvcsw)
    }

    /// User and system CPU time of this process, seconds.
    package static func cpuSecondsOfThisProcess() -> Double? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    /// A log line; nil with too few samples for a quotient.
    ///
    /// `64.0 stream-minutes; each cost 0.080 CPU seconds, 150 wake-ups, 130 kB copied, 62.0 fdatasyncs`
    package var line: String? {
        let minutes = streamSeconds / 60
        guard minutes >= Self.leastMinutes else { return nil }
        var parts = cpuSeconds.map { [Self.text($0 / minutes) + " CPU seconds"] } ?? []
        parts.append(Self.text(Double(wakeUps) / minutes) + " wake-ups")
        parts.append(Self.text(Double(copiedBytes) / minutes / 1_000) + " kB copied")
        parts.append(Self.text(Double(synchronisations) / minutes) + " fdatasyncs")
        return "\(Self.text(minutes)) stream-minutes; each cost \(parts.joined(separator: ", "))"
    }

    /// One second of one source: the collector's own start would dominate anything shorter.
    private static let leastMinutes = 1.0 / 60

    /// Three significant digits below 100, whole numbers above.
    private static func text(_ value: Double) -> String {
        guard value.isFinite, value < 1e15 else { return "\(value)" }
        if value >= 100 { return "\(Int64(value.rounded()))" }
        let places = value >= 10 ? 1 : value >= 1 ? 2 : 3
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let rounded = Int64((value * scale).rounded())
        let fraction = "\(rounded % Int64(scale))"
        let zeros = String(repeating: "0", count: max(0, places - fraction.utf8.count))
        return "\(rounded / Int64(scale)).\(zeros)\(fraction)"
    }

    /// In Prometheus' text format.
    func add(to text: inout MetricText) {
        text.single(
            "tributary_stream_seconds_total", .counter,
            "Sum over all sources of the time connected. Divide costs by it.", streamSeconds)
        text.single(
            "tributary_receiver_wakeups_total", .counter,
            "Voluntary context switches of the receiving thread.", wakeUps)
        text.single(
            "tributary_copied_bytes_total", .counter,
            "Bytes of messages copied in memory: headers. Media is written from where it was received.",
            copiedBytes)
    }
}
