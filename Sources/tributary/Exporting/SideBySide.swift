import Archive
import Files
import Media
import Terminal

/// Delays with which FFmpeg plays files with the same name together.
enum SideBySide {
    /// FFmpeg begins a file with its timecode track only where picture or sound follow that soon.
    private static let limitSeconds = 1.0

    /// A line of text; nil if there is nothing to report.
    static func line(_ report: SessionReport) -> String? {
        let previews = SourcePreviews(report.sources.map(\.name))
        let files = report.sources.filter { !previews.isPreview($0.name) }.flatMap(\.files)
        func name(_ file: FileReport) -> String { Path.name(of: file.path) }
        for late in files where begins(late) >= limitSeconds || late.state == .growing {
            let others = files.filter { $0.path != late.path && name($0) == name(late) }
            guard let other = others.first else { continue }
            return
                "files with the same name start at the same instant; FFmpeg keeps this with -copyts:\n"
                + "  ffmpeg -copyts -i \(shellWord(other.path)) -i \(shellWord(late.path)) …"
        }
        return nil
    }

    /// Presentation time of a file's first picture or sound, seconds after its origin.
    private static func begins(_ file: FileReport) -> Double {
        file.tracks.map(\.startSeconds).min() ?? 0
    }
}
