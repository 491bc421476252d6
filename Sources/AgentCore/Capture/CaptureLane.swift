import Media

/// The work of one capture thread: a source and what encodes it.
///
/// A lane is opened by whoever starts the capture and from then on belongs to its thread; that hand-over is what
/// makes its `@unchecked Sendable` true.
protocol CaptureLane: AnyObject, Sendable {
    /// The thread's name.
    var name: String { get }
    /// Of the tracks that come out of it.
    var formats: [TrackFormat] { get }
    /// One line per track for people.
    var descriptions: [String] { get }
    /// Captures from that time on until the source ends or the capture is to stop; everything has reached `output` when
    /// it returns.
    func run(startNanoseconds: Int64, output: CaptureOutput) -> CaptureEnd
}

extension CaptureEnd {
    /// Why captures end well.
    static let endOfFile = CaptureEnd.finished("end of file")
    static let durationReached = CaptureEnd.finished("duration reached")
    static let stopped = CaptureEnd.finished("stopped")
}
