import Archive
import Recordings
import Terminal

/// The recordings of two boxes with one source's name are not one stream.
enum OneBoxCheck {
    /// - Parameters:
    ///   - from: session time, nanoseconds; nil: the beginning.
    ///   - until: exclusive; nil: the end.
    /// - Throws: if two archives have different boxes of the source at one time.
    static func run(_ source: RecordedSource, from: Int64?, until: Int64?) throws {
        guard let boxes = try source.simultaneousBoxes(from: from, until: until) else { return }
        let options = boxes.archives.map { "--archive \(oneLine($0))" }
        throw Failure(
            "\(source.name) was recorded by two boxes at once from "
                + "\(TimelinePoint.text(boxes.startNanoseconds)) on: use each archive alone ("
                + "\(options.joined(separator: ", then ")))")
    }
}
