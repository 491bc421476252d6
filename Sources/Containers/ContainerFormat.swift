import FFmpegSupport
import Files

/// A writable container, by the name of libavformat's muxer.
package struct ContainerFormat: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    private init(_ name: String) {
        self.name = name
    }

    package static let mp4 = ContainerFormat("mp4")
    package static let mov = ContainerFormat("mov")
    package static let matroska = ContainerFormat("matroska")
    package static let webM = ContainerFormat("webm")
    package static let mpegTS = ContainerFormat("mpegts")
    package static let flv = ContainerFormat("flv")
    package static let avi = ContainerFormat("avi")
    package static let ogg = ContainerFormat("ogg")
    package static let adts = ContainerFormat("adts")
    package static let wav = ContainerFormat("wav")
    package static let rtsp = ContainerFormat("rtsp")
    package static let rtpMPEGTS = ContainerFormat("rtp_mpegts")

    /// Common names, which are also file extensions.
    private static let byName: [String: ContainerFormat] = [
        "mp4": .mp4, "m4v": .mp4, "m4a": .mp4, "mov": .mov, "qt": .mov, "mkv": .matroska,
        "mka": .matroska, "matroska": .matroska, "webm": .webM, "ts": .mpegTS, "m2ts": .mpegTS,
        "mts": .mpegTS, "mpegts": .mpegTS, "flv": .flv, "avi": .avi, "ogg": .ogg, "opus": .ogg,
        "aac": .adts, "adts": .adts, "wav": .wav,
    ]

    /// Names of the containers for pictures, in one line.
    package static let pictureNames = "mp4, mov, mkv, webm, ts, flv or avi"

    /// The container with a common name: `mp4`, `mkv`, `ts`, …
    package init?(name: String) {
        guard let format = Self.byName[name.lowercased()] else { return nil }
        self = format
    }

    /// The container for a file's extension.
    package init?(path: String) {
        let file = Path.name(of: path)
        guard let dot = file.lastIndex(of: "."),
            let format = ContainerFormat(name: String(file[file.index(after: dot)...]))
        else { return nil }
        self = format
    }

    /// The container for a URL's scheme.
    package init?(url: String) {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else {
            return nil
        }
        switch url[..<colon].lowercased() {
        case "rtsp", "rtsps": self = .rtsp
        case "rtmp", "rtmps": self = .flv
        case "rtp": self = .rtpMPEGTS
        case "udp", "tcp", "srt", "http", "https", "unix": self = .mpegTS
        default: return nil
        }
    }

    /// The common name.
    package var description: String {
        switch self {
        case .mp4: "MP4"
        case .mov: "MOV"
        case .matroska: "Matroska"
        case .webM: "WebM"
        case .mpegTS, .rtpMPEGTS: "MPEG-TS"
        case .flv: "FLV"
        case .avi: "AVI"
        case .ogg: "Ogg"
        case .adts: "ADTS"
        case .wav: "WAV"
        case .rtsp: "RTSP"
        default: name
        }
    }

    /// Whether it is MP4 or MOV, with exact times and edit lists.
    package var isISO: Bool { self == .mp4 || self == .mov }

    /// Whether packets have times; in other containers they follow each other from the start.
    package var storesTimes: Bool { ![.avi, .adts, .wav].contains(self) }

    /// Whether libavformat's muxer writes a property of pictures.
    func states(_ property: ContainerProperty) -> Bool {
        switch property {
        case .orientation: isISO
        case .pixelShape: isISO || isMatroska || self == .avi
        case .colour, .mastering, .lightLevel: isISO || isMatroska
        case .projection, .stereoscopy: isMatroska
        }
    }

    private var isMatroska: Bool { self == .matroska || self == .webM }
}
