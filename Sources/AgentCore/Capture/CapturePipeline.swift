import Media

/// A capture source with its encoder, run by one thread.
///
/// The pipeline is created by the caller that starts the capture, and used only by its thread after that, which makes
/// `@unchecked Sendable` valid.
protocol CapturePipeline: AnyObject, Sendable {
    /// The thread's name.
    var name: String { get }
    /// Formats of its output tracks.
    var formats: [TrackFormat] { get }
    /// Human-readable description, one line per track.
    var descriptions: [String] { get }
    /// Notes about the selected input, one line each.
    var notes: [String] { get }
    /// Further notes for verbose logs, one line each.
    var details: [String] { get }
    /// libavcodec's name of the video encoder; nil without one.
    var encoder: String? { get }
    /// Whether keyframes can be requested, from its encoder or from a camera that encodes.
    var makesKeyframes: Bool { get }
    /// Controls of the camera; nil without any.
    var device: (any ControlledDevice)? { get }
    /// Captures from that time on until the source ends or a stop is requested; all samples have been passed to `output` when
    /// it returns. The previous pipeline may have output samples up to that time: none may precede it.
    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd
}

/// Opens the pipeline of a preview of another source's pictures.
typealias SharedPipeline = (CaptureSettings) throws(CaptureError) -> any CapturePipeline

/// The surroundings in which a pipeline is opened.
struct PipelineOpening {
    /// For a preview of another source's pictures. By default, there is no such source.
    var shared: SharedPipeline = { (_: CaptureSettings) throws(CaptureError) in
        throw .settings("'small' makes a preview of a source's pictures: use --preview small")
    }
    /// Whether a blocking opening is to end with ``CaptureError/stopped``. Called several times a second.
    var isStopping: () -> Bool = { false }
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
