import Containers
import Foundation
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
            feed: String, to url: String = "udp://127.0.0.1:9", format: ContainerFormat = .mpegTS
        ) throws {
            forwarder = try Forwarder(
                Forwarder.Settings(
                    source: "stage", feed: feed, destination: .url(url), format: format),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
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
}
