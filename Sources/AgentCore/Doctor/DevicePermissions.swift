import Files
import Glibc

/// Whether devices may be opened, by the groups that own them.
enum DevicePermissions {
    /// Permissions of this user for a group's devices.
    enum Access {
        /// All of them may be opened.
        case open(Diagnosis)
        /// No device can be opened, for this reason.
        case closed(Diagnosis)
        /// Some devices can be opened, or there are none, which may be correct.
        case unclear
    }

    static func ofCameras() -> Access {
        look(
            at: nodes(in: "/dev") { $0.hasPrefix("video") }, group: "video", what: "cameras",
            missing:
                "there is no camera on this box (no /dev/video…): plug one in, or check with "
                + "'lsusb' whether the kernel sees it")
    }

    static func ofMicrophones() -> Access {
        look(
            at: nodes(in: "/dev/snd") { $0.hasPrefix("pcm") && $0.hasSuffix("c") }, group: "audio",
            what: "microphones",
            // Sound servers need no device.
            missing: nil)
    }

    /// - Parameter missing: the finding if there are no devices; nil if that may be correct.
    private static func look(
        at nodes: [String], group: String, what: String, missing: String?
    ) -> Access {
        guard !nodes.isEmpty else {
            guard let missing else { return .unclear }
            return .closed(Diagnosis("permissions", .problem, missing))
        }
        let closed = nodes.filter { access($0, R_OK | W_OK) != 0 && errno == EACCES }
        if closed.isEmpty {
            return .open(
                Diagnosis("permissions", .ok, "\(what) can be opened (\(nodes.count) devices)"))
        }
        guard closed.count == nodes.count else { return .unclear }
        let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "USER"
        let owner = self.group(of: closed[0]) ?? group
        return .closed(
            Diagnosis(
                "permissions", .problem,
                "\(user) has no permission to open \(closed.joined(separator: ", ")): 'sudo usermod -aG \(owner) "
                    + "\(user)', then log in again (a service: SupplementaryGroups=\(owner))"))
    }

    private static func group(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_gid != 0 else { return nil }
        return getgrgid(status.st_gid).map { String(cString: $0.pointee.gr_name) }
    }

    private static func nodes(in directory: String, where isOne: (String) -> Bool) -> [String] {
        (Directory.names(in: directory, where: isOne) ?? []).map { "\(directory)/\($0)" }.sorted()
    }
}
