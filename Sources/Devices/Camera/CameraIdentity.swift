/// Identifies a camera independently of the kernel's numbering.
///
/// Nodes (`/dev/video0`) are numbered in the order in which cameras are detected. The position in sysfs depends only on
/// the port. A serial number identifies the camera, if the vendor gave it a unique one.
package struct CameraIdentity: Hashable, Sendable {
    /// The device's path in sysfs; nil without one.
    package var place: String?
    /// The driver's name for its port: "usb-0000:00:14.0-1", "platform:vivid-000".
    package var bus: String
    /// The number of this node among those of one device.
    package var index: Int
    /// The vendor's name.
    package var card: String
    /// USB vendor and product ID: "046d:0825".
    package var model: String?
    package var serial: String?

    /// Whether the models are the same, as far as known.
    private func isAlike(_ other: CameraIdentity) -> Bool {
        card == other.card && model == other.model
    }

    /// The index of this camera in a list: the one in the same port, or else the only one with its serial number.
    ///
    /// The port takes precedence, because many vendors give all cameras the same serial number. Another model in the
    /// same port is another camera.
    package func place(among others: [CameraIdentity]) -> Int? {
        let here = others.firstIndex {
            isAlike($0) && $0.place == place && $0.bus == bus && $0.index == index
        }
        if let here, others[here].serial == serial { return here }
        let namesakes = others.indices.filter {
            serial != nil && others[$0].serial == serial && others[$0].index == index
                && isAlike(others[$0])
        }
        if namesakes.count == 1 { return namesakes[0] }
        return nil
    }
}
