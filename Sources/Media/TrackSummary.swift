extension TrackFormat {
    /// One line: `video 1280×720 H.264`, `audio 48000 Hz stereo AAC`.
    package var summary: String {
        switch self {
        case .h264(let format):
            let turned = format.orientation == .upright ? "" : ", \(format.orientation)"
            return "video \(format.width)×\(format.height) H.264\(turned)"
        case .aac(let format):
            let channels =
                switch format.channels {
                case 1: "mono"
                case 2: "stereo"
                default: "\(format.channels) channels"
                }
            return "audio \(format.sampleRate) Hz \(channels) AAC"
        }
    }
}
