import Glibc

/// How a camera is found: by a name, and once it was open, by which camera it is.
package struct CameraAddress: Hashable, Sendable {
    /// "first", a node ("/dev/video0"), a link to one, the name of a link in /dev/v4l/by-id or by-path, or where it is
    /// plugged in ("usb-0000:00:14.0-1", "1-1.2").
    package let name: String
    /// Which camera it was.
    private var identity: CameraIdentity?

    package init(name: String) {
        self.name = name
    }

    /// The same, knowing which camera was found.
    package func found(_ camera: CameraInfo) -> CameraAddress {
        var result = self
        result.identity = identity ?? camera.identity
        return result
    }

    /// The camera's place among those that there are.
    package func place(among cameras: [CameraInfo]) -> Int? {
        if let identity { return identity.place(among: cameras.map(\.identity)) }
        if name == "first" {
            return cameras.firstIndex { $0.obstacle == nil } ?? cameras.indices.first
        }
        let node = name.hasPrefix("/") ? FileNames.resolved(name) ?? name : name
        return cameras.firstIndex { $0.names.contains(node) }
    }

    /// The camera, as it is plugged in at this moment.
    package func camera() throws(DeviceError) -> CameraInfo {
        var cameras = Cameras.list()
        let node = name.hasPrefix("/") ? FileNames.resolved(name) : nil
        // A container may have the node, and nothing of sysfs.
        if let node, !cameras.contains(where: { $0.node == node }),
            let info = Cameras.info(ofNode: node)
        {
            cameras.append(info)
        }
        if let place = place(among: cameras) { return cameras[place] }
        let names = cameras.map(\.stableName)
        if identity == nil, node != nil { throw .notACamera(name, available: names) }
        throw .noCamera(name, available: names)
    }
}
