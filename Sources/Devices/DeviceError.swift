import Glibc
package import Media

/// Why a video or audio source cannot be used, or was lost.
package enum DeviceError: Error, Hashable, CustomStringConvertible {
    /// The file cannot be opened, or is no media file; `reason` is the system's or the library's.
    case cannotOpen(path: String, reason: String)
    /// The file has no such track.
    case noTrack(TrackKind, path: String)
    /// The file ends within a packet, or earlier than its header states.
    case truncated(path: String, atNanoseconds: Int64)
    /// Reading failed.
    case unreadable(path: String, atNanoseconds: Int64, reason: String)
    /// A time that does not fit in nanoseconds.
    case timeOutOfRange(path: String)
    /// No audio device has that name; `available` lists the devices.
    case noAudioDevice(String, available: [String])
    /// Another process uses the audio device; `holder` names it, if known.
    case soundDeviceBusy(String, holder: String?)
    /// This user may not use audio devices.
    case soundDeviceDenied(String)
    /// The audio device does not support the request.
    case soundDeviceRefused(String, reason: String)
    /// The audio device was disconnected.
    case soundDeviceLost(String, reason: String)
    /// No camera has that name; `available` lists the cameras.
    case noCamera(String, available: [String])
    /// The file or device exists, but is no capture device.
    case notACamera(String, available: [String])
    /// Another process uses the camera; `holder` names it, if known.
    case cameraBusy(String, holder: String?)
    /// This user may not use the camera.
    case cameraDenied(String)
    /// The camera does not support the request.
    case cameraRefused(String, reason: String)
    /// The camera's login is missing or wrong. Many cameras lock the account after a few attempts.
    case cameraLoginRefused(String, reason: String)
    /// The camera was disconnected.
    case cameraLost(String, reason: String)
    /// One or several controls of a camera could not be set.
    case controlRefused(String, control: String, reason: String)

    /// Whether this process itself uses the device.
    package var isHeldHere: Bool {
        switch self {
        case .soundDeviceBusy(_, let holder), .cameraBusy(_, let holder):
            holder == Holders.name(ofProcess: "\(getpid())")
        case .cannotOpen, .noTrack, .truncated, .unreadable, .timeOutOfRange, .noAudioDevice,
            .soundDeviceDenied, .soundDeviceRefused, .soundDeviceLost, .noCamera, .notACamera,
            .cameraDenied, .cameraRefused, .cameraLoginRefused, .cameraLost, .controlRefused:
            false
        }
    }

    package var description: String {
        switch self {
        case .cannotOpen(let path, let reason):
            "cannot use \(path): \(reason)"
        case .noTrack(let kind, let path):
            "\(path) has no \(kind) track"
        case .truncated(let path, let time):
            "\(path) is truncated: its data ends at \(seconds(time)), before its nominal end"
        case .unreadable(let path, let time, let reason):
            "cannot read \(path) past \(seconds(time)): \(reason)"
        case .timeOutOfRange(let path):
            "\(path) has a timestamp that is out of range: set its timestamps again with ffmpeg -i FILE -c copy NEW.mkv"
        case .noAudioDevice(let name, let available):
            "there is no audio device \"\(name)\"; "
                + (available.isEmpty
                    ? "this machine has no capture device: plug one in, or use test, file:PATH or none"
                    : "use one of \(available.joined(separator: ", "))")
        case .soundDeviceBusy(let name, let holder):
            "the audio device \(name) is busy: \(holder ?? "another program") uses it; stop that "
                + "program, or use another device"
        case .soundDeviceDenied(let name):
            "no permission to use the audio device \(name): add this user to the group audio "
                + "(usermod -aG audio USER), and log in again"
        case .soundDeviceRefused(let name, let reason):
            "the audio device \(name) cannot be used: \(reason)"
        case .soundDeviceLost(let name, let reason):
            "the audio device \(name) is disconnected: \(reason)"
        case .noCamera(let name, let available):
            "there is no camera \"\(name)\"; \(Self.cameras(available))"
        case .notACamera(let name, let available):
            "\(name) is not a camera; \(Self.cameras(available))"
        case .cameraBusy(let name, let holder):
            "the camera \(name) is busy: \(holder ?? "another program") uses it; stop that program, "
                + "or use another camera"
        case .cameraDenied(let name):
            "no permission to use the camera \(name): add this user to the group video "
                + "(usermod -aG video USER), and log in again"
        case .cameraRefused(let name, let reason), .cameraLoginRefused(let name, let reason):
            "the camera \(name) cannot be used: \(reason)"
        case .cameraLost(let name, let reason):
            "the camera \(name) is disconnected: \(reason)"
        case .controlRefused(let name, let control, let reason):
            "\(control) of the camera \(name) cannot be set: \(reason)"
        }
    }

    private static func cameras(_ available: [String]) -> String {
        available.isEmpty
            ? "this machine has no camera: plug one in, or use test, file:PATH or none"
            : "use one of \(available.joined(separator: ", ")) ('tributary-agent devices' lists details)"
    }

    private func seconds(_ nanoseconds: Int64) -> String {
        let milliseconds = nanoseconds.magnitude / 1_000_000
        let rest = "\(1000 + milliseconds % 1000)".dropFirst()
        return "\(nanoseconds < 0 ? "-" : "")\(milliseconds / 1000).\(rest) s"
    }
}
