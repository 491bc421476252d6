import Terminal

/// The report as text.
extension DeviceReport {
    var lines: [String] {
        var lines: [String] = []
        lines += cameras.isEmpty ? ["no cameras"] : ["cameras (--video)"]
        lines += cameras.flatMap(\.lines)
        lines.append("")
        lines += microphones.isEmpty ? ["no microphones"] : ["microphones (--audio)"]
        lines += microphones.flatMap(\.lines)
        if let networkCameras {
            lines.append("")
            lines += [
                networkCameras.isEmpty ? "no cameras on the network" : "cameras on the network"
            ]
            lines += networkCameras.flatMap(\.lines)
        }
        return lines
    }
}

extension DeviceReport.Camera {
    /// Maximum number of pixel formats on a line.
    private static let mostCodes = 8

    fileprivate var lines: [String] {
        var lines = ["  \(name)"]
        let places = [node, bus].filter { $0 != name && !$0.isEmpty }
        lines.append(
            "      \(([card + (driver.isEmpty ? "" : " (\(driver))")] + places).joined(separator: ", "))"
        )
        if let obstacle { lines.append("      not usable: \(obstacle)") }
        for group in groups {
            let shown = group.codes.prefix(Self.mostCodes).joined(separator: ", ")
            let more = group.codes.count - Self.mostCodes
            lines.append("      \(shown)\(more > 0 ? " and \(more) more formats" : "")")
            lines.append("          \(group.sizes.map(\.text).joined(separator: ", "))")
        }
        if !controls.isEmpty {
            lines.append("      controls (details with --json)")
            lines.append("          \(controls.map(\.text).joined(separator: ", "))")
        }
        if !heldBy.isEmpty { lines.append("      in use by \(heldBy.joined(separator: ", "))") }
        return lines
    }

    /// Formats that have the same sizes and rates.
    private var groups: [(codes: [String], sizes: [DeviceReport.Size])] {
        var groups: [(codes: [String], sizes: [DeviceReport.Size])] = []
        for format in formats {
            if let place = groups.firstIndex(where: { $0.sizes == format.sizes }) {
                groups[place].codes.append(format.format)
            } else {
                groups.append(([format.format], format.sizes))
            }
        }
        return groups
    }
}

extension DeviceReport.Size {
    /// "640×360 to 40 fps".
    fileprivate var text: String {
        let fastest = rates.max().map { " to \(decimal($0)) fps" } ?? ""
        return "\(width)×\(height)\(fastest)"
    }
}

extension DeviceReport.Control {
    /// "brightness 128".
    fileprivate var text: String {
        value.map { "\(name) \($0)" } ?? name
    }
}

extension DeviceReport.NetworkCamera {
    fileprivate var lines: [String] {
        let kind = [manufacturer, model].compactMap { $0 }.joined(separator: " ")
        let parts = [kind.isEmpty ? nil : kind, name, serial.map { "serial number \($0)" }]
        var lines = ["  \(host)"]
        let text = parts.compactMap { $0 }.joined(separator: ", ")
        if !text.isEmpty { lines.append("      \(text)") }
        if let clock { lines.append("      \(clock.text)") }
        for stream in streams { lines += stream.lines }
        if let obstacle { lines.append("      not usable: \(obstacle)") }
        return lines
    }
}

extension DeviceReport.Clock {
    fileprivate var text: String {
        let ntp =
            isSetByNTP.map { $0 ? ", set by NTP" : ", not set by NTP" } ?? ""
        let bounds =
            "\(Self.seconds(aheadNanoseconds.least)) to \(Self.seconds(aheadNanoseconds.greatest)) s"
        return switch verdict {
        case "neverSet": "clock: never set, it shows \(stated)\(ntp)"
        case "right": "clock: right\(ntp)"
        case "ahead": "clock: ahead by \(bounds)\(ntp)"
        default: "clock: behind by \(behind) s\(ntp)"
        }
    }

    private var behind: String {
        "\(Self.seconds(-aheadNanoseconds.greatest)) to \(Self.seconds(-aheadNanoseconds.least))"
    }

    private static func seconds(_ nanoseconds: Int64) -> Int64 { nanoseconds / 1_000_000_000 }
}

extension DeviceReport.Stream {
    fileprivate var lines: [String] {
        var parts = [codec ?? "no video"]
        if let width, let height { parts.append("\(width)×\(height)") }
        if let rate { parts.append("to \(decimal(rate)) fps") }
        if let bitsPerSecond { parts.append("to \(bitsPerSecond / 1_000) kbit/s") }
        if let keyframeInterval { parts.append("keyframe every \(keyframeInterval) pictures") }
        if let sound { parts.append("sound \(sound)") }
        var lines = ["      \(name): \(parts.joined(separator: ", "))"]
        if let command {
            lines.append("          \(command)")
        } else if let url {
            lines.append("          cannot be recorded; \(url)")
        }
        if let obstacle { lines.append("          not usable: \(obstacle)") }
        return lines
    }
}

extension DeviceReport.Microphone {
    fileprivate var lines: [String] {
        var lines = ["  \(name)", "      \(card)"]
        if let obstacle { lines.append("      not usable now: \(obstacle)") }
        if let least = channelsMinimum, let most = channelsMaximum {
            let channels = least == most ? "\(least)" : "\(least) to \(most)"
            let rates = sampleRates.map { "\($0)" }.joined(separator: ", ")
            lines.append(
                "      \(channels) \(most == 1 ? "channel" : "channels"), \(rates) Hz, "
                    + formats.joined(separator: ", "))
        }
        if !heldBy.isEmpty { lines.append("      in use by \(heldBy.joined(separator: ", "))") }
        return lines
    }
}
