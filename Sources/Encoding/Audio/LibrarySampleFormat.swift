import CFFmpeg
import Media

extension AudioLayout {
    /// The library's sample format.
    var libraryFormat: AVSampleFormat {
        switch (sampleType, isPlanar) {
        case (.unsigned8, false): AV_SAMPLE_FMT_U8
        case (.unsigned8, true): AV_SAMPLE_FMT_U8P
        case (.signed16, false): AV_SAMPLE_FMT_S16
        case (.signed16, true): AV_SAMPLE_FMT_S16P
        case (.signed32, false): AV_SAMPLE_FMT_S32
        case (.signed32, true): AV_SAMPLE_FMT_S32P
        case (.float, false): AV_SAMPLE_FMT_FLT
        case (.float, true): AV_SAMPLE_FMT_FLTP
        case (.double, false): AV_SAMPLE_FMT_DBL
        case (.double, true): AV_SAMPLE_FMT_DBLP
        }
    }

    /// The layout of a library frame; nil for an unsupported sample type.
    init?(_ frame: AVFrame) {
        let format = AVSampleFormat(frame.format)
        let type: AudioSampleType
        switch av_get_packed_sample_fmt(format) {
        case AV_SAMPLE_FMT_U8: type = .unsigned8
        case AV_SAMPLE_FMT_S16: type = .signed16
        case AV_SAMPLE_FMT_S32: type = .signed32
        case AV_SAMPLE_FMT_FLT: type = .float
        case AV_SAMPLE_FMT_DBL: type = .double
        default: return nil
        }
        guard frame.sample_rate > 0, frame.ch_layout.nb_channels > 0 else { return nil }
        self.init(
            sampleType: type, isPlanar: av_sample_fmt_is_planar(format) != 0,
            sampleRate: Int(frame.sample_rate), channels: Int(frame.ch_layout.nb_channels))
    }
}
