import Glibc
import Media

/// Whether there is room for what the collector does not have yet.
enum SpoolCheck {
    static func look(at spool: SpoolSettings?, memoryLimitBytes: Int) -> Diagnosis {
        guard let spool else {
            return Diagnosis(
                "spool", .warning,
                "samples are kept in memory only (\(byteText(memoryLimitBytes))) and are lost in a restart: "
                    + "give a --spool directory")
        }
        guard let directory = existingPart(of: spool.path) else {
            return Diagnosis(
                "spool", .problem,
                "no parent directory of \(spool.path) exists: choose another --spool")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            let reason = String(cString: strerror(errno))
            return Diagnosis(
                "spool", .problem,
                "cannot write the spool \(spool.path): \(directory): \(reason); make it writable, or choose "
                    + "another --spool")
        }
        var space = statvfs()
        guard statvfs(directory, &space) == 0 else {
            let reason = String(cString: strerror(errno))
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

    /// The directory, or its nearest parent that exists: missing directories are created later.
    private static func existingPart(of path: String) -> String? {
        var path = path
        while access(path, F_OK) != 0 {
            guard errno == ENOENT, let slash = path.lastIndex(of: "/") else {
                return path.contains("/") ? nil : "."
            }
            path = slash == path.startIndex ? "/" : String(path[..<slash])
        }
        return path
    }
}
