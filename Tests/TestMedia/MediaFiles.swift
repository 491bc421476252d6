package import Foundation

/// Media for tests, made with the `ffmpeg` program if it is installed, and removed afterwards.
package struct MediaFiles: ~Copyable {
    /// `ffmpeg` failed.
    package struct Failure: Error {
        package let arguments: [String]
    }

    /// Two seconds of moving picture at 25 fps and of sound at 48 kHz.
    package static let inputs =
        "-f lavfi -i testsrc2=s=320x180:r=25:d=2 -f lavfi -i sine=f=440:r=48000:d=2"
    /// A keyframe every second.
    package static let h264 = "-c:v libx264 -preset ultrafast -threads 1 -g 25 -pix_fmt yuv420p"
    package static let aac = "-c:a aac -b:a 64k"

    /// `ffmpeg` is on the PATH.
    package static let canBeMade: Bool = tool != nil

    private static let tool: URL? = (ProcessInfo.processInfo.environment["PATH"] ?? "")
        .split(separator: ":").map { "\($0)/ffmpeg" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
        .map { URL(filePath: $0) }

    package let directory: URL

    package init() throws {
        directory = FileManager.default.temporaryDirectory.appending(
            path: "tributary-media-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Real footage beside the repository; nil if missing.
    package static let footage: String? = {
        let path = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "shared/media/car-detection.mp4").path
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()

    /// Runs `ffmpeg` with these arguments; the output file's path.
    package func make(_ name: String, _ arguments: String) throws -> String {
        let path = directory.appending(path: name).path
        _ = try run(arguments.split(separator: " ").map(String.init) + [path])
        return path
    }

    /// The output of `ffmpeg`.
    package func run(_ arguments: [String]) throws -> Data {
        guard let tool = Self.tool else { throw Failure(arguments: arguments) }
        let process = Process()
        let output = Pipe()
        process.executableURL = tool
        process.arguments = ["-nostdin", "-v", "error", "-y"] + arguments
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments) }
        return data
    }

    /// A file's first bytes as a file; `keeping` maps the size to the number kept.
    package func cut(
        _ path: String, to name: String, keeping: (Int) -> Int
    ) throws -> String {
        let data = try Data(contentsOf: URL(filePath: path))
        let short = directory.appending(path: name)
        try data.prefix(keeping(data.count)).write(to: short)
        return short.path
    }
}
