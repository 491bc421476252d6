import Devices
import Wire

/// The area of the sensor that the driver scales to the picture's size, as four controls.
///
/// Unlike ``CaptureSettings/crop`` it does not change the format: it is a zoom, if the driver supports it.
struct SensorArea {
    /// The whole sensor.
    let whole: CameraArea
    /// The captured area.
    private(set) var area: CameraArea

    init(_ area: CameraArea, of whole: CameraArea) {
        self.area = area
        self.whole = whole
    }

    private enum Side: String, CaseIterable {
        case left = "sensor_left"
        case top = "sensor_top"
        case width = "sensor_width"
        case height = "sensor_height"

        var place: WritableKeyPath<CameraArea, Int> {
            switch self {
            case .left: \.left
            case .top: \.top
            case .width: \.width
            case .height: \.height
            }
        }

        func range(in whole: CameraArea) -> ClosedRange<Int> {
            switch self {
            case .left: whole.left...max(whole.left, whole.left + whole.width - 1)
            case .top: whole.top...max(whole.top, whole.top + whole.height - 1)
            case .width: 1...max(1, whole.width)
            case .height: 1...max(1, whole.height)
            }
        }
    }

    /// Whether a control is one of these.
    static func has(_ name: String) -> Bool { Side(rawValue: name) != nil }

    var controls: [DeviceControl] {
        Side.allCases.map { side in
            let range = side.range(in: whole)
            return DeviceControl(
                name: side.rawValue, label: side.rawValue, kind: .number,
                range: Int64(range.lowerBound)...Int64(range.upperBound), step: 1,
                defaultValue: Int64(whole[keyPath: side.place]),
                value: Int64(area[keyPath: side.place]))
        }
    }

    /// The same with other values, which are validated together.
    func with(_ settings: [CaptureChange.Setting]) throws(CaptureError) -> CameraArea {
        var wanted = area
        for side in Side.allCases {
            guard let setting = settings.last(where: { $0.name == side.rawValue }) else { continue }
            wanted[keyPath: side.place] = Int(clamping: setting.value)
        }
        guard wanted.width > 0, wanted.height > 0,
            wanted.left >= whole.left, wanted.left - whole.left <= whole.width - wanted.width,
            wanted.top >= whole.top, wanted.top - whole.top <= whole.height - wanted.height
        else {
            throw .settings(
                "the crop rectangle \(wanted) is not within the camera's sensor area \(whole): make it smaller"
            )
        }
        return wanted
    }
}
