import Archive
import Containers
import Encoding
import ExportCore
import Foundation
import Library
import Media
import MP4
import Recordings
import Testing
import TestMedia

/// A temporary archive with one session imported from ffmpeg's clips.
final class ImportedArchive {
    /// Six seconds at 25 pictures a second with B-frames, a keyframe every second, and a tone of rising pitch.
    static let clip =
        "-f lavfi -i testsrc2=s=320x180:r=25:d=6 "
        + "-f lavfi -i aevalsrc=0.4*sin(2*PI*(200+150*t)*t):s=48000:d=6 "
        + "-c:v libx264 -preset ultrafast -threads 1 -g 25 -bf 2 -pix_fmt yuv420p -c:a aac -b:a 96k "
        // Otherwise decoders add random noise.
        + "-aac_pns 0"

    let media: MediaFiles
    let clips: [String]
    let layout: ArchiveLayout
    let session: RecordedSession

    /// - Parameter arguments: ffmpeg's, by the clips' names.
    init(_ arguments: KeyValuePairs<String, String> = ["stage.mp4": clip]) throws {
        CodecLibrary.keepOffTerminal()
        media = try MediaFiles()
        var clips: [String] = []
        for (name, words) in arguments { clips.append(try media.make(name, words)) }
        self.clips = clips
        layout = ArchiveLayout(root: media.directory.appending(path: "recordings").path)
        var options = RecordingImport.Options()
        // Several segments in a few seconds.
        options.segmentNanoseconds = 2_000_000_000
        options.zero = UTCTime(nanoseconds: 1_790_000_000_000_000_000)
        let result = try RecordingImport(
            clips, into: layout, options: options, control: WorkControl()
        ).run()
        session = try RecordedSession(result.session, in: layout)
    }

    func path(_ name: String) -> String { media.directory.appending(path: name).path }

    /// A part of the first source.
    func range(
        _ source: String = "stage", from start: Double? = nil, seconds: Double? = nil
    ) throws -> ExportRange {
        let source = try #require(session.source(source))
        let begin = start.map { Int64(($0 * 1e9).rounded()) }
        return ExportRange(
            source: source, sessionZero: session.zero, startNanoseconds: begin,
            endNanoseconds: seconds.map { (begin ?? 0) + Int64(($0 * 1e9).rounded()) })
    }

    /// Exports without encoding.
    @discardableResult
    func export(
        _ range: ExportRange, to name: String,
        _ set: (inout MovieExport.Options) -> Void = { _ in }
    ) throws -> ExportSummary {
        var options = MovieExport.Options()
        set(&options)
        var export = try MovieExport(
            range, to: OutputFile(path(name), overwrites: true), options: options,
            control: WorkControl())
        return try export.run()
    }

    /// FFmpeg's hash of a file's streams.
    func hash(_ path: String, _ words: String) throws -> String {
        let arguments =
            ["-i", path] + words.split(separator: " ").map(String.init) + ["-f", "streamhash", "-"]
        return String(decoding: try media.run(arguments), as: UTF8.self)
    }

    /// A file's sound decoded by FFmpeg: 16 bits, two bytes a frame.
    func sound(_ path: String, _ words: String = "") throws -> Data {
        try media.run(
            ["-i", path] + words.split(separator: " ").map(String.init)
                + ["-map", "0:a", "-f", "s16le", "-c:a", "pcm_s16le", "-"])
    }
}
