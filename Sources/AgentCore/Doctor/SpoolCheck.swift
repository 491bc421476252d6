import Files
import Glibc
import Media

/// Checks the space for records that the collector does not have yet.
enum SpoolCheck {
    static func look(at spool: SpoolSettings?, memoryLimitBytes: Int) -> Diagnosis {
        guard let spool else {
            return Diagnosis(
                "spool", .warning,
                "samples are kept in memory only (\(byteText(memoryLimitBytes))) and are lost in a restart: "
                    + "give a --spool directory")
        }
        guard let directory = Path.existingPart(of: spool.path) else {
            return Diagnosis(
                "spool", .problem,
                "no parent directory of \(spool.path) exists: choose another --spool")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            let reason = systemMessage(errno)
            return Diagnosis(
                "spool", .problem,
                "cannot write the spool \(spool.path): \(directory): \(reason); make it writable, or choose "
                    + "another --spool")
        }
        if let reason = makingFlaw(below: directory, for: spool.path) {
            return Diagnosis(
                "spool", .problem,
                "cannot make the spool \(spool.path): a directory in \(directory): \(reason); choose another --spool"
            )
        }
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else {
            let reason = systemMessage(errno)
            return Diagnosis("spool", .problem, "\(directory): \(reason); choose another --spool")
        }
        let free = Int(clamping: UInt64(space.f_bavail) &* UInt64(space.f_frsize))
        let room = "\(byteText(free)) free at \(spool.path)"
        if free < spool.limitBytes {
            return Diagnosis(
                "spool", free < spool.limitBytes / 10 ? .problem : .warning,
                "\(room), less than --spool-limit (\(byteText(spool.limitBytes))): free some space, lower the limit, "
                    + "or choose another --spool")
        }
        return Diagnosis("spool", .ok, "\(room), for at most \(byteText(spool.limitBytes))")
    }

    /// Why a missing directory cannot be made; nil if it can, or if it exists. Not every directory that permits writing accepts
    /// directories, such as those of the kernel.
    private static func makingFlaw(below directory: String, for path: String) -> String? {
        guard directory != path else { return nil }
        var template = Array("\(directory)/.tributary-doctor-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return systemMessage(errno) }
        rmdir(template)
        return nil
    }

    /// Bitrates vary, and a spool deletes whole files.
    private static let margin = 1.25

    /// Checks whether the spool can hold records until the collector's store has them.
    /// - Parameters:
    ///   - releaseSeconds: expected time until then, from the collector; 0 if it is not required.
    ///   - bitrate: of the capture, bits per second; nil if unknown.
    /// - Returns: nil if it is not required.
    static func look(
        at uplink: UplinkSettings, releaseSeconds: UInt32, bitrate: Int?
    ) -> Diagnosis? {
        guard releaseSeconds > 0 else { return nil }
        let limit = uplink.spool?.limitBytes ?? uplink.memoryLimitBytes
        let option = uplink.spool == nil ? "--memory-limit" : "--spool-limit"
        let what =
            "the collector wants samples kept until its store has them, about \(releaseSeconds) s"
        guard let bitrate else {
            return Diagnosis(
                "release", .ok,
                "\(what); \(option) (\(byteText(limit))) holds that up to \(rateText(limit, releaseSeconds))"
            )
        }
        let needed = Int(Double(bitrate) / 8 * Double(releaseSeconds) * margin)
        let sum = "\(what): \(byteText(needed)) at \(bitrate / 1000) kbit/s"
        guard limit < needed else {
            return Diagnosis("release", .ok, "\(sum); \(option) is \(byteText(limit))")
        }
        return Diagnosis(
            "release", .problem,
            "\(sum), more than \(option) (\(byteText(limit))): what the collector has on its disk alone would be "
                + "forgotten; set \(option) to at least that, or shorten --segment at the collector"
        )
    }

    /// The bitrate that a spool is large enough for.
    private static func rateText(_ limitBytes: Int, _ seconds: UInt32) -> String {
        "\(Int(Double(limitBytes) * 8 / Double(seconds) / margin) / 1000) kbit/s"
    }
}
