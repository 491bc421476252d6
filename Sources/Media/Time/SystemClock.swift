import Glibc

/// A clock of the kernel (clock_gettime(2)).
package enum SystemClock: Sendable {
    /// `CLOCK_MONOTONIC`. Readings are comparable only within one boot and one time namespace.
    case monotonic
    /// `CLOCK_BOOTTIME`: it also runs while the machine sleeps.
    case boot
    /// `CLOCK_REALTIME`: UTC since 1970. It can be set.
    case utc
    /// `CLOCK_THREAD_CPUTIME_ID`: processor time of the calling thread.
    case threadProcessorTime

    /// The clock's present time, nanoseconds. A clock that is set after ``latestSeconds`` stands still.
    package var nowNanoseconds: Int64 {
        var time = timespec()
        clock_gettime(identifier, &time)
        guard time.tv_sec < Self.latestSeconds else {
            return Int64(Self.latestSeconds) * 1_000_000_000
        }
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// 2100-01-01. Recordings have times of 146 years from 1970.
    private static let latestSeconds = 4_102_444_800

    /// Blocks the calling thread until ``monotonic`` reaches that time; returns immediately if it has passed.
    package static func sleep(untilMonotonicNanoseconds time: Int64) {
        var until = timespec(
            tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nil) == EINTR {}
    }

    private var identifier: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        case .boot: CLOCK_BOOTTIME
        case .utc: CLOCK_REALTIME
        case .threadProcessorTime: CLOCK_THREAD_CPUTIME_ID
        }
    }
    /// The identity of ``monotonic``: readings with equal identities are comparable. Nil if the kernel does not report it.
    ///
    /// Boot and zero of the time namespace (time_namespaces(7)). A namespace's inode does not name it: the kernel gives the
    /// number of a namespace that has ended to the next one.
    package static func monotonicIdentity() -> String? {
        guard let boot = text(of: "/proc/sys/kernel/random/boot_id"),
            let namespace = target(of: "/proc/self/ns/time")
        else { return nil }
        guard namespace != initialNamespace,
            target(of: "/proc/self/ns/time_for_children") == namespace,
            let offsets = text(of: "/proc/self/timens_offsets"),
            let zero = monotonicZero(inOffsets: offsets)
        else { return "\(boot) \(namespace)" }
        return zero == "0 0" ? "\(boot) \(initialNamespace)" : "\(boot) monotonic \(zero)"
    }

    /// The time namespace's offset of the monotonic clock: seconds and nanoseconds, as in `timens_offsets`; nil without one.
    static func monotonicZero(inOffsets text: String) -> String? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 3, words[0] == "monotonic" { return "\(words[1]) \(words[2])" }
        }
        return nil
    }

    /// The namespace in which a machine boots (`PROC_TIME_INIT_INO`).
    private static let initialNamespace = "time:[4026531834]"

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    private static func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = readlink(link, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
