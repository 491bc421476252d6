import MP4
import Media

/// What the beginning of a finished file's index says of it, and its size: nothing of the media is read.
struct FinishedFile: Hashable, Sendable {
    var lengthNanoseconds: Int64
    var sizeBytes: Int64

    /// Nil for a file that grows, is cut short, or cannot be read: `verify` says what is wrong with it.
    init?(_ path: String) {
        do {
            guard let file = try DescriptorSource.withFile(path, Self.read) else { return nil }
            self = file
        } catch {
            return nil
        }
    }

    private init(lengthNanoseconds: Int64, sizeBytes: Int64) {
        self.lengthNanoseconds = lengthNanoseconds
        self.sizeBytes = sizeBytes
    }

    private static func read(_ file: DescriptorSource) throws -> FinishedFile? {
        let layout = try RecordingLayout(of: file)
        guard layout.isFinished, !layout.isCutShort else { return nil }
        var boxes = BoxReader(file, in: layout.fragments.upperBound..<file.sizeBytes)
        guard let index = try boxes.next(), index.type == "moov" else { return nil }
        let summary = try MovieSummary(of: index, from: file)
        return FinishedFile(
            lengthNanoseconds: try rescale(
                Int64(clamping: summary.duration), from: summary.timescale, to: .nanoseconds),
            sizeBytes: file.sizeBytes)
    }
}
