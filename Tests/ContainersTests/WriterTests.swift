import Devices
import Foundation
import Glibc
import Media
import Synchronization
import TestMedia
import Testing

@testable import Containers

/// Collects the written bytes.
private final class Collector: ContainerSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ new: UnsafeRawBufferPointer) {
        bytes.withLock { $0.append(contentsOf: new) }
    }
}

/// A sink that is full.
private final class Full: ContainerSink {
    struct Reason: Error, CustomStringConvertible {
        let description = "no room"
    }

    func write(_: UnsafeRawBufferPointer) throws { throw Reason() }
}

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct WriterTests {
    private static let clip =
        "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)"

    /// Writes all of a file's packets to another container.
    private static func copy(
        _ path: String, to destination: ContainerDestination, _ format: ContainerFormat,
        options: ContainerWriterOptions = ContainerWriterOptions(),
        cancellation: Cancellation? = nil
    ) throws {
        var source = try FileSource(path: path, kinds: [.video, .audio], loops: false)
        let tracks = source.tracks.map { ContainerTrack($0, timescale: .nanoseconds) }
        var writer = try ContainerWriter(
            to: destination, format: format, tracks: tracks, options: options,
            cancellation: cancellation)
        while let packet = try source.next() {
            try writer.write(
                ContainerPacket(
                    track: packet.track == .video ? 0 : 1,
                    pts: packet.ptsNanoseconds ?? packet.dtsNanoseconds,
                    dts: packet.dtsNanoseconds, duration: packet.durationNanoseconds,
                    isKeyframe: packet.isKeyframe, bytes: packet.bytes))
        }
        try writer.finish()
    }

    /// FFmpeg's hash of a stream: decoded pictures, or unchanged packets.
    private static func hash(_ media: borrowing MediaFiles, _ words: String) throws -> String {
        let arguments = words.split(separator: " ").map(String.init) + ["-f", "streamhash", "-"]
        return String(decoding: try media.run(arguments), as: UTF8.self)
    }

    @Test(arguments: [ContainerFormat.mp4, .mov, .matroska, .mpegTS])
    func `every container gives back the same pictures and packets`(
        _ format: ContainerFormat
    ) throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let copy = media.directory.appending(path: "copy.\(format.name)").path
        try Self.copy(clip, to: .file(copy), format)
        for words in ["-map 0:v", "-map 0:a -c copy"] {
            // MPEG-TS has headers before each packet of sound, which are not the sound's.
            let filter = format == .mpegTS && words.contains("0:a") ? "-bsf:a aac_adtstoasc" : ""
            let expected = try Self.hash(media, "-i \(clip) \(words)")
            #expect(try Self.hash(media, "-i \(copy) \(words) \(filter)") == expected)
        }
    }

    @Test func `HEVC in MP4 has its parameter sets in the description, for Apple's players`() throws
    {
        let media = try MediaFiles()
        let clip = try media.make(
            "clip.mkv",
            "-f lavfi -i testsrc2=s=320x180:r=25:d=1 -c:v libx265 -preset ultrafast "
                + "-x265-params log-level=none")
        let copy = media.directory.appending(path: "copy.mp4").path
        var source = try FileSource(path: clip, kinds: [.video], loops: false)
        var writer = try ContainerWriter(
            to: .file(copy), format: .mp4,
            tracks: [ContainerTrack(source.tracks[0], timescale: .nanoseconds)])
        while let packet = try source.next() {
            try writer.write(
                ContainerPacket(
                    track: 0, pts: packet.ptsNanoseconds ?? packet.dtsNanoseconds,
                    dts: packet.dtsNanoseconds, duration: packet.durationNanoseconds,
                    isKeyframe: packet.isKeyframe, bytes: packet.bytes))
        }
        try writer.finish()
        #expect(try Data(contentsOf: URL(filePath: copy)).range(of: Data("hvc1".utf8)) != nil)
    }

    @Test func `a sink and a descriptor get the bytes that a file gets`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let file = media.directory.appending(path: "copy.ts").path
        try Self.copy(clip, to: .file(file), .mpegTS)
        let collector = Collector()
        try Self.copy(clip, to: .sink(collector), .mpegTS)
        let other = media.directory.appending(path: "other.ts").path
        let descriptor = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        #expect(descriptor >= 0)
        defer { close(descriptor) }
        try Self.copy(clip, to: .descriptor(descriptor), .mpegTS)
        let expected = try Data(contentsOf: URL(filePath: file))
        #expect(expected.count > 10_000)
        #expect(Data(collector.bytes.withLock { $0 }) == expected)
        #expect(try Data(contentsOf: URL(filePath: other)) == expected)
    }

    @Test func `without interleaving, each packet is written at once`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        var source = try FileSource(path: clip, kinds: [.video], loops: false)
        var options = ContainerWriterOptions()
        options.interleaving = .asWritten
        options.flushesPackets = true
        let collector = Collector()
        var writer = try ContainerWriter(
            to: .sink(collector), format: .mpegTS,
            tracks: [ContainerTrack(source.tracks[0], timescale: .nanoseconds)], options: options)
        var before = 0
        for _ in 0..<10 {
            guard let packet = try source.next() else { break }
            try writer.write(
                ContainerPacket(
                    track: 0, pts: packet.ptsNanoseconds ?? 0, dts: packet.dtsNanoseconds,
                    duration: packet.durationNanoseconds, isKeyframe: packet.isKeyframe,
                    bytes: packet.bytes))
            try writer.flush()
            let now = collector.bytes.withLock { $0.count }
            #expect(now > before)
            before = now
        }
        try writer.finish()
    }

    @Test func `cancelling a writer does not wait for a reader that does not read`() async throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        // Full before it begins.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let block = [UInt8](repeating: 0, count: 4_096)
        while write(ends[1], block, block.count) > 0 {}
        _ = fcntl(ends[1], F_SETFL, 0)
        let cancellation = Cancellation()
        let output = ends[1]
        let work = Task.detached {
            _ = #expect(throws: ContainerError.cancelled) {
                try Self.copy(
                    clip, to: .descriptor(output), .mpegTS, cancellation: cancellation)
            }
        }
        cancellation.cancel()
        await work.value
    }

    @Test func `a full disk and a failing sink are named`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let disk = #expect(throws: ContainerError.self) {
            try Self.copy(clip, to: .file("/dev/full"), .mpegTS)
        }
        #expect(disk?.description.contains("/dev/full failed: No space left") == true)
        let sink = #expect(throws: ContainerError.self) {
            try Self.copy(clip, to: .sink(Full()), .mpegTS)
        }
        #expect(sink?.description.contains("no room") == true)
        let missing = #expect(throws: ContainerError.self) {
            try Self.copy(clip, to: .file("/nowhere/a.ts"), .mpegTS)
        }
        #expect(missing?.description == "cannot write /nowhere/a.ts: No such file or directory")
    }

    @Test func `a codec that a container cannot hold is named`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        _ = #expect(throws: ContainerError.cannotHold(format: "WebM", codec: "H264")) {
            try Self.copy(clip, to: .sink(Collector()), .webM)
        }
    }
}

