import Glibc

/// What folders hold, and where links lead.
enum FileNames {
    /// The names inside a folder, in no order; none when it cannot be read.
    static func inside(_ path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The path without links; nil when it leads nowhere.
    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Where a link leads, as it is written; nil when it is none, or may not be read.
    static func target(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Small files of /proc and /sys.
enum TextFile {
    /// What a file holds, up to a page; nil when it cannot be read: what it says is then not known.
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Its first line; nil when it cannot be read, or is empty.
    static func line(_ path: String) -> String? {
        read(path)?.split(separator: "\n").first.map(String.init)
    }
}

/// Who has a device open.
enum Holders {
    /// Processes with that device open, as far as this user may look: "ffmpeg (process 812)"; not this one.
    static func of(_ device: String) -> [String] {
        let own = "\(getpid())"
        return FileNames.inside("/proc").filter { Int($0) != nil && $0 != own }
            .filter { process in
                FileNames.inside("/proc/\(process)/fd").contains {
                    FileNames.target("/proc/\(process)/fd/\($0)") == device
                }
            }.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) }.map(name(ofProcess:))
    }

    /// "ffmpeg (process 812)", also of one of its threads.
    static func name(ofProcess thread: String) -> String {
        let status = TextFile.read("/proc/\(thread)/status")?.split(separator: "\n")
        let process =
            status?.first { $0.hasPrefix("Tgid:") }?.split(separator: "\t").last.map(String.init)
            ?? thread
        guard let name = TextFile.line("/proc/\(process)/comm") else {
            return "process \(process)"
        }
        return "\(name) (process \(process))"
    }
}
