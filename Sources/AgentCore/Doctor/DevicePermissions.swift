import Glibc

/// Whether devices may be opened, by the groups that own them.
enum DevicePermissions {
    /// Nil: no camera is wanted.
    static func ofCameras(needed: Bool) -> Diagnosis? {
        guard needed else { return nil }
        return look(
            at: nodes(in: "/dev") { $0.hasPrefix("video") }, group: "video", what: "cameras",
            missing:
                "there is no camera on this box (no /dev/video…): plug one in, or look with 'lsusb' "
                + "whether the kernel sees it")
    }

    static func ofMicrophones() -> Diagnosis? {
        look(
            at: nodes(in: "/dev/snd") { $0.hasPrefix("pcm") && $0.hasSuffix("c") }, group: "audio",
            what: "microphones",
            // Sound servers need no device of their own.
            missing: nil)
    }

    /// What there is of them, and whether this user may open it.
    /// - Parameter missing: what to say when there is nothing; nil: nothing.
    static func look(
        at nodes: [String], group: String, what: String, missing: String?
    ) -> Diagnosis? {
        guard !nodes.isEmpty else {
            return missing.map { Diagnosis("permissions", .problem, $0) }
        }
        let closed = nodes.filter { access($0, R_OK | W_OK) != 0 && errno == EACCES }
        if closed.isEmpty {
            return Diagnosis("permissions", .ok, "\(what) may be opened (\(nodes.count) devices)")
        }
        let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "USER"
        let owner = self.group(of: closed[0]) ?? group
        return Diagnosis(
            "permissions", .problem,
            "\(user) may not open \(closed.joined(separator: ", ")): 'sudo usermod -aG \(owner) \(user)', "
                + "then log in again (a service: SupplementaryGroups=\(owner))")
    }

    private static func group(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_gid != 0 else { return nil }
        return getgrgid(status.st_gid).map { String(cString: $0.pointee.gr_name) }
    }

    private static func nodes(in directory: String, where isOne: (String) -> Bool) -> [String] {
        guard let handle = opendir(directory) else { return [] }
        defer { closedir(handle) }
        var found: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if isOne(name) { found.append("\(directory)/\(name)") }
        }
        return found.sorted()
    }
}
