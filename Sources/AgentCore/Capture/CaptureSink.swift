package import Encoding
package import Media

/// The cause of missing samples.
package enum CaptureLossCause: Hashable, Sendable {
    /// The encoder, or the generator of test pictures, was too slow.
    case encoderOverload
    /// The source's data was damaged.
    case damagedInput
    /// The device dropped samples.
    case driverDrop
    /// The sound device's buffer overflowed.
    case overrun
    /// The device was missing.
    case deviceLost
    /// A command stopped the capture or changed the device.
    case command
    /// The network between a camera and this box lost packets.
    case packetLoss
}

/// Samples that were due and are missing.
package struct CaptureLoss: Hashable, Sendable {
    package var track: TrackKind
    package var cause: CaptureLossCause
    /// When the first lost sample was due, nanoseconds of `CLOCK_MONOTONIC`.
    package var startNanoseconds: Int64
    package var durationNanoseconds: Int64
    /// Number of lost samples; 0: unknown.
    package var samples: Int
    /// A human-readable line.
    package var text: String

    package init(
        track: TrackKind, cause: CaptureLossCause, startNanoseconds: Int64,
        durationNanoseconds: Int64, samples: Int, text: String
    ) {
        self.track = track
        self.cause = cause
        self.startNanoseconds = startNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.samples = samples
        self.text = text
    }
}

/// Levels and rate of the sound, about once a second.
package struct AudioReport: Hashable, Sendable {
    /// Level of each channel since the last report.
    package var levels: [AudioLevel]
    /// Deviation of the device's sample rate, ppm; nil without a device.
    package var skewPPM: Double?
}

/// How a capture ended.
package enum CaptureEnd: Hashable, Sendable {
    /// Normally; the text has the reason ("end of file", "stopped").
    case finished(String)
    /// Ended early; one line with the reason.
    case failed(String)
}

/// Receives the output of a ``CaptureSession``. Called on the capture's threads, but not concurrently; may block briefly.
package protocol CaptureSink: AnyObject, Sendable {
    /// The formats of all tracks: once, before the first sample.
    func formats(_ formats: [TrackFormat])
    /// A track's format from the next sample on.
    func formatChanged(_ format: TrackFormat)
    /// One encoded sample; per track in DTS order.
    func sample(_ sample: EncodedSample)
    /// Samples are missing.
    func lost(_ loss: CaptureLoss)
    /// An event for the log: one line.
    func noted(_ line: String)
    /// Levels and rate of the sound.
    func heard(_ report: AudioReport)
    /// The last call, exactly once, after the last sample of all tracks.
    func ended(_ end: CaptureEnd)
}
