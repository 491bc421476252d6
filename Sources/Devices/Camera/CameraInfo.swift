import Files

/// A camera, as listed.
package struct CameraInfo: Hashable, Sendable {
    /// Its present node: "/dev/video0".
    package var node: String
    package var identity: CameraIdentity
    package var driver: String
    /// The names of its links in /dev/v4l/by-id and /dev/v4l/by-path.
    package var byID: [String] = []
    package var byPath: [String] = []
    /// Why it could not be queried or cannot be used, in one line.
    package var obstacle: String?

    /// A name that is stable across reboots.
    package var stableName: String {
        byID.first ?? (identity.bus.isEmpty ? byPath.first : identity.bus) ?? node
    }

    /// All names of the camera.
    package var names: [String] {
        var names = byID + byPath + [identity.bus, node]
        // The kernel's USB path: "1-1.2" of ".../1-1.2/1-1.2:1.0".
        if let part = identity.place.map(Path.name), part.contains(":") {
            names.append(String(part.prefix { $0 != ":" }))
        }
        return names.filter { !$0.isEmpty }
    }
}
