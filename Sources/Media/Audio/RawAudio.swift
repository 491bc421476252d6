/// The type of one sound sample.
package enum AudioSampleType: Hashable, Sendable {
    /// Unsigned 8-bit integers around 128.
    case unsigned8
    /// Native-endian signed integers.
    case signed16
    case signed32
    /// −1 … 1.
    case float
    case double

    /// Bytes of one sample of one channel.
    package var sizeBytes: Int {
        switch self {
        case .unsigned8: 1
        case .signed16: 2
        case .signed32, .float: 4
        case .double: 8
        }
    }
}

/// The memory layout of audio.
package struct AudioLayout: Hashable, Sendable {
    package var sampleType: AudioSampleType
    /// One plane per channel; otherwise one plane with the channels interleaved.
    package var isPlanar: Bool
    /// Frames per second.
    package var sampleRate: Int
    package var channels: Int

    package init(sampleType: AudioSampleType, isPlanar: Bool, sampleRate: Int, channels: Int) {
        self.sampleType = sampleType
        self.isPlanar = isPlanar
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// Distance between two frames of one plane, bytes.
    package var frameStrideBytes: Int { sampleType.sizeBytes * (isPlanar ? 1 : channels) }
}

/// Uncompressed audio, frames × channels: a view of memory that ``owner`` keeps alive.
// @unchecked: the planes are only read, and `owner` keeps them unchanged while it is referenced.
package struct RawAudio: @unchecked Sendable {
    package var layout: AudioLayout
    /// One entry per channel when planar (entries may be the same memory), else one.
    package var planes: [UnsafeRawPointer]
    /// A frame is one sample of every channel.
    package var frameCount: Int
    /// When the first frame was captured, nanoseconds of the agent's `CLOCK_MONOTONIC`.
    package var captureNanoseconds: Int64
    /// Keeps the planes alive.
    package let owner: any AnyObject & Sendable

    package init(
        layout: AudioLayout, planes: [UnsafeRawPointer], frameCount: Int, captureNanoseconds: Int64,
        owner: any AnyObject & Sendable
    ) {
        self.layout = layout
        self.planes = planes
        self.frameCount = frameCount
        self.captureNanoseconds = captureNanoseconds
        self.owner = owner
    }

    /// Without its first `count` frames; the capture time is adjusted.
    package func dropFirst(_ count: Int) -> RawAudio {
        let dropped = min(max(count, 0), frameCount)
        var rest = self
        rest.planes = planes.map { $0 + dropped * layout.frameStrideBytes }
        rest.frameCount = frameCount - dropped
        rest.captureNanoseconds += Int64(dropped) * 1_000_000_000 / Int64(layout.sampleRate)
        return rest
    }

    /// Its first `count` frames, or all of it.
    package func prefix(_ count: Int) -> RawAudio {
        var start = self
        start.frameCount = min(max(count, 0), frameCount)
        return start
    }
}