@Suite struct FormatTests {
    @Test func `formats are recognised by file extension, by name and by URL scheme`() {
        #expect(ContainerFormat(path: "/a.b/clip.MP4") == .mp4)
        #expect(ContainerFormat(path: "clip.mkv") == .matroska)
        #expect(ContainerFormat(path: "/a.mp4/clip") == nil)
        #expect(ContainerFormat(path: "clip.txt") == nil)
        #expect(ContainerFormat(name: "ts") == .mpegTS)
        #expect(ContainerFormat(url: "rtsp://10.0.0.1/live") == .rtsp)
        #expect(ContainerFormat(url: "udp://239.0.0.1:5000") == .mpegTS)
        #expect(ContainerFormat(url: "clip.ts") == nil)
    }

    @Test(arguments: [
        (ContainerFormat.mp4, "mp4", "video/mp4"), (.matroska, "mkv", "video/matroska"),
        (.mpegTS, "ts", "video/mp2t"), (.adts, "aac", "audio/aac"),
    ])
    func `a container has a suffix and a media type`(
        _ format: ContainerFormat, _ suffix: String, _ mediaType: String
    ) {
        #expect(format.suffix == suffix)
        #expect(format.mediaType == mediaType)
        #expect(ContainerFormat.pictureNames == "mp4, mov, mkv, webm, ts, flv or avi")
    }
}
