import CFFmpeg
import FFmpegSupport
import Media

/// Memory of a graphics device that an encoder takes its pictures from; pictures are uploaded there.
///
/// Owns the device and the pool. Belongs to its encoder's thread.
final class HardwareSurfaces {
    /// Pictures on their way at once: one that is being encoded, one that is being filled, and what an encoder refers to.
    private static let poolSize: Int32 = 8

    let frames: UnsafeMutablePointer<AVBufferRef>
    private let encoder: String
    private let staging = FrameBox()

    /// Opens the device, where the family's encoders take their pictures from one; nil where they take any memory.
    init?(
        for settings: VideoEncoderSettings, _ family: EncoderFamily
    ) throws(EncodingError) {
        guard family == .vaapi else { return nil }
        encoder = settings.encoder
        var device: UnsafeMutablePointer<AVBufferRef>?
        var result: Int32 = 0
        let complaint = CodecLibrary.complaint {
            result = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, nil, nil, 0)
        }
        guard result >= 0, device != nil else {
            throw .encoderRefused(encoder, reason: complaint ?? "no device that libva can open")
        }
        // The pool keeps the device from here on.
        defer { av_buffer_unref(&device) }
        guard let frames = device.flatMap({ av_hwframe_ctx_alloc($0) }) else {
            preconditionFailure("out of memory")
        }
        frames.pointee.data.withMemoryRebound(to: AVHWFramesContext.self, capacity: 1) { pool in
            pool.pointee.format = AV_PIX_FMT_VAAPI
            pool.pointee.sw_format = av_get_pix_fmt(
                family.inputFormat(for: settings.pixelFormat).name)
            pool.pointee.width = Int32(settings.size.width)
            pool.pointee.height = Int32(settings.size.height)
            pool.pointee.initial_pool_size = Self.poolSize
        }
        self.frames = frames
        result = av_hwframe_ctx_init(frames)
        guard result >= 0 else {
            throw .encoderRefused(encoder, reason: libraryErrorText(result))
        }
    }

    deinit {
        var frames: UnsafeMutablePointer<AVBufferRef>? = frames
        av_buffer_unref(&frames)
    }

    /// Puts a surface with the same picture in the frame's place.
    func upload(_ frame: UnsafeMutablePointer<AVFrame>) throws(EncodingError) {
        var result = av_hwframe_get_buffer(frames, staging.frame, 0)
        if result >= 0 { result = av_hwframe_transfer_data(staging.frame, frame, 0) }
        if result >= 0 { result = av_frame_copy_props(staging.frame, frame) }
        guard result >= 0 else {
            av_frame_unref(staging.frame)
            throw .encodingFailed(
                encoder, atNanoseconds: 0, reason: libraryErrorText(result))
        }
        av_frame_unref(frame)
        av_frame_move_ref(frame, staging.frame)
    }
}

extension CodecHandle {
    /// Has the encoder take its pictures from there, if it needs to.
    func use(_ surfaces: HardwareSurfaces?) {
        guard let surfaces else { return }
        context.pointee.pix_fmt = AV_PIX_FMT_VAAPI
        context.pointee.hw_frames_ctx = av_buffer_ref(surfaces.frames)
    }
}
