import Foundation

/// Programs that read our files. Tests that need a missing one are skipped.
enum Tools {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func path(of name: String) -> String? {
        let places = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return places.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    static let hasFFmpeg = path(of: "ffmpeg") != nil && path(of: "ffprobe") != nil
    static let hasGStreamer = path(of: "gst-launch-1.0") != nil
    static let hasMediaInfo = path(of: "mediainfo") != nil

    /// Runs a program until it exits; returns both outputs.
    static func run(
        _ name: String, _ arguments: [String]
    ) throws -> (status: Int32, output: String, complaints: String) {
        guard let path = path(of: name) else { throw Failure(description: "no \(name)") }
        let output = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let complaints = output.appendingPathExtension("err")
        for file in [output, complaints] {
            try Data().write(to: file)
        }
        defer {
            for file in [output, complaints] { try? FileManager.default.removeItem(at: file) }
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: complaints)
        try process.run()
        process.waitUntilExit()
        return (
            process.terminationStatus,
            String(decoding: try Data(contentsOf: output), as: UTF8.self),
            String(decoding: try Data(contentsOf: complaints), as: UTF8.self)
        )
    }

    /// Runs a program that must succeed with an empty standard error.
    static func quiet(_ name: String, _ arguments: [String]) throws -> String {
        let result = try run(name, arguments)
        guard result.status == 0, result.complaints.isEmpty else {
            throw Failure(
                description: "\(name) \(arguments.joined(separator: " ")) ended with"
                    + " \(result.status): \(result.complaints)")
        }
        return result.output
    }
}

/// A temporary directory of one test.
final class Scratch {
    let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory
            .appending(path: "mp4-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String {
        directory.appending(path: name).path
    }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: directory.appending(path: name))
        return path(name)
    }
}
