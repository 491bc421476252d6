import Media
import ONVIF
import RTSP
import Terminal
import Wire

extension DeviceReport {
    struct NetworkCamera: Encodable {
        var host: String
        var name: String?
        var manufacturer: String?
        var model: String?
        var firmware: String?
        var serial: String?
        /// Address of its ONVIF device service.
        var service: String?
        var clock: Clock?
        var streams: [Stream]
        /// Why something is missing.
        var obstacle: String?
    }

    struct Clock: Encodable {
        /// The camera's time, RFC 3339.
        var stated: String
        /// "right", "ahead", "behind" or "neverSet".
        var verdict: String
        var aheadNanoseconds: Range
        var isSetByNTP: Bool?

        struct Range: Encodable {
            var least: Int64
            var greatest: Int64
        }
    }

    /// Options of the printed commands.
    struct RecordingOptions {
        /// `--camera-login`.
        var login: [String]
        /// For streams over TLS.
        var trust: [String]
    }

    struct Stream: Encodable {
        var name: String
        var codec: String?
        var width: Int?
        var height: Int?
        /// Pictures per second.
        var rate: Double?
        var bitsPerSecond: Int?
        /// Pictures from a keyframe to the next.
        var keyframeInterval: Int?
        var sound: String?
        var url: String?
        /// The command that records it; nil if an agent cannot.
        var command: String?
        /// Why it has no URL.
        var obstacle: String?
    }
}

extension DeviceReport.NetworkCamera {
    /// - Parameters:
    ///   - facts: nil: it was not asked.
    ///   - name: for `--source`.
    ///   - options: of the printed commands.
    init(
        _ device: DiscoveredDevice, _ facts: DeviceFacts?, name: String,
        options: DeviceReport.RecordingOptions
    ) {
        let unreachable =
            "it states no address that can be used: it must begin with http:// or https://"
        self.init(
            host: device.host, name: device.name, manufacturer: facts?.manufacturer,
            model: facts?.model ?? device.hardware, firmware: facts?.firmware,
            serial: facts?.serial, service: device.service?.text,
            clock: facts?.clock.map(DeviceReport.Clock.init),
            streams: Self.streams(facts?.profiles ?? [], name, options),
            obstacle: facts == nil ? unreachable : facts?.problem)
    }

    /// The printed commands can run at the same time: each stream is another source.
    private static func streams(
        _ profiles: [DeviceProfile], _ name: String, _ options: DeviceReport.RecordingOptions
    ) -> [DeviceReport.Stream] {
        var recordable = 0
        return profiles.map { profile in
            if profile.isRecordable { recordable += 1 }
            let source = recordable > 1 ? "\(name)-\(recordable)" : name
            return DeviceReport.Stream(profile, source: source, options: options)
        }
    }
}

extension DeviceReport.Clock {
    init(_ clock: DeviceClock) {
        let time = CivilTime(secondsSince1970: clock.statedSeconds)
        let verdict =
            switch clock.verdict {
            case .neverSet: "neverSet"
            case .ahead: "ahead"
            case .behind: "behind"
            case .right: "right"
            }
        self.init(
            stated: "\(time.date)T\(time.clock)Z", verdict: verdict,
            aheadNanoseconds: Range(
                least: clock.leastAheadNanoseconds, greatest: clock.greatestAheadNanoseconds),
            isSetByNTP: clock.isSetByNTP)
    }
}

extension DeviceReport.Stream {
    init(_ profile: DeviceProfile, source: String, options: DeviceReport.RecordingOptions) {
        let video = profile.video
        self.init(
            name: profile.name.isEmpty ? shellSafe(profile.token) : profile.name,
            codec: video?.codec, width: video.flatMap { $0.width > 0 ? $0.width : nil },
            height: video.flatMap { $0.height > 0 ? $0.height : nil }, rate: video?.rate,
            bitsPerSecond: video?.bitsPerSecond, keyframeInterval: video?.keyframeInterval,
            sound: profile.audio?.codec, url: profile.url?.argument, command: nil,
            obstacle: profile.obstacle)
        guard profile.isRecordable, let url = profile.url else { return }
        var words = ["tributary-agent", "--source", source, "--video", url.argument]
        words += options.login
        if url.isSecure { words += options.trust }
        command = words.map(shellWord).joined(separator: " ")
    }
}

private func shellSafe(_ token: String) -> String {
    String(token.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
}

/// Names for the sources of found cameras, each given once.
struct NetworkSourceNames {
    private var used: Set<String> = []

    /// A name made of the camera's model and address.
    mutating func next(for device: DiscoveredDevice, _ facts: DeviceFacts?) -> String {
        let place = device.host.split { $0 == "." || $0 == ":" }.suffix(2).joined(separator: "-")
        let kind = facts?.model ?? device.hardware ?? device.name ?? "camera"
        let text = "\(kind)-\(place)".lowercased().map { letter in
            letter.isASCII && (letter.isLetter || letter.isNumber) ? letter : "-"
        }
        let words = String(text).split(separator: "-").joined(separator: "-")
        let base = String(words.suffix(WireLimits.nameBytes - 8))
        let start = base.drop { $0 == "-" }
        let name = SourceName.isValid(String(start)) ? String(start) : "camera"
        var unique = name
        var number = 2
        while !used.insert(unique).inserted {
            unique = "\(name)-\(number)"
            number += 1
        }
        return unique
    }
}
