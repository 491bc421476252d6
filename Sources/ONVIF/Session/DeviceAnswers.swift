import Media
import XML

/// Reads the bodies of a camera's answers. Values that are missing or impossible are nil.
enum DeviceAnswers {
    /// Profiles of one camera; more are not listed.
    static let maximumProfiles = 16
    private static let maximumServices = 64
    private static let maximumTokenBytes = 256

    /// `GetSystemDateAndTimeResponse`: seconds since 1970, and whether NTP sets the clock.
    static func clock(_ body: XMLElement) -> (seconds: Int64, isSetByNTP: Bool?)? {
        guard let answer = body.child("SystemDateAndTime"),
            let utc = answer.child("UTCDateTime"), let date = utc.child("Date"),
            let time = utc.child("Time"), let year = number(date, "Year"),
            let month = number(date, "Month"), let day = number(date, "Day"),
            let hour = number(time, "Hour"), let minute = number(time, "Minute"),
            let second = number(time, "Second"),
            let civil = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        let isSetByNTP: Bool? =
            switch answer.text(of: "DateTimeType") {
            case "NTP": true
            case "Manual": false
            default: nil
            }
        return (civil.secondsSince1970, isSetByNTP)
    }

    /// `GetServicesResponse`: the media services, the preferred one first.
    /// - Parameter service: the device service, at whose host the others are, too.
    static func media(inServices body: XMLElement, beside service: DeviceURL) -> [DeviceMedia] {
        var found: [DeviceMedia] = []
        for stated in body.children.prefix(maximumServices) {
            for version in [DeviceMedia.Version.second, .first]
            where stated.text(of: "Namespace") == version.namespace
                && !found.contains(where: { $0.version == version })
            {
                if let url = url(stated.text(of: "XAddr"), beside: service) {
                    found.append(DeviceMedia(version: version, url: url))
                }
            }
        }
        return found.filter { $0.version == .second } + found.filter { $0.version == .first }
    }

    /// `GetCapabilitiesResponse`.
    static func media(
        inCapabilities body: XMLElement, beside service: DeviceURL
    ) -> DeviceMedia? {
        url(body.descendant("Capabilities", "Media", "XAddr")?.text, beside: service)
            .map { DeviceMedia(version: .first, url: $0) }
    }

    private static func url(_ text: String?, beside service: DeviceURL) -> DeviceURL? {
        guard let text else { return nil }
        do throws(ONVIFError) {
            return try DeviceURL(parsing: text).beside(service)
        } catch {
            return nil
        }
    }

    /// `GetProfilesResponse` of both versions.
    static func profiles(_ body: XMLElement) -> [DeviceProfile] {
        body.children.lazy.filter { $0.name == "Profiles" }.compactMap {
            element -> DeviceProfile? in
            guard let token = element.attributes["token"],
                (1...maximumTokenBytes).contains(token.utf8.count)
            else { return nil }
            let parts = element.child("Configurations")
            return DeviceProfile(
                token: token, name: shownText(element.text(of: "Name") ?? ""),
                video: (element.child("VideoEncoderConfiguration")
                    ?? parts?.child("VideoEncoder")).map(video),
                audio: (element.child("AudioEncoderConfiguration")
                    ?? parts?.child("AudioEncoder")).map(audio))
        }.prefix(maximumProfiles).map { $0 }
    }

    private static func video(_ element: XMLElement) -> DeviceProfile.Video {
        let size = element.child("Resolution")
        let limits = element.child("RateControl")
        let interval =
            number(element.child("H264"), "GovLength")
            ?? element.attributes["GovLength"].flatMap { number($0) }
        return DeviceProfile.Video(
            codec: codec(element), width: number(size, "Width") ?? 0,
            height: number(size, "Height") ?? 0,
            rate: limits?.text(of: "FrameRateLimit").flatMap(decimal),
            // In kbit/s (ONVIF Core Specification, tt:VideoRateControl).
            bitsPerSecond: number(limits, "BitrateLimit").map { $0 * 1_000 },
            keyframeInterval: interval)
    }

    private static func audio(_ element: XMLElement) -> DeviceProfile.Audio {
        // In kHz.
        let rate = element.text(of: "SampleRate").flatMap(decimal).map { Int($0 * 1_000) }
        return DeviceProfile.Audio(codec: codec(element), sampleRate: rate)
    }

    /// Version 1 has names of its own, version 2 those of media types.
    private static func codec(_ element: XMLElement) -> String {
        let name = shownText(element.text(of: "Encoding") ?? "", limit: 32)
        switch name.uppercased() {
        case "H264": return "H.264"
        case "H265", "HEVC": return "H.265"
        case "G711", "PCMU", "PCMA": return "G.711"
        case "AAC", "MP4A-LATM", "MPEG4-GENERIC": return "AAC"
        default: return name.isEmpty ? "unknown" : name
        }
    }

    /// `GetStreamUriResponse` of both versions.
    static func streamURI(_ body: XMLElement) -> String? {
        (body.descendant("MediaUri", "Uri") ?? body.child("Uri")).map { element in
            String(element.text.filter { !$0.isWhitespace })
        }
    }

    private static func number(_ element: XMLElement?, _ name: String) -> Int? {
        element?.text(of: name).flatMap { number($0) }
    }

    /// A number that fits in 31 bits.
    private static func number(_ text: String) -> Int? {
        guard let value = Int32(text.filter { !$0.isWhitespace }), value >= 0 else { return nil }
        return Int(value)
    }

    /// A positive number below a million.
    private static func decimal(_ text: String) -> Double? {
        guard text.utf8.count <= 16, let value = Double(text.filter { !$0.isWhitespace }),
            value > 0, value < 1_000_000
        else { return nil }
        return value
    }
}
