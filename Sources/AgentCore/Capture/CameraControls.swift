import Devices
import Wire

/// What can be set at a camera, in the protocol's words.
///
/// The camera is opened anew for each question: that works while the lane captures from it, and finds it wherever it is plugged
/// in by now.
struct CameraControls: ControlledDevice {
    private let address: CameraAddress

    init(_ address: CameraAddress) {
        self.address = address
    }

    func controls() throws(CaptureError) -> [DeviceControl] {
        do throws(DeviceError) {
            let desk = try CameraDesk(address.camera())
            return desk.controls().map(DeviceControl.init)
        } catch {
            throw .source(error.description)
        }
    }

    func set(_ settings: [CaptureChange.Setting]) throws(CaptureError) {
        do throws(DeviceError) {
            let desk = try CameraDesk(address.camera())
            try desk.set(settings.map { ($0.name, $0.value) })
        } catch {
            throw .source(error.description)
        }
    }
}

extension DeviceControl {
    fileprivate init(_ control: CameraControl) {
        var kind = Kind.other
        var choices: [Choice] = []
        switch control.kind {
        case .integer: kind = .number
        case .boolean: kind = .toggle
        case .button: kind = .button
        case .bitmask: kind = .other
        case .menu(let entries):
            kind = .menu
            choices = entries.map { Choice(value: $0.value, label: $0.name) }
        }
        self.init(
            name: control.name, label: control.name, kind: kind,
            range: control.minimum...max(control.minimum, control.maximum),
            step: Int64(clamping: control.step), defaultValue: control.usual,
            value: control.value ?? control.usual)
        self.choices = choices
        isInactive = control.isInactive
        isReadOnly = control.isReadOnly
    }
}
