import Files
import Glibc
import Media

/// Resource usage of this process, as the kernel reports it.
package struct ProcessFigures: Hashable, Sendable {
    package var cpuSeconds: Double
    package var residentBytes: UInt64
    /// Since 1970, UTC.
    package var startSeconds: Double
    package var descriptors: UInt64
    package var maximumDescriptors: UInt64

    /// Adds the standard process metrics.
    package func add(to text: inout MetricText) {
        text.single("process_cpu_seconds_total", .counter, "User and system CPU time.", cpuSeconds)
        text.single("process_resident_memory_bytes", .gauge, "Resident memory.", residentBytes)
        text.single(
            "process_start_time_seconds", .gauge,
            "Start time of the process, in seconds since 1970.", startSeconds)
        text.single("process_open_fds", .gauge, "Open file descriptors.", descriptors)
        text.single(
            "process_max_fds", .gauge, "Maximum number of open file descriptors.",
            maximumDescriptors)
    }

    /// Queries the kernel: proc(5), getrusage(2). Nil if `/proc` is not available.
    package static func current() -> ProcessFigures? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0,
            let pages = words(of: "/proc/self/statm").dropFirst().first.flatMap({ UInt64($0) }),
            let started = startSeconds()
        else { return nil }
        var limit = rlimit()
        let hasLimit = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        return ProcessFigures(
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            residentBytes: pages * UInt64(sysconf(Int32(_SC_PAGESIZE))), startSeconds: started,
            descriptors: descriptorCount(),
            maximumDescriptors: hasLimit ? UInt64(limit.rlim_cur) : 0)
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    /// The 22nd field of `stat` is in ticks since boot. The second one is a name that may contain any character.
    private static func startSeconds() -> Double? {
        let text = contents(of: "/proc/self/stat")
        guard let name = text.lastIndex(of: ")"),
            let uptime = words(of: "/proc/uptime").first.flatMap({ Double($0) })
        else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ")
        guard fields.count > 19, let ticks = Double(fields[19]) else { return nil }
        let booted = Double(SystemClock.utc.nowNanoseconds) / 1e9 - uptime
        return booted + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func descriptorCount() -> UInt64 {
        // Minus the descriptor of the directory that is being listed.
        UInt64(max(0, (Directory.names(in: "/proc/self/fd")?.count ?? 0) - 1))
    }

    private static func words(of path: String) -> [Substring] {
        contents(of: path).split(whereSeparator: \.isWhitespace)
    }

    /// Empty if it cannot be read.
    private static func contents(of path: String) -> String { SmallFile.kernelText(path) ?? "" }
}
