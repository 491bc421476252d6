import CFFmpeg
import Media

/// Converts audio of one layout to planar floats at another rate and channel count, through libswresample.
///
/// Output frame 0 has the time of input frame 0. Owns the handle; belongs to one thread.
struct AudioConverter: ~Copyable {
    /// Whether the ratio of the two rates can be changed during conversion.
    enum Pace {
        /// Fixed by the two layouts. Equal rates are not resampled.
        case fixed
        /// Set by ``AudioConverter/stretch(byPPB:)``.
        case adjustable
    }

    /// Number of output frames for which a stretch applies, unless another is set: longer than any chunk.
    private static let stretchedFrames: Int32 = 1 << 24

    let source: AudioLayout
    private let context: OpaquePointer

    init(
        from source: AudioLayout, toRate rate: Int, channels: Int, pace: Pace = .fixed
    ) throws(EncodingError) {
        var context: OpaquePointer?
        var from = AVChannelLayout()
        var to = AVChannelLayout()
        av_channel_layout_default(&from, Int32(source.channels))
        av_channel_layout_default(&to, Int32(channels))
        let allocated = swr_alloc_set_opts2(
            &context, &to, AV_SAMPLE_FMT_FLTP, Int32(rate), &from, source.libraryFormat,
            Int32(source.sampleRate), 0, nil)
        if pace == .adjustable, let context {
            // Any ratio at any time, with interpolation between the phases of the filter.
            let object = UnsafeMutableRawPointer(context)
            for (option, value) in [
                ("flags", Int64(SWR_FLAG_RESAMPLE)), ("exact_rational", 0), ("linear_interp", 1),
            ] {
                let result = av_opt_set_int(object, option, value, 0)
                precondition(result >= 0, "libswresample has no option \(option)")
            }
        }
        guard allocated >= 0, let context, swr_init(context) >= 0 else {
            swr_free(&context)
            throw .noConversion(
                from: "audio with \(source.channels) channels at \(source.sampleRate) Hz",
                to: "\(channels) channels at \(rate) Hz")
        }
        self.source = source
        self.context = context
    }

    deinit {
        var context: OpaquePointer? = context
        swr_free(&context)
    }

    /// Maximum number of frames that ``convert(_:into:)`` can return for this many.
    func maximumOutput(for frames: Int) -> Int {
        Int(max(0, swr_get_out_samples(context, Int32(frames))))
    }

    /// Buffered output frames, at the target's rate.
    func delay(atRate rate: Int) -> Int64 {
        swr_get_delay(context, Int64(rate))
    }

    /// Duration of the buffered audio, nanoseconds.
    var delayNanoseconds: Int64 { swr_get_delay(context, 1_000_000_000) }

    /// Increases the number of output frames by this much, from the next frames on; in steps of a millionth or less.
    ///
    /// - Precondition: its pace is adjustable.
    mutating func stretch(byPPB stretch: Double) {
        let frames = (stretch * 1e-9 * Double(Self.stretchedFrames)).rounded()
        let result = swr_set_compensation(context, Int32(frames), Self.stretchedFrames)
        precondition(result >= 0, "this converter has one pace")
    }

    /// Converts audio, or flushes the buffered audio if nil; returns the number of frames written.
    ///
    /// `output` has one pointer per channel with room for ``maximumOutput(for:)`` frames.
    mutating func convert(
        _ sound: RawAudio?, into output: [UnsafeMutablePointer<Float>], capacity: Int
    ) -> Int {
        var targets = output.map {
            Optional(UnsafeMutableRawPointer($0).assumingMemoryBound(to: UInt8.self))
        }
        guard let sound else {
            return Int(max(0, swr_convert(context, &targets, Int32(capacity), nil, 0)))
        }
        return withExtendedLifetime(sound.owner) {
            var sources = sound.planes.map {
                Optional($0.assumingMemoryBound(to: UInt8.self))
            }
            return Int(
                max(
                    0,
                    swr_convert(
                        context, &targets, Int32(capacity), &sources, Int32(sound.frameCount))))
        }
    }
}
