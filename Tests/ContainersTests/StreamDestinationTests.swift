import Devices
import FFmpegSupport
import Foundation
import Glibc
import Media
import Synchronization
import TestMedia
import Testing

@testable import Containers

/// A bound socket on this machine.
private struct LocalSocket: ~Copyable {
    let descriptor: Int32
    let port: UInt16

    init(_ type: __socket_type) throws {
        descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        Self.limitWaits(of: descriptor)
    }

    /// A broken writer does not hang the tests.
    static func limitWaits(of descriptor: Int32) {
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }
}

/// The beginning of an RTMP server (Adobe's RTMP specification 1.0, §5.2 and §7.2.1): it answers `connect`, and keeps what a
/// publisher asks for.
private final class PublishedNames: Sendable {
    private let received = Mutex<[UInt8]>([])
    private let isDone = DispatchSemaphore(value: 0)

    /// Accepts one connection.
    func serve(_ listener: Int32) {
        Thread { [self] in
            let client = accept(listener, nil, nil)
            LocalSocket.limitWaits(of: client)
            talk(client)
            close(client)
            isDone.signal()
        }.start()
    }

    /// All bytes after the handshake, once the connection has ended.
    func bytes() -> [UInt8] {
        isDone.wait()
        return received.withLock { $0 }
    }

    private func talk(_ client: Int32) {
        guard let hello = Self.read(client, 1_537) else { return }
        // S0, S1 of version 0 and S2, a copy of C1; C2 follows.
        Self.write(client, [3] + [UInt8](repeating: 0, count: 1_536) + hello.dropFirst())
        guard Self.read(client, 1_536) != nil else { return }
        var hasAnswered = false
        while let next = Self.readSome(client) {
            let all = received.withLock { bytes in
                bytes += next
                return bytes
            }
            if !hasAnswered, Self.contains(all, Self.string("connect")) {
                hasAnswered = true
                // AMF 0: string, the transaction's number 1.0, null.
                let result = Self.string("_result") + [0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 5]
                Self.write(
                    client, [3, 0, 0, 0, 0, 0, UInt8(result.count), 0x14, 0, 0, 0, 0] + result)
            }
            // The last message that needs no further answer.
            if Self.contains(all, Self.string("createStream")) { return }
        }
    }

    /// A string of AMF 0.
    static func string(_ text: String) -> [UInt8] { [2, 0, UInt8(text.utf8.count)] + text.utf8 }

    static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.firstRange(of: part) != nil
    }

    private static func readSome(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private static func read(_ descriptor: Int32, _ size: Int) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: size)
        return recv(descriptor, &buffer, size, Int32(MSG_WAITALL)) == size ? buffer : nil
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

