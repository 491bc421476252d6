package import CFFmpeg
package import Media

extension VideoCodec {
    /// The codec with libavcodec's number; nil unless recordings can have it.
    package init?(_ id: AVCodecID) {
        self.init(libraryName: String(cString: avcodec_get_name(id)))
    }
}

extension AudioCodec {
    /// The codec with libavcodec's number; nil unless recordings can have it.
    package init?(_ id: AVCodecID) {
        self.init(libraryName: String(cString: avcodec_get_name(id)))
    }
}
