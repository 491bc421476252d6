/// Which camera it is, however the kernel numbers it today.
///
/// Nodes (`/dev/video0`) are numbered in the order in which cameras turn up. The socket that one is plugged into stays
/// what it is, and a serial number goes with the camera, if its makers gave it one of its own.
package struct CameraIdentity: Hashable, Sendable {
    /// The device's place in sysfs; nil where there is none.
    package var place: String?
    /// The driver's name for where it is: "usb-0000:00:14.0-1", "platform:vivid-000".
    package var bus: String
    /// Of the nodes that one device has, this one's number.
    package var index: Int
    /// What its makers call it.
    package var card: String
    /// USB's numbers for maker and product: "046d:0825".
    package var model: String?
    package var serial: String?

    package init(
        place: String?, bus: String, index: Int, card: String, model: String? = nil,
        serial: String? = nil
    ) {
        self.place = place
        self.bus = bus
        self.index = index
        self.card = card
        self.model = model
        self.serial = serial
    }

    /// The same make, as far as that is known.
    private func isAlike(_ other: CameraIdentity) -> Bool {
        card == other.card && model == other.model
    }

    /// Which of these cameras is this one: the one in the same socket, or else the only one with its serial number.
    ///
    /// The socket comes first, because many makers give all their cameras the same number. Another make in the same socket is
    /// another camera.
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
