import Archive
import Foundation
import Testing
import Wire

extension EndToEnd {
    /// Agents that disconnect without a goodbye.
    @Suite(.serialized) struct LeavingPeerTests {
        private static let rounds = 12

        /// A killed agent without a spool on disk cannot resend, so received records must be kept.
        @Test func `messages that a peer sent before it disconnected are recorded`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                var last: UInt64 = 0
                for round in 0..<Self.rounds {
                    let received = try visit(
                        stage.endpoint, last: &last, tenthsOfSeconds: 3 + round)
                    #expect(received.before == received.sent, "round \(round)")
                    // The collector notices when it sends next.
                    try await Task.sleep(for: .milliseconds(round * 60))
                }
                collector.signal(SIGINT)
                let outcome = try await collector.outcome()
                #expect(!outcome.complaints.contains("refused"), "\(outcome.complaints)")
                let layout = ArchiveLayout(root: stage.archive)
                let session = try #require(try layout.sessionNames().first)
                let report = try SessionVerifier.verify(session, in: layout)
                #expect(report.sources.map(\.recordedSamples) == [last])
            }
        }

        /// Sends for a while and disconnects without a goodbye.
        /// - Returns: the last record that the collector has of earlier visits, and the last that was sent in them.
        private func visit(
            _ endpoint: String, last: inout UInt64, tenthsOfSeconds: Int
        ) throws -> (before: UInt64, sent: UInt64) {
            var stranger = try Stranger(to: endpoint)
            try stranger.send(Stranger.hello(source: "leaving"))
            guard case .welcome(let welcome) = try #require(try stranger.answer()) else {
                throw StageFailure(description: "no Welcome")
            }
            let before = (welcome.sources.first?.received ?? 0, last)
            for tenth in 0..<tenthsOfSeconds {
                last += 1
                let (header, payload) = Stranger.samples([Stranger.picture], from: last)
                try stranger.send(header, payload)
                // The first visit waits until the session has begun, since samples are buffered until then.
                if last == 1 { try stranger.waitUntilPersisted(1) }
                if tenth < tenthsOfSeconds - 1 { usleep(100_000) }
            }
            return before
        }
    }
}
