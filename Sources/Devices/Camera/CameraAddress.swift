import Glibc

/// Address of a camera: its name, and once it was open, its identity.
package struct CameraAddress: Hashable, Sendable {
    /// "first", a node ("/dev/video0"), a link to one, the name of a link in /dev/v4l/by-id or by-path, or its USB path
    /// ("usb-0000:00:14.0-1", "1-1.2").
    package let name: String
    /// The camera that was opened.
    private var identity: CameraIdentity?

    package init(name: String) {
        self.name = name
    }

    /// The address with the identity of the opened camera.
    package func found(_ camera: CameraInfo) -> CameraAddress {
        var result = self
        result.identity = identity ?? camera.identity
        return result
    }

    /// The camera's index in a list.
    package func place(among cameras: [CameraInfo]) -> Int? {
        if let identity { return identity.place(among: cameras.map(\.identity)) }
        if name == "first" {
            return cameras.firstIndex { $0.obstacle == nil } ?? cameras.indices.first
        }
        let node = name.hasPrefix("/") ? FileNames.resolved(name) ?? name : name
        return cameras.firstIndex { $0.names.contains(node) }
    }

    /// The camera, at its present node.
    package func camera() throws(DeviceError) -> CameraInfo {
        var cameras = Cameras.list()
        let node = name.hasPrefix("/") ? FileNames.resolved(name) : nil
        // A container may have the node, but no sysfs.
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
