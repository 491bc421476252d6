import FFmpegSupport
import Files

/// A writable container. A new one is a constant here and, if it is written into files, an element of `files`.
package struct ContainerFormat: Hashable, Sendable, CustomStringConvertible {
    /// The name of libavformat's muxer.
    package let name: String
    /// The common name.
    package let description: String
    /// File extensions and other common names, the usual one first; empty: it is not written into files.
    private let names: [String]
    /// The type of its files in HTTP.
    package let mediaType: String
    /// Whether packets have times; in other containers they follow each other from the start.
    package let storesTimes: Bool
    /// The properties of pictures that libavformat's muxer writes.
    private let properties: Set<ContainerProperty>

    private init(
        _ name: String, _ description: String, _ names: [String] = [],
        _ mediaType: String = "application/octet-stream", storesTimes: Bool = true,
        properties: Set<ContainerProperty> = []
    ) {
        self.name = name
        self.description = description
        self.names = names
        self.mediaType = mediaType
        self.storesTimes = storesTimes
        self.properties = properties
    }

    private static let isoProperties: Set<ContainerProperty> = [
        .orientation, .pixelShape, .colour, .mastering, .lightLevel,
    ]
    private static let matroskaProperties: Set<ContainerProperty> = [
        .pixelShape, .colour, .mastering, .lightLevel, .projection, .stereoscopy,
    ]

    package static let mp4 = Self(
        "mp4", "MP4", ["mp4", "m4v", "m4a"], "video/mp4", properties: isoProperties)
    package static let mov = Self(
        "mov", "MOV", ["mov", "qt"], "video/quicktime", properties: isoProperties)
    package static let matroska = Self(
        "matroska", "Matroska", ["mkv", "mka", "matroska"], "video/matroska",
        properties: matroskaProperties)
    package static let webM = Self(
        "webm", "WebM", ["webm"], "video/webm", properties: matroskaProperties)
    package static let mpegTS = Self(
        "mpegts", "MPEG-TS", ["ts", "m2ts", "mts", "mpegts"], "video/mp2t")
    package static let flv = Self("flv", "FLV", ["flv"], "video/x-flv")
    package static let avi = Self(
        "avi", "AVI", ["avi"], "video/vnd.avi", storesTimes: false, properties: [.pixelShape])
    package static let ogg = Self("ogg", "Ogg", ["ogg", "opus"], "audio/ogg")
    package static let adts = Self(
        "adts", "ADTS", ["aac", "adts"], "audio/aac", storesTimes: false)
    package static let wav = Self(
        "wav", "WAV", ["wav"], "audio/vnd.wave", storesTimes: false)
    package static let rtsp = Self("rtsp", "RTSP")
    package static let rtpMPEGTS = Self("rtp_mpegts", "MPEG-TS")

    /// Containers of files.
    private static let files: [Self] = [
        .mp4, .mov, .matroska, .webM, .mpegTS, .flv, .avi, .ogg, .adts, .wav,
    ]

    /// Names of the containers for pictures, in one line.
    package static let pictureNames: String = {
        let names = files.filter { $0.mediaType.hasPrefix("video/") }.map(\.suffix)
        return "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
    }()

    /// The usual extension of its files, without a dot.
    package var suffix: String { names.first ?? name }

    /// The container with a common name: `mp4`, `mkv`, `ts`, …
    package init?(name: String) {
        let name = name.lowercased()
        guard let format = Self.files.first(where: { $0.names.contains(name) }) else {
            return nil
        }
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

    /// Whether it is MP4 or MOV, with exact times and edit lists.
    package var isISO: Bool { self == .mp4 || self == .mov }

    /// Whether libavformat's muxer writes a property of pictures.
    func states(_ property: ContainerProperty) -> Bool { properties.contains(property) }
}
