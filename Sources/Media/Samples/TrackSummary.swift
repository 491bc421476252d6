extension TrackFormat {
    /// One line: `video 1280×720 H.264`, `audio 48000 Hz stereo AAC`.
    package var summary: String {
        switch self {
        case .video(let format):
            let turned = format.orientation == .upright ? "" : ", \(format.orientation)"
            return "video \(format.width)×\(format.height) \(format.codec)\(turned)"
        case .audio(let format):
            let channels =
                switch format.channels {
                case 1: "mono"
                case 2: "stereo"
                default: "\(format.channels) channels"
                }
            return "audio \(format.sampleRate) Hz \(channels) \(format.codec)"
        }
    }
}
