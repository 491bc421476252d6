import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// Files that cannot be played as requested.
    @Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the files"))
    struct BadFileTests {
        /// A file's defect.
        enum Flaw: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case missing, directory, text, cutBeforeIndex, noAudio, notH264

            var testDescription: String { rawValue }

            /// The message behind the file's name.
            var text: String {
                switch self {
                case .missing: "no such file"
                case .directory: "it is a directory"
                case .text, .cutBeforeIndex: "it is not a media file, or it is truncated"
                case .noAudio: "has no audio track"
                case .notH264: "its codec is mpeg4"
                }
            }

            var options: [String] {
                switch self {
                case .missing, .directory, .text: []
                case .cutBeforeIndex, .notH264: ["--encoder", "copy"]
                case .noAudio: ["--audio"]
                }
            }

            func make(in media: borrowing MediaFiles) throws -> String {
                switch self {
                case .missing:
                    return media.directory.appending(path: "nothing.mp4").path
                case .directory:
                    return media.directory.path
                case .text:
                    let file = media.directory.appending(path: "text.mp4")
                    try Data("no media\n".utf8).write(to: file)
                    return file.path
                case .cutBeforeIndex:
                    let whole = try media.make(
                        "whole.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)")
                    return try media.cut(whole, to: "cut.mp4") { $0 / 2 }
                case .noAudio:
                    return try media.make(
                        "silent.mp4", "\(MediaFiles.inputs) -map 0:v \(MediaFiles.h264)")
                case .notH264:
                    return try media.make("mpeg4.mp4", "\(MediaFiles.inputs) -map 0:v -c:v mpeg4")
                }
            }
        }

        @Test(arguments: Flaw.allCases)
        func `a file that cannot be used as asked is refused in one line`(_ flaw: Flaw) async throws
        {
            try await Stage.with { stage in
                let media = try MediaFiles()
                let path = try flaw.make(in: media)
                var words = ["--video", "file:\(path)"] + flaw.options
                if flaw == .noAudio { words.append("file:\(path)") }
                let outcome = try await stage.start(
                    .agent, ["--collector", stage.endpoint] + words
                ).outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains(path))
                #expect(outcome.complaints.contains(flaw.text))
            }
        }

        @Test func `a truncated file is recorded to its end, and reported`() async throws {
            try await Stage.with { stage in
                let media = try MediaFiles()
                let whole = try media.make(
                    "whole.mp4",
                    "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac) -movflags +faststart"
                )
                let cut = try media.cut(whole, to: "cut.mp4") { $0 / 2 }
                let collector = try await stage.collector("--once")
                let outcome = try await stage.agent(
                    "camera", "--video", "file:\(cut)", "--encoder", "copy"
                ).outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.last?.contains("\(cut) is truncated") == true)
                try await collector.succeeds()
                try await expectAudio(stage)
                #expect(try TopLevelBoxes(of: stage.recording("camera")).areOrdinary)
            }
        }
    }
}
