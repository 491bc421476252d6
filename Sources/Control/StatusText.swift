import JSON
import Media
import Terminal
import Wire

/// Prints an agent's status.
enum StatusText {
    static func show(_ reply: CommandReply, of source: String, json: Bool) throws {
        guard case .status(let status) = reply else {
            throw Failure("unexpected answer from the agent: use the same version of all programs")
        }
        if json { return try JSONText.print(CaptureStatusDocument(status, of: source)) }
        if let line = absence(status, of: source) {
            print(line)
            // The rest of a capture that has ended.
            if status.keptBytes > 0 {
                print("  \(ByteCount(Int64(clamping: status.keptBytes))) kept on the box")
            }
            return
        }
        let state = state(status)
        let link = status.isConnected ? "connected" : "not connected"
        print(
            "\(oneLine(source)): \(state) (pictures: \(oneLine(status.video)), sound: "
                + "\(oneLine(status.audio))), \(link)")
        for line in status.descriptions { print("  \(oneLine(line))") }
        if status.isCapturing, status.size != nil {
            // Copied video has no configured bitrate.
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
            "  \(status.pictures) pictures, \(status.soundPackets) \(AudioCodec.list) packets, \(lost); "
                + "\(ByteCount(Int64(clamping: status.keptBytes))) kept on the box")
        for line in placement(status) { print("  \(line)") }
        for (collector, records) in status.held.sorted(by: { $0.key < $1.key }) {
            print("  \(records) records are held by \(oneLine(collector)) only")
        }
    }

    /// Whether the source is captured, and why not.
    static func state(_ status: CaptureStatus) -> String {
        guard status.isCapturing else { return "stopped" }
        return status.trouble.isEmpty ? "capturing" : oneLine(status.obstacle)
    }

    /// The line for a source that cannot be captured; nil: it is captured, or stopped by a command.
    static func absence(_ status: CaptureStatus, of source: String) -> String? {
        guard !status.trouble.isEmpty, !status.isCapturing else { return nil }
        return
            "\(oneLine(source)): \(oneLine(status.obstacle)) (pictures: \(oneLine(status.video)), "
            + "sound: \(oneLine(status.audio)))"
    }

    /// The source's collectors, the reason of its move, and the data kept for each.
    static func placement(_ status: CaptureStatus) -> [String] {
        // An agent of an earlier version does not report it.
        guard !status.collector.isEmpty else { return [] }
        let verb = status.isConnected ? "sent to" : "waiting for"
        var line = "\(verb) \(oneLine(status.collector))"
        if let second = status.second {
            let why = second.trouble.isEmpty ? "" : ": \(oneLine(second.trouble))"
            line += " and \(oneLine(second.endpoint))\(second.isConnected ? "" : " (away\(why))")"
        }
        if !status.moved.isEmpty { line += "; left \(oneLine(status.moved))" }
        let kept = status.owed.filter { $0.records > 0 }.map {
            "\(ByteCount(Int64(clamping: $0.bytes))) (\($0.records) records) kept for "
                + oneLine($0.collector)
        }
        guard !kept.isEmpty else { return [line] }
        let lasts = status.lastsSeconds.map {
            "; the spool lasts for \(duration($0))"
        }
        return [line, kept.joined(separator: ", ") + (lasts ?? "")]
    }

    private static func duration(_ seconds: UInt64) -> String {
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7_200 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
    }
}

/// Prints a camera's controls.
enum ControlsText {
    static func show(_ controls: [DeviceControl], json: Bool) throws {
        if json {
            return try JSONText.print(controls.map { DeviceControlDocument($0) })
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
