import Archive
import ArgumentParser
import Terminal

/// What the archive may take of its disk, and what goes when it is too much.
struct RoomOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What of the disk stays free: media is never written into it. Unless given 1GB, on small disks a twentieth.",
            valueName: "bytes"))
    var reserve: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Remove finished segments that ended longer ago, such as 30d.", valueName: "time"))
    var keepAge: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Remove the oldest finished segments while all together have more, such as 2TB.",
            valueName: "bytes"))
    var keepBytes: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Remove the oldest finished segments while the disk has less free, such as 50GB. 'tributary protect' keeps a session.",
            valueName: "bytes"))
    var keepFree: ByteCount?

    var reserveBytes: UInt64? { reserve.map { UInt64($0.bytes) } }

    var retention: RetentionPolicy {
        RetentionPolicy(
            maximumAgeNanoseconds: keepAge?.nanoseconds,
            maximumBytes: keepBytes.map { UInt64($0.bytes) },
            minimumFreeBytes: keepFree.map { UInt64($0.bytes) })
    }

    func validate() throws {
        if let keepAge, keepAge.nanoseconds == 0 {
            throw ValidationError("--keep-age 0 would keep nothing: use at least 1s, such as 30d")
        }
        if let keepFree, let reserve, keepFree.bytes < reserve.bytes {
            throw ValidationError(
                "--keep-free \(keepFree) is less than --reserve \(reserve): recording would stop before anything is "
                    + "removed; make it more")
        }
    }
}
