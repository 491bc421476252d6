import Devices
import Synchronization

/// How a pipeline finds its camera, which is known better once it was open: then it is that camera and no other. Any thread.
final class CameraLocator: Sendable {
    private let current: Mutex<CameraAddress>

    init(_ address: CameraAddress) {
        current = Mutex(address)
    }

    var address: CameraAddress {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
