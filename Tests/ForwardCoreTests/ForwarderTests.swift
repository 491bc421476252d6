import Containers
import Foundation
import Glibc
import Logging
import Media
import Messaging
import Synchronization
import Testing
import Wire

@testable import ForwardCore

@Suite struct ForwarderTests {
    /// A forwarder that runs on its own thread.
    private final class Run: Sendable {
        let forwarder: Forwarder
        private let isDone = DispatchSemaphore(value: 0)
        private let end = Mutex<ForwardError?>(nil)

        init(
            feed: String, to url: String = "udp://127.0.0.1:9", format: ContainerFormat = .mpegTS,
            log: LogLines = LogLines()
        ) throws {
            forwarder = try Forwarder(
                Forwarder.Settings(
                    source: "stage", feed: feed, destination: .url(url), format: format),
                logger: Logger(label: "test") { _ in LineCollector(lines: log) })
            Thread { [self] in
                do throws(ForwardError) {
                    try forwarder.run()
                } catch {
                    end.withLock { $0 = error }
                }
                isDone.signal()
            }.start()
        }

        /// The error with which it has ended; nil: it was stopped.
        func ending() throws -> ForwardError? {
            try #require(isDone.wait(timeout: .now() + .seconds(20)) == .success)
            return end.withLock { $0 }
        }

        /// Waits for a reason.
        func trouble(_ part: String, while repeating: () throws -> Void = {}) throws {
            for _ in 0..<200 {
                try repeating()
                if forwarder.status.trouble?.contains(part) == true { return }
                usleep(50_000)
            }
            Issue.record("no trouble with \(part): \(forwarder.status)")
        }
    }

    private static func endpoint() -> String {
        "ipc://\(FileManager.default.temporaryDirectory.path)/\(UUID().uuidString).feed"
    }

    @Test func `without a collector it waits, and states why`() throws {
        let run = try Run(feed: Self.endpoint())
        try run.trouble("does not exist")
        #expect(run.forwarder.status.state == .waiting)
        run.forwarder.stop()
        #expect(try run.ending() == nil)
    }

    @Test func `a source that the collector does not have is stated`() throws {
        let endpoint = Self.endpoint()
        let context = try Context()
        let socket = try Socket(.publisher, in: context)
        try socket.bind(endpoint)
        let status = FeedMessage.status(
            Array(#"{"sources": [{"name": "door"}], "omittedSources": 0}"#.utf8)
        ).encoded()
        let run = try Run(feed: endpoint)
        try run.trouble("has no source 'stage': start its agent, or use one of door") {
            // As the collector does, which publishes to those that have subscribed.
            _ = try socket.receive(maximumParts: 1)
            _ = try socket.send(.bytes(FeedTopic.status), .bytes(status))
        }
        run.forwarder.stop()
        #expect(try run.ending() == nil)
    }

    @Test func `codecs that the destination cannot hold end it`() throws {
        let endpoint = Self.endpoint()
        let context = try Context()
        let socket = try Socket(.publisher, in: context)
        try socket.bind(endpoint)
        let format = TrackFormat.video(
            .h264(
                sequenceParameterSets: [
                    [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
                ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
        let run = try Run(feed: endpoint, format: .webM)
        for number in 1...400 {
            let samples = FeedSamples(
                session: "a", zeroUTCNanoseconds: 0, source: "stage", number: UInt64(number),
                formats: [format], boundNanoseconds: 0, arrivedNanoseconds: 0,
                runs: [
                    FeedSamples.Run(
                        track: .video, firstSequence: UInt64(number),
                        samples: [
                            .init(
                                sizeBytes: 4, dts: Int64(number) * 3_600,
                                pts: Int64(number) * 3_600, duration: 3_600, flags: .keyframe)
                        ])
                ])
            _ = try socket.receive(maximumParts: 1)
            _ = try socket.send(
                .bytes(FeedTopic.source("stage")),
                .bytes(FeedMessage.samples(samples).encoded()), .bytes([0, 0, 0, 0]))
            if run.forwarder.status.trouble != nil { break }
            usleep(50_000)
        }
        let error = ForwardError.unsupported(.cannotStream(format: "WebM", codec: "H264"))
        #expect(try run.ending() == error)
        #expect(run.forwarder.status.trouble == "\(error)")
    }

    private static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ], pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    /// Publishes a keyframe, as the collector does.
    private static func publish(
        _ number: Int, of session: String = "a", to socket: borrowing Socket
    ) throws {
        let samples = FeedSamples(
            session: session, zeroUTCNanoseconds: 0, source: "stage", number: UInt64(number),
            formats: [format], boundNanoseconds: 0, arrivedNanoseconds: 0,
            runs: [
                FeedSamples.Run(
                    track: .video, firstSequence: UInt64(number),
                    samples: [
                        .init(
                            sizeBytes: 6, dts: Int64(number) * 3_600,
                            pts: Int64(number) * 3_600, duration: 3_600, flags: .keyframe)
                    ])
            ])
        _ = try socket.receive(maximumParts: 1)
        _ = try socket.send(
            .bytes(FeedTopic.source("stage")),
            .bytes(FeedMessage.samples(samples).encoded()), .bytes([0, 0, 0, 2, 0x65, 1]))
    }

    @Test func `a new session is connected anew, and the log has the reason`() throws {
        let endpoint = Self.endpoint()
        let context = try Context()
        let socket = try Socket(.publisher, in: context)
        try socket.bind(endpoint)
        let log = LogLines()
        let run = try Run(feed: endpoint, log: log)
        for number in 1...400 {
            let connections = run.forwarder.status.connections
            try Self.publish(number, of: connections == 0 ? "a" : "b", to: socket)
            if connections > 1 { break }
            usleep(50_000)
        }
        #expect(run.forwarder.status.connections == 2)
        run.forwarder.stop()
        #expect(try run.ending() == nil)
        #expect(log.text.contains("a new session begins: connecting again"))
    }

    /// Slow name resolution was called a blocked connection.
    @Test func `a server that does not answer is not one that has blocked a connection`() throws {
        let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isBound && listen(listener, 4) == 0)
        let port = UInt16(bigEndian: address.sin_port)
        let endpoint = Self.endpoint()
        let context = try Context()
        let socket = try Socket(.publisher, in: context)
        try socket.bind(endpoint)
        let run = try Run(feed: endpoint, to: "rtmp://127.0.0.1:\(port)/a/b", format: .flv)
        var number = 0
        try run.trouble("connecting to rtmp://127.0.0.1:\(port)/… takes longer than 5 s") {
            number += 1
            try Self.publish(number, to: socket)
        }
        run.forwarder.stop()
        #expect(try run.ending() == nil)
    }
}

/// Collects lines of a log.
private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

private struct LineCollector: LogHandler {
    let lines: LogLines
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)") }
}
