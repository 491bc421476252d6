import Archive
import ArgumentParser
import Media
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
    var keepAge: Age?

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
            maximumAgeNanoseconds: keepAge?.span.nanoseconds,
            maximumBytes: keepBytes.map { UInt64($0.bytes) },
            minimumFreeBytes: keepFree.map { UInt64($0.bytes) })
    }

    func validate() throws {
        if let keepAge, keepAge.span.nanoseconds == 0 {
            throw ValidationError("--keep-age 0 would keep nothing: use at least 1s, such as 30d")
        }
        if let keepFree, let reserve, keepFree.bytes < reserve.bytes {
            throw ValidationError(
                "--keep-free \(keepFree) is less than --reserve \(reserve): recording would stop before anything is "
                    + "removed; make it more")
        }
    }

    /// Finds out whether the archive's disk can be what the options say.
    /// - Returns: a line for the log, where nothing can be recorded for now; nil: all is well, or nobody can say.
    /// - Throws: where the disk is smaller than what is to stay free.
    func check(archive: String) throws(UsageError) -> String? {
        let place = Self.existingPart(of: archive)
        let free: UInt64
        let size: UInt64
        do throws(ArchiveError) {
            (free, size) = try FileSystem.freeBytes(place)
        } catch {
            // That the archive cannot be written is said by whoever makes it.
            return nil
        }
        for (option, bytes) in [("--reserve", reserve?.bytes), ("--keep-free", keepFree?.bytes)] {
            guard let bytes, bytes >= Int64(clamping: size) else { continue }
            throw UsageError(
                "\(option) \(ByteCount(bytes)) is more than the disk of \(archive) has (\(byteText(size))): "
                    + (option == "--reserve"
                        ? "nothing could be recorded; use less"
                        : "everything that is finished would be removed; use less"))
        }
        guard let reserve, free <= UInt64(reserve.bytes) else { return nil }
        return
            "only \(byteText(free)) are free at \(archive) and --reserve keeps \(reserve) free: nothing is recorded "
            + "until there is room; remove recordings ('tributary rm'), or use a smaller --reserve"
    }

    /// The archive's directory, or the nearest above it that is there: the rest is made.
    private static func existingPart(of path: String) -> String {
        var path = path
        while !FileSystem.exists(path) {
            guard let slash = path.lastIndex(of: "/") else { return "." }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        return path
    }
}

/// How old a recording may become. Its unit is to be written: who means 30 days and writes 30 must not lose what is older than half a
/// minute.
struct Age: HintedArgument {
    let span: TimeSpan

    init?(argument: String) {
        guard argument == "0" || argument.last?.isLetter == true,
            let span = TimeSpan(argument: argument)
        else { return nil }
        self.span = span
    }

    static var valueHint: String { "an age with its unit, such as 12h or 30d" }
}