/// Connections to streaming servers: the whole URL is used, and none of its secrets is in an error.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct StreamDestinationTests {
    private static let clip = "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)"
    private static let secret = "SECRETKEY42"

    private static func send(
        _ path: String, to url: String, _ format: ContainerFormat,
        cancellation: Cancellation? = nil, whileOpen: () throws -> Void = {}
    ) throws {
        var source = try FileSource(path: path, kinds: [.video, .audio], loops: false)
        let tracks = source.tracks.map { ContainerTrack($0, timescale: .nanoseconds) }
        var options = ContainerWriterOptions()
        options.interleaving = .asWritten
        options.flushesPackets = true
        var writer = try ContainerWriter(
            to: .url(url), format: format, tracks: tracks, options: options,
            cancellation: cancellation)
        while let packet = try source.next() {
            try writer.write(
                ContainerPacket(
                    track: packet.track == .video ? 0 : 1,
                    pts: packet.ptsNanoseconds ?? packet.dtsNanoseconds,
                    dts: packet.dtsNanoseconds, duration: packet.durationNanoseconds,
                    isKeyframe: packet.isKeyframe, bytes: packet.bytes))
        }
        try whileOpen()
        try writer.finish()
    }

    @Test func `an RTMP server is asked for the application and the stream of the URL`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let listener = try LocalSocket(SOCK_STREAM)
        listen(listener.descriptor, 1)
        let server = PublishedNames()
        server.serve(listener.descriptor)
        // The server ends the connection.
        let error = #expect(throws: ContainerError.self) {
            try Self.send(
                clip, to: "rtmp://127.0.0.1:\(listener.port)/live2/\(Self.secret)", .flv)
        }
        let bytes = server.bytes()
        let app = [0, 3] + "app".utf8 + PublishedNames.string("live2")
        #expect(PublishedNames.contains(bytes, app))
        #expect(PublishedNames.contains(bytes, PublishedNames.string(Self.secret)))
        #expect("\(try #require(error))".contains("rtmp://127.0.0.1:\(listener.port)/…"))
        #expect(!"\(try #require(error))".contains(Self.secret))
    }

    @Test(arguments: [("", 1_316), ("?pkt_size=376", 376)])
    func `datagrams hold whole packets of MPEG-TS`(query: String, maximumBytes: Int) throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let receiver = try LocalSocket(SOCK_DGRAM)
        try Self.send(clip, to: "udp://127.0.0.1:\(receiver.port)\(query)", .mpegTS)
        var sizes: [Int] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let size = recv(
                receiver.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard size >= 0 else { break }
            sizes.append(size)
        }
        #expect(sizes.max() == maximumBytes)
        #expect(sizes.allSatisfy { $0 % 188 == 0 })
    }

    @Test func `an SRT server gets the passphrase of the URL`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let port = try LocalSocket(SOCK_DGRAM).port
        let output = media.directory.appending(path: "received.ts")
        let server = Process()
        server.executableURL = URL(filePath: "/usr/bin/env")
        let address = "srt://127.0.0.1:\(port)?mode=listener&passphrase=0123456789\(Self.secret)"
        server.arguments = ["ffmpeg", "-nostdin", "-v", "quiet", "-analyzeduration", "100000"]
        server.arguments? += [
            "-i", address, "-c", "copy", "-flush_packets", "1", "-f", "mpegts", output.path,
        ]
        server.standardError = FileHandle.nullDevice
        try server.run()
        defer { kill(server.processIdentifier, SIGKILL) }
        let url = "srt://127.0.0.1:\(port)?connect_timeout=1000&passphrase="
        var line = ""
        for _ in 0..<30 where !line.contains("passphrase") {
            // As long as the server starts, there is another reason.
            let error = #expect(throws: ContainerError.self) {
                try Self.send(clip, to: "\(url)another-\(Self.secret)", .mpegTS)
            }
            line = "\(try #require(error))"
            #expect(!line.contains(Self.secret))
        }
        #expect(line.contains("the server has another passphrase"))
        try Self.send(clip, to: "\(url)0123456789\(Self.secret)", .mpegTS) {
            for _ in 0..<200 where Self.size(of: output) < 50_000 { usleep(50_000) }
        }
        #expect(Self.size(of: output) >= 50_000)
    }

    /// The connection was closed at once, and both ends discarded what was in their buffers.
    @Test func `an SRT server gets the end of a stream`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let port = try LocalSocket(SOCK_DGRAM).port
        let output = media.directory.appending(path: "received.ts")
        let server = Process()
        server.executableURL = URL(filePath: "/usr/bin/env")
        server.arguments = ["ffmpeg", "-nostdin", "-v", "quiet", "-analyzeduration", "100000"]
        server.arguments? += [
            "-i", "srt://127.0.0.1:\(port)?mode=listener&latency=1500000", "-c", "copy", "-f",
            "mpegts", output.path,
        ]
        server.standardError = FileHandle.nullDevice
        try server.run()
        defer { kill(server.processIdentifier, SIGKILL) }
        let url = "srt://127.0.0.1:\(port)?connect_timeout=1000&latency=1500000"
        var hasSent = false
        for _ in 0..<30 where !hasSent {
            do {
                try Self.send(clip, to: url, .mpegTS)
                hasSent = true
            } catch ContainerError.cannotOpen {
                // The server is starting.
                continue
            }
        }
        #expect(hasSent)
        server.waitUntilExit()
        func pictures(_ path: String) throws -> Int {
            String(
                decoding: try media.run(["-i", path, "-map", "0:v", "-f", "framemd5", "-"]),
                as: UTF8.self
            ).split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        }
        #expect(try pictures(output.path) == pictures(clip))
    }

    @Test(arguments: [
        ("srt://h:9", 1_200), ("SRT://h:9?latency=20000", 1_200),
        ("srt://h:9?mode=caller&latency=2500000", 2_700), ("srt://h:9?latency=9999999999", 30_200),
        ("srt://h:9?latency=-1&peerlatency=1500000", 1_700), ("srt://h:9?latency=x", 1_200),
        ("udp://h:9?latency=2500000", 0),
    ])
    func `a connection of SRT stays open for the latency of the URL`(
        _ url: String, _ milliseconds: Int
    ) {
        #expect(SRTLibrary.drainNanoseconds(of: url) == Int64(milliseconds) * 1_000_000)
    }

    @Test func `a cancellation ends the wait for the end of a connection of SRT`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let port = try LocalSocket(SOCK_DGRAM).port
        let cancellation = Cancellation()
        let server = Process()
        server.executableURL = URL(filePath: "/usr/bin/env")
        server.arguments = ["ffmpeg", "-nostdin", "-v", "quiet"]
        server.arguments? += [
            "-i", "srt://127.0.0.1:\(port)?mode=listener", "-c", "copy", "-f", "null", "-",
        ]
        server.standardError = FileHandle.nullDevice
        try server.run()
        defer { kill(server.processIdentifier, SIGKILL) }
        let url = "srt://127.0.0.1:\(port)?connect_timeout=1000&latency=30000000"
        for _ in 0..<30 {
            do {
                try Self.send(clip, to: url, .mpegTS, cancellation: cancellation) {
                    Thread {
                        usleep(300_000)
                        cancellation.cancel()
                    }.start()
                }
                Issue.record("it was not cancelled")
            } catch ContainerError.cannotOpen {
                continue
            } catch {
                #expect(error as? ContainerError == .cancelled)
            }
            break
        }
        #expect(cancellation.isCancelled)
    }

    private static func size(of file: URL) -> Int {
        ((try? file.resourceValues(forKeys: [.fileSizeKey]))?.fileSize) ?? 0
    }

    @Test(arguments: [
        (
            "REJECT reported from HS processing: Password required or unexpected - not processing",
            true
        ),
        (
            "processAsyncConnectRequest: REJECT reported from HS processing: Incorrect passphrase",
            true
        ),
        ("startConnect: handshake timeout", false),
    ])
    func `a passphrase that a server refuses is recognised in the library's message`(
        message: String, isStated: Bool
    ) {
        #expect((SRTLibrary.reason(in: message) != nil) == isStated)
    }

    /// An error of the connection was taken for one of the codecs, or had no reason.
    @Test(arguments: [
        ("", "method ANNOUNCE failed: 405 Method Not Allowed"),
        ("HTTP/1.0 400 Bad Request\r\n\r\n", "the server does not answer with RTSP"),
    ])
    func `the reason of an RTSP server's refusal is stated`(answer: String, reason: String) throws {
        LibraryLog.keepOffTerminal()
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let listener = try LocalSocket(SOCK_STREAM)
        listen(listener.descriptor, 4)
        let descriptor = listener.descriptor
        Thread {
            let client = accept(descriptor, nil, nil)
            LocalSocket.limitWaits(of: client)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            var number = 0
            while recv(client, &buffer, buffer.count, 0) > 0 {
                number += 1
                let status = number == 1 ? "200 OK" : "405 Method Not Allowed"
                let text = answer.isEmpty ? "RTSP/1.0 \(status)\r\nCSeq: \(number)\r\n\r\n" : answer
                _ = Glibc.send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
                if !answer.isEmpty { break }
            }
            close(client)
        }.start()
        let name = "rtsp://127.0.0.1:\(listener.port)"
        #expect(throws: ContainerError.cannotOpen("\(name)/…", reason: reason)) {
            try Self.send(clip, to: "\(name)/\(Self.secret)", .rtsp)
        }
    }

    @Test(arguments: [
        (EIO, "Failed to resolve hostname h: Name or service not known", true),
        (ECONNREFUSED, "Connection to tcp://h:1 failed: Connection refused", false),
        (EINVAL, "Server error: stream KEY is in use", false),
        (EINVAL, "user ann may not publish", false), (EINVAL, nil, false),
    ])
    func `the library's message replaces an uninformative error code, without secrets`(
        error: Int32, complaint: String?, isStated: Bool
    ) {
        let reason = ConnectionFailure.reason(
            -error, complaint: complaint, url: "rtmp://ann:PASS@h:1/app/KEY?x=y")
        #expect((reason == complaint) == isStated)
        #expect(!reason.contains("KEY") && !reason.contains("ann"))
    }

    @Test func `a secret that the URL has encoded is not repeated decoded`() {
        let reason = ConnectionFailure.reason(
            -EINVAL, complaint: "no stream KEY", url: "rtmp://h:1/app/%4BEY")
        #expect(!reason.contains("KEY"))
    }

    @Test func `an unsupported codec of a stream is named without advice for files`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let error = #expect(throws: ContainerError.cannotStream(format: "WebM", codec: "H264")) {
            try Self.send(clip, to: "udp://127.0.0.1:9", .webM)
        }
        #expect(error.map { !"\($0)".contains(".mkv") } ?? false)
        let line = "\(ContainerError.cannotStream(format: "FLV", codec: "HEVC"))"
        #expect(line.contains("srt://") && line.contains("H.264"))
    }
}
