import Devices

/// A capture could not start: one line with the reason and what to do.
package enum CaptureError: Error, Hashable, CustomStringConvertible {
    /// Settings that contradict each other or cannot be met.
    case settings(String)
    /// A file that is unusable with these settings.
    case source(String)
    /// A camera that refuses the login.
    case login(String)
    /// A device that this process already has open.
    case heldHere(String)
    /// An encoder or decoder that cannot be opened.
    case codec(String)
    /// The capture was stopped before it began.
    case stopped

    package var description: String {
        switch self {
        case .settings(let text), .source(let text), .login(let text), .heldHere(let text),
            .codec(let text):
            text
        case .stopped: "stopped before the capture began: nothing was recorded"
        }
    }

    /// Why a device could not be opened.
    init(_ error: DeviceError) {
        if case .cameraLoginRefused = error {
            self = .login(error.description)
        } else {
            self = error.isHeldHere ? .heldHere(error.description) : .source(error.description)
        }
    }
}
