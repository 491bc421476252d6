import Archive
import ArgumentParser
import Files
import Media
import Terminal

/// Options for disk space and retention.
struct StorageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Minimum free disk space; no media is written below it. (default: 1GB, or 5 % of a small disk)",
            valueName: "bytes"))
    var reserve: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Remove finished segments that are older than this, such as 30d.", valueName: "time"))
    var keepAge: Age?

    @Option(
        help: ArgumentHelp(
            "Remove the oldest finished segments while the archive is larger than this, such as 2TB.",
            valueName: "bytes"))
    var keepBytes: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Remove the oldest finished segments while the disk has less free space than this, such as 50GB. 'tributary protect' exempts a session.",
            valueName: "bytes"))
    var keepFree: ByteCount?

    var reserveBytes: UInt64? { reserve.map { UInt64($0.bytes) } }

    var retention: RemovalLimits {
        RemovalLimits(
            maximumAgeNanoseconds: keepAge?.span.nanoseconds,
            maximumBytes: keepBytes.map { UInt64($0.bytes) },
            minimumFreeBytes: keepFree.map { UInt64($0.bytes) })
    }

    func validate() throws {
        if let keepAge, keepAge.span.nanoseconds == 0 {
            throw ValidationError(
                "--keep-age 0 would remove every finished segment: use at least 1s, such as 30d")
        }
        if let keepFree, let reserve, keepFree.bytes < reserve.bytes {
            throw ValidationError(
                "--keep-free \(keepFree) is less than --reserve \(reserve): recording would stop before anything is "
                    + "removed; increase --keep-free")
        }
    }

    /// Compares the options with the size and free space of the archive's disk.
    /// - Returns: a warning if nothing can be recorded at present; nil otherwise, or if the free space is unknown.
    /// - Throws: if `--reserve` or `--keep-free` is not less than the size of the disk.
    func check(archive: String) throws(UsageError) -> String? {
        let place = Path.existingPart(of: archive) ?? archive
        let free: UInt64
        let size: UInt64
        do throws(ArchiveError) {
            (free, size) = try FileSystem.freeBytes(place)
        } catch {
            // The collector reports an archive that cannot be written.
            return nil
        }
        for (option, bytes) in [("--reserve", reserve?.bytes), ("--keep-free", keepFree?.bytes)] {
            guard let bytes, bytes >= Int64(clamping: size) else { continue }
            throw UsageError(
                "\(option) \(ByteCount(bytes)) is larger than the disk of \(archive) (\(byteText(size))): "
                    + (option == "--reserve"
                        ? "nothing could be recorded; use a smaller value"
                        : "every finished segment would be removed; use a smaller value"))
        }
        guard let reserve, free <= UInt64(reserve.bytes) else { return nil }
        return
            "only \(byteText(free)) free at \(archive), and --reserve is \(reserve): nothing is recorded until "
            + "there is more free space; remove recordings ('tributary rm') or use a smaller --reserve"
    }
}

/// Maximum age of recordings. It needs a unit: a plain 30, meant as days, must not be taken as seconds.
struct Age: HintedArgument {
    let span: TimeSpan

    init?(argument: String) {
        guard argument == "0" || argument.last?.isLetter == true,
            let span = TimeSpan(argument: argument)
        else { return nil }
        self.span = span
    }

    static var valueHint: String { "an age with a unit, such as 12h or 30d" }
}
