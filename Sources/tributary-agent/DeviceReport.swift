import AgentCore
import Devices
import Media

/// Output of `tributary-agent devices`; its JSON is an interface for other programs.
struct DeviceReport: Encodable {
    var cameras: [Camera]
    var microphones: [Microphone]
    /// With `--network` or `--camera`.
    var networkCameras: [NetworkCamera]?

    struct Camera: Encodable {
        /// For `--video`.
        var name: String
        var card: String
        var driver: String
        var node: String
        var bus: String
        var byID: [String]
        var byPath: [String]
        var model: String?
        var serial: String?
        var formats: [Format]
        var controls: [Control]
        var heldBy: [String]
        var obstacle: String?
    }

    struct Format: Encodable {
        var format: String
        var description: String
        var sizes: [Size]
    }

    struct Size: Encodable, Equatable {
        var width: Int
        var height: Int
        /// Pictures per second, the fastest first; two are the ends of a range.
        var rates: [Double]
        var isRange: Bool
    }

    struct Control: Encodable {
        var name: String
        var kind: String
        var minimum: Int64
        var maximum: Int64
        var step: UInt64
        var usual: Int64
        var value: Int64?
        var choices: [Choice]?
        var isReadOnly: Bool
        var isInactive: Bool
    }

    struct Choice: Encodable {
        var value: Int64
        var name: String
    }

    struct Microphone: Encodable {
        /// For `--audio`.
        var name: String
        var card: String
        var place: String?
        var sampleRates: [Int]
        var channelsMinimum: Int?
        var channelsMaximum: Int?
        var formats: [String]
        var heldBy: [String]
        var obstacle: String?
    }

    static func ofThisMachine() -> DeviceReport {
        DeviceReport(
            cameras: Cameras.list().map(Camera.init),
            microphones: AudioCards.list().map(Microphone.init))
    }
}

extension DeviceReport.Camera {
    init(_ info: CameraInfo) {
        let abilities = Cameras.abilities(
            of: info, interestingSizes: SizePreset.allCases.map(\.size))
        self.init(
            name: info.stableName, card: info.identity.card, driver: info.driver, node: info.node,
            bus: info.identity.bus, byID: info.byID, byPath: info.byPath,
            model: info.identity.model, serial: info.identity.serial,
            formats: (abilities?.formats ?? []).map(DeviceReport.Format.init),
            controls: Cameras.controls(of: info).map(DeviceReport.Control.init),
            heldBy: Cameras.holders(ofNode: info.node), obstacle: info.obstacle)
    }
}

extension DeviceReport.Format {
    init(_ format: CameraFormat) {
        self.init(
            format: "\(format.code)", description: format.name,
            sizes: format.sizes.map(DeviceReport.Size.init))
    }
}

extension DeviceReport.Size {
    init(_ size: CameraSize) {
        func number(_ rate: FrameRate) -> Double {
            let thousandths = Double(rate.numerator) * 1000 / Double(rate.denominator)
            return thousandths.rounded() / 1000
        }
        let rates: [FrameRate]
        var isRange = false
        switch size.rates {
        case .some(let list): rates = list.sorted().reversed()
        case .between(let slowest, let fastest):
            rates = [fastest, slowest]
            isRange = true
        case .unknown: rates = []
        }
        self.init(
            width: size.size.width, height: size.size.height, rates: rates.map(number),
            isRange: isRange)
    }
}

extension DeviceReport.Control {
    init(_ control: CameraControl) {
        var choices: [DeviceReport.Choice]?
        if case .menu(let entries) = control.kind {
            choices = entries.map { DeviceReport.Choice(value: $0.value, name: $0.name) }
        }
        self.init(
            name: control.name, kind: control.kind.word, minimum: control.minimum,
            maximum: control.maximum, step: control.step, usual: control.usual,
            value: control.value, choices: choices, isReadOnly: control.isReadOnly,
            isInactive: control.isInactive)
    }
}

extension DeviceReport.Microphone {
    init(_ info: AudioDeviceInfo) {
        self.init(
            name: info.id, card: info.name, place: info.place,
            sampleRates: info.abilities?.sampleRates ?? [],
            channelsMinimum: info.abilities?.channels.lowerBound,
            channelsMaximum: info.abilities?.channels.upperBound,
            formats: info.abilities?.formats ?? [], heldBy: AudioCards.holders(of: info.id),
            obstacle: info.obstacle)
    }
}
