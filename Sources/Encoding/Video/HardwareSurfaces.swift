import CFFmpeg
import FFmpegSupport
import Media

/// Memory of a graphics device that an encoder reads pictures from; pictures are uploaded there.
///
/// Owns the device and the pool. Belongs to its encoder's thread.
final class HardwareSurfaces {
    /// Surfaces in use simultaneously: one being encoded, one being filled, and the encoder's references.
    private static let poolSize: Int32 = 8

    let frames: UnsafeMutablePointer<AVBufferRef>
    private let encoder: String
    private let staging = FrameBox()

    /// Opens the device, if the family's encoders need one; nil if they read main memory.
    init?(
        for settings: VideoEncoderSettings, _ family: EncoderFamily
    ) throws(EncodingError) {
        guard family == .vaapi else { return nil }
        encoder = settings.encoder
        var device: UnsafeMutablePointer<AVBufferRef>?
        var result: Int32 = 0
        let complaint = LibraryLog.complaint {
            result = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, nil, nil, 0)
        }
        guard result >= 0, device != nil else {
            throw .encoderRefused(encoder, reason: complaint ?? "no device that libva can open")
        }
        // The pool retains the device from here on.
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

    /// Replaces the frame by a surface with the same picture.
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
    /// Makes the encoder read from the surfaces, if it needs any.
    func use(_ surfaces: HardwareSurfaces?) {
        guard let surfaces else { return }
        context.pointee.pix_fmt = AV_PIX_FMT_VAAPI
        context.pointee.hw_frames_ctx = av_buffer_ref(surfaces.frames)
    }
}
