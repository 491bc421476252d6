import Files
import Glibc

/// Lists directories and resolves links.
enum FileNames {
    /// The names in a directory, unordered; empty if it cannot be read.
    static func inside(_ path: String) -> [String] {
        Directory.names(in: path) ?? []
    }

    /// The path without links; nil if it does not exist.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The target of a link, as written; nil if it is none, or cannot be read.
    static func target(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Small files of /proc and /sys.
enum TextFile {
    /// Its first line; nil if it cannot be read, or is empty.
    static func line(_ path: String) -> String? {
        SmallFile.kernelText(path)?.split(separator: "\n").first.map(String.init)
    }
}

/// Processes that have a device open.
enum Holders {
    /// Other processes that have that device open, as far as this user may see them: "ffmpeg (process 812)".
    static func of(_ device: String) -> [String] {
        let own = "\(getpid())"
        return FileNames.inside("/proc").filter { Int($0) != nil && $0 != own }
            .filter { process in
                FileNames.inside("/proc/\(process)/fd").contains {
                    FileNames.target("/proc/\(process)/fd/\($0)") == device
                }
            }.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) }.map(name(ofProcess:))
    }

    /// "ffmpeg (process 812)", also for one of its threads.
    static func name(ofProcess thread: String) -> String {
        let status = SmallFile.kernelText("/proc/\(thread)/status")?.split(separator: "\n")
        let process =
            status?.first { $0.hasPrefix("Tgid:") }?.split(separator: "\t").last.map(String.init)
            ?? thread
        guard let name = TextFile.line("/proc/\(process)/comm") else {
            return "process \(process)"
        }
        return "\(name) (process \(process))"
    }
}
