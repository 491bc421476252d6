import Media
import Terminal
import Wire

/// Shows how an agent does.
enum StatusText {
    private struct Output: Encodable {
        struct Crop: Encodable {
            var x: Int
            var y: Int
            var width: Int
            var height: Int
        }

        var source: String
        var isCapturing: Bool
        var isConnected: Bool
        var video: String
        var audio: String
        var descriptions: [String]
        var width: Int?
        var height: Int?
        var videoBitsPerSecond: UInt64
        var crop: Crop?
        var rotation: Int
        var isMirrored: Bool
        var pictures: UInt64
        var soundPackets: UInt64
        var lostSamples: UInt64
        var keptBytes: UInt64
        var software: String

        init(_ status: CaptureStatus, of source: String) {
            self.source = source
            isCapturing = status.isCapturing
            isConnected = status.isConnected
            video = status.video
            audio = status.audio
            descriptions = status.descriptions
            width = status.size?.width
            height = status.size?.height
            videoBitsPerSecond = status.videoBitrate
            crop = status.crop.map {
                Crop(x: $0.x, y: $0.y, width: $0.size.width, height: $0.size.height)
            }
            rotation = status.orientation.rotation.rawValue
            isMirrored = status.orientation.isMirrored
            pictures = status.pictures
            soundPackets = status.soundPackets
            lostSamples = status.lostSamples
            keptBytes = status.keptBytes
            software = status.software
        }
    }

    /// Prints an agent's answer about itself.
    static func show(_ reply: CommandReply, of source: String, json: Bool) throws {
        guard case .status(let status) = reply else {
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        }
        if json { return try JSONText.print(Output(status, of: source)) }
        let state = status.isCapturing ? "capturing" : "stopped"
        let link = status.isConnected ? "connected" : "not connected"
        print(
            "\(oneLine(source)): \(state) (pictures: \(oneLine(status.video)), sound: "
                + "\(oneLine(status.audio))), \(link)")
        for line in status.descriptions { print("  \(oneLine(line))") }
        if status.isCapturing, status.size != nil {
            // What is copied has no bitrate that was asked for.
            let rate =
                status.videoBitrate == 0
                ? "" : " at \(Bitrate(bitsPerSecond: Int64(clamping: status.videoBitrate)))"
            let part = status.crop.map { ", crop \($0)" } ?? ""
            let turned = status.orientation == .upright ? "" : ", \(status.orientation)"
            if !(rate + part + turned).isEmpty {
                let words = "pictures\(rate)\(part)\(turned)"
                print("  \(words.replacing("pictures,", with: "pictures:"))")
            }
        }
        let lost = status.lostSamples == 0 ? "nothing lost" : "\(status.lostSamples) samples lost"
        print(
            "  \(status.pictures) pictures, \(status.soundPackets) AAC packets, \(lost); "
                + "\(ByteCount(Int64(clamping: status.keptBytes))) kept on the box")
    }
}

/// Shows what can be set at a camera.
enum ControlsText {
    private struct Output: Encodable {
        struct Choice: Encodable {
            var value: Int64
            var label: String
        }

        var name: String
        var label: String
        var kind: String
        var minimum: Int64
        var maximum: Int64
        var step: Int64
        var defaultValue: Int64
        var value: Int64
        var choices: [Choice]
        var isInactive: Bool
        var isReadOnly: Bool
    }

    static func show(_ controls: [DeviceControl], json: Bool) throws {
        if json {
            return try JSONText.print(
                controls.map {
                    Output(
                        name: $0.name, label: $0.label, kind: "\($0.kind)",
                        minimum: $0.range.lowerBound, maximum: $0.range.upperBound, step: $0.step,
                        defaultValue: $0.defaultValue, value: $0.value,
                        choices: $0.choices.map { .init(value: $0.value, label: $0.label) },
                        isInactive: $0.isInactive, isReadOnly: $0.isReadOnly)
                })
        }
        for control in controls { print(line(control)) }
    }

    private static func line(_ control: DeviceControl) -> String {
        var text = "\(oneLine(control.name))"
        switch control.kind {
        case .button: text += "  (a button)"
        case .toggle: text += " = \(control.value == 0 ? "off" : "on")"
        case .menu:
            text += " = \(control.value)"
            let choices = control.choices.map { "\($0.value) \(oneLine($0.label))" }
            text += "  (\(choices.joined(separator: ", ")))"
        case .number, .other:
            text +=
                " = \(control.value)  (\(control.range.lowerBound) to \(control.range.upperBound)"
            if control.step > 1 { text += " by \(control.step)" }
            text += ", default \(control.defaultValue))"
        }
        if control.isReadOnly { text += ", read-only" }
        if control.isInactive { text += ", inactive: overridden by another control" }
        return text
    }
}

/// JSON for scripts.
package enum JSONText {
    package static func print(_ value: some Encodable) throws {
        try JSONOutput.print(value)
    }
}
