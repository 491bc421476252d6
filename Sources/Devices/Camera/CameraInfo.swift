/// A camera, as a list of devices shows it.
package struct CameraInfo: Hashable, Sendable {
    /// Its node at this moment: "/dev/video0".
    package var node: String
    package var identity: CameraIdentity
    package var driver: String
    /// The names of its links in /dev/v4l/by-id and /dev/v4l/by-path.
    package var byID: [String]
    package var byPath: [String]
    /// Why it could not be asked or cannot be used, in one line.
    package var obstacle: String?

    package init(
        node: String, identity: CameraIdentity, driver: String, byID: [String] = [],
        byPath: [String] = [], obstacle: String? = nil
    ) {
        self.node = node
        self.identity = identity
        self.driver = driver
        self.byID = byID
        self.byPath = byPath
        self.obstacle = obstacle
    }

    /// The name to use it by, the same after a reboot, whatever the kernel numbers it.
    package var stableName: String {
        byID.first ?? (identity.bus.isEmpty ? byPath.first : identity.bus) ?? node
    }

    /// All names that mean it.
    package var names: [String] {
        var names = byID + byPath + [identity.bus, node]
        // The kernel's USB path: "1-1.2" of ".../1-1.2/1-1.2:1.0".
        if let part = identity.place?.split(separator: "/").last, part.contains(":") {
            names.append(String(part.prefix { $0 != ":" }))
        }
        return names.filter { !$0.isEmpty }
    }
}
