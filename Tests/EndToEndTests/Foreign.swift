import Foundation
import Media

/// Other software that checks recordings. Tests that need a missing program are skipped.
enum Foreign {
    static let hasFFmpeg = path(of: "ffmpeg") != nil && path(of: "ffprobe") != nil
    static let hasGStreamer = path(of: "gst-launch-1.0") != nil
    static let hasMediaInfo = path(of: "mediainfo") != nil
    /// HTTP client.
    static let curl = path(of: "curl")
    /// Creates certificates.
    static let openSSL = path(of: "openssl")

    /// Chromium, by one of its names.
    static let chromium =
        path(of: "chromium") ?? path(of: "chromium-browser") ?? path(of: "google-chrome")

    static func isThere(_ name: String) -> Bool { path(of: name) != nil }

    private static func path(of name: String) -> URL? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { URL(filePath: "\($0)/\(name)") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The output of a program that must succeed and write nothing to standard error except lines with `remark`.
    static func quiet(
        _ name: String, _ arguments: [String], ignoring remark: String? = nil, on stage: Stage
    ) async throws -> Data {
        guard let executable = path(of: name) else {
            throw StageFailure(description: "\(name) is not installed")
        }
        let outcome = try await stage.start(at: executable, arguments).outcome()
        let complaints = outcome.complaints.split(separator: "\n")
            .filter { line in remark.map { !line.contains($0) } ?? true }
        guard outcome.status == 0, complaints.isEmpty else {
            throw StageFailure(
                description: "\(name) \(arguments.joined(separator: " ")) ended with "
                    + "\(outcome.status): \(outcome.complaints)")
        }
        return outcome.outputData
    }

    /// The output of `ffmpeg`, which must not warn.
    static func ffmpeg(_ file: URL, _ arguments: String..., on stage: Stage) async throws -> Data {
        try await quiet(
            "ffmpeg", ["-nostdin", "-v", "warning", "-i", file.path] + arguments, on: stage)
    }

    /// Decodes a file and discards the result.
    /// Times stay in the file's own ticks; rounded to a guessed frame rate, two pictures could get the same one.
    static func decode(
        _ file: URL, ignoring remark: String? = nil, on stage: Stage
    ) async throws {
        _ = try await quiet(
            "ffmpeg",
            [
                "-nostdin", "-v", "warning", "-i", file.path, "-enc_time_base", "-1", "-f", "null",
                "-",
            ], ignoring: remark, on: stage)
    }

    /// The digests of a file's coded tracks: `0,v,SHA256=…`.
    static func streamHash(_ file: URL, on stage: Stage) async throws -> String {
        let output = try await ffmpeg(
            file, "-map", "0:v?", "-map", "0:a?", "-c", "copy", "-f", "streamhash", "-", on: stage)
        return String(decoding: output, as: UTF8.self)
    }

    /// Reads a file with `ffprobe`.
    static func probe(_ file: URL, on stage: Stage) async throws -> Probe {
        let output = try await quiet(
            "ffprobe",
            [
                // It warns that it has no decoder for each timecode track.
                "-v", "error", "-of", "json", "-show_data_hash", "md5", "-show_entries",
                "packet=stream_index,pts,dts,flags,data_hash:format=start_time"
                    + ":stream=index,codec_type,codec_name,time_base,start_time,width,height",
                file.path,
            ], on: stage)
        return try JSONDecoder().decode(Probe.self, from: output)
    }
}

/// Output of `ffprobe`.
struct Probe: Decodable, Sendable {
    struct Stream: Decodable, Sendable {
        var index: Int
        var codecType: String
        var codecName: String?
        var timeBase: String
        var startTime: String
        var width: Int?
        var height: Int?

        private enum CodingKeys: String, CodingKey {
            case index, width, height
            case codecType = "codec_type"
            case codecName = "codec_name"
            case timeBase = "time_base"
            case startTime = "start_time"
        }
    }

    /// A packet in `ffprobe`'s output, times in ticks of its stream.
    struct Entry: Decodable, Sendable {
        var streamIndex: Int
        var pts: Int64
        var dts: Int64
        var flags: String
        var digest: String

        private enum CodingKeys: String, CodingKey {
            case pts, dts, flags
            case streamIndex = "stream_index"
            case digest = "data_hash"
        }
    }

    /// A packet with its times in nanoseconds.
    struct Packet: Hashable, Sendable {
        var ptsNanoseconds: Int64
        var dtsNanoseconds: Int64
        var isKeyframe: Bool
        var digest: String
    }

    struct Format: Decodable, Sendable {
        var startTime: String

        private enum CodingKeys: String, CodingKey {
            case startTime = "start_time"
        }
    }

    var streams: [Stream]
    var packets: [Entry]
    var format: Format

    /// The track of a kind.
    func stream(_ kind: TrackKind) throws -> Stream {
        guard let stream = streams.first(where: { $0.codecType == "\(kind)" }) else {
            throw StageFailure(description: "ffprobe sees no \(kind) track")
        }
        return stream
    }

    /// The packets of a kind, in decoding order.
    func packets(_ kind: TrackKind) throws -> [Packet] {
        let stream = try stream(kind)
        let parts = stream.timeBase.split(separator: "/").compactMap { Int64($0) }
        guard parts.count == 2 else {
            throw StageFailure(description: "'\(stream.timeBase)' is no time base")
        }
        func nanoseconds(_ ticks: Int64) -> Int64 { ticks * 1_000_000_000 * parts[0] / parts[1] }
        return packets.filter { $0.streamIndex == stream.index }.map { entry in
            Packet(
                ptsNanoseconds: nanoseconds(entry.pts), dtsNanoseconds: nanoseconds(entry.dts),
                isKeyframe: entry.flags.contains("K"), digest: entry.digest)
        }
    }

    /// Presentation time of the first picture.
    var firstPictureNanoseconds: Int64 {
        get throws { try packets(.video).map(\.ptsNanoseconds).min() ?? 0 }
    }
}
