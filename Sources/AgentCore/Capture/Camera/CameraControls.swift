import Devices
import Wire

/// A camera's controls in the protocol's types.
///
/// The camera is opened for each request, which works during a capture, and after it was plugged in elsewhere.
struct CameraControls: ControlledDevice {
    private let place: CameraLocator

    init(_ place: CameraLocator) {
        self.place = place
    }

    func controls() throws(CaptureError) -> [DeviceControl] {
        do throws(DeviceError) {
            let desk = try CameraControlHandle(place.address.camera())
            return desk.controls().map(DeviceControl.init)
                + (Self.sensor(desk)?.controls ?? [])
        } catch {
            throw .source(error.description)
        }
    }

    func set(_ settings: [CaptureChange.Setting]) throws(CaptureError) {
        do throws(DeviceError) {
            let desk = try CameraControlHandle(place.address.camera())
            let area = settings.filter { SensorArea.has($0.name) }
            let wanted: CameraArea?
            do throws(CaptureError) {
                wanted = try area.isEmpty ? nil : Self.sensor(desk)?.with(area)
            } catch {
                throw .controlRefused(
                    place.address.name, control: area[0].name, reason: error.description)
            }
            try desk.set(
                settings.filter { !SensorArea.has($0.name) }.map { ($0.name, $0.value) })
            guard let wanted, let before = desk.crop(), before != wanted else { return }
            // Drivers round; an unchanged value is a refusal.
            if try desk.setCrop(wanted) == before {
                throw .controlRefused(
                    place.address.name, control: area[0].name,
                    reason: "the driver keeps the value \(before)")
            }
        } catch {
            throw .source(error.description)
        }
    }

    private static func sensor(_ desk: borrowing CameraControlHandle) -> SensorArea? {
        guard let area = desk.crop(), let whole = desk.wholeArea() else { return nil }
        return SensorArea(area, of: whole)
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
