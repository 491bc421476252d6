import Devices
import Synchronization

/// Finds a pipeline's camera. Once it was open, only that same camera is accepted. Any thread.
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
