import Media

/// The work of one capture thread: a source and what encodes it.
///
/// A pipeline is opened by the caller that starts the capture, and from then on belongs to its thread; that hand-over is what
/// makes its `@unchecked Sendable` true.
protocol CapturePipeline: AnyObject, Sendable {
    /// The thread's name.
    var name: String { get }
    /// Of the tracks that come out of it.
    var formats: [TrackFormat] { get }
    /// One line per track for people.
    var descriptions: [String] { get }
    /// What people may want to know of how it was picked: one line each.
    var notes: [String] { get }
    /// More of the same, for who wants to know everything: one line each.
    var details: [String] { get }
    /// libavcodec's name of the encoder of its pictures; nil: there is none.
    var encoder: String? { get }
    /// Whether a keyframe can be asked for: of its encoder, or of a camera that encodes.
    var makesKeyframes: Bool { get }
    /// What can be set at the camera that it captures from; nil: nothing.
    var device: (any ControlledDevice)? { get }
    /// Captures from that time on until the source ends or the capture is to stop; everything has reached `output` when
    /// it returns. The pipeline before may have given samples up to then: nothing may lie before it.
    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd
}

extension CapturePipeline {
    var notes: [String] { [] }
    var details: [String] { [] }
    var encoder: String? { nil }
    var makesKeyframes: Bool { encoder != nil }
    var device: (any ControlledDevice)? { nil }
}

extension CaptureEnd {
    /// Why captures end well.
    static let endOfFile = CaptureEnd.finished("end of file")
    static let durationReached = CaptureEnd.finished("duration reached")
    static let stopped = CaptureEnd.finished("stopped")
}
