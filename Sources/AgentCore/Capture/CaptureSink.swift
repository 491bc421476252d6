package import Encoding
package import Media

/// Why something that was due is missing.
package enum CaptureLossCause: Hashable, Sendable {
    /// The source that paints the pictures, or the encoder, was slower than the camera.
    case encoderOverload
    /// The source's data was damaged.
    case damagedInput
    /// The device left something out.
    case driverDrop
    /// The sound device's buffer ran over.
    case overrun
    /// The device was gone.
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
    /// One line for people.
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

/// How sound does, about once a second.
package struct AudioReport: Hashable, Sendable {
    /// Of each channel since the last report.
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
    /// From the next sample on, a track has another format.
    func formatChanged(_ format: TrackFormat)
    /// One encoded sample; per track in DTS order.
    func sample(_ sample: EncodedSample)
    /// Something is missing.
    func lost(_ loss: CaptureLoss)
    /// An event for the log: one line.
    func noted(_ line: String)
    /// How sound does.
    func heard(_ report: AudioReport)
    /// The last call, exactly once, after all tracks gave their last sample.
    func ended(_ end: CaptureEnd)
}
