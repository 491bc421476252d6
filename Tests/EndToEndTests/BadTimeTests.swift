import Archive
import Dispatch
import Foundation
import Media
import Testing
import Timing
import Wire

extension EndToEnd {
    /// Peers with impossible times: every sample is kept, the ledger records the fault, and other sources are
    /// unaffected.
    @Suite(.serialized) struct BadTimeTests {
        /// The fault in a peer's times.
        enum Oddity: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case backwards, anHourAhead, noDuration, presentedFarAhead, answerBeforeProbe,
                hugeOffset

            var testDescription: String { rawValue }

            private static let second: Int64 = 1_000_000_000

            /// Ten pictures, 40 ms apart except one.
            func run(from now: Int64) -> SampleRun {
                var times = (0..<10).map { now + Int64($0) * 40_000_000 }
                var delays: [Int64] = []
                var durations: [Int64] = [40_000_000]
                switch self {
                case .backwards: times[5] -= 5 * Self.second
                case .anHourAhead: times[5] += 3_600 * Self.second
                case .noDuration: durations = [0]
                case .presentedFarAhead:
                    delays = (0..<10).map { $0 == 5 ? 3_600 * Self.second : 0 }
                case .answerBeforeProbe, .hugeOffset: break
                }
                return SampleRun(
                    track: .video,
                    sizes: times.map { _ in UInt32(Stranger.picture.count) },
                    dtsNanoseconds: times, ptsOffsetsNanoseconds: delays,
                    durationsNanoseconds: durations,
                    flags: times.indices.map { $0 == 0 ? .keyframe : [] })
            }

            /// Its clock exchange after eight correct ones.
            func exchange(at now: Int64) -> ReportedExchange {
                switch self {
                case .answerBeforeProbe:
                    ReportedExchange(
                        t1: now, t2: now + 20_000, t3: now + 10_000, t4: now + 50_000, epoch: 1)
                case .hugeOffset:
                    ReportedExchange(
                        t1: now + 3_600 * Self.second, t2: now + 20_000, t3: now + 21_000,
                        t4: now + 3_600 * Self.second + 50_000, epoch: 1)
                case .backwards, .anHourAhead, .noDuration, .presentedFarAhead:
                    ReportedExchange(
                        t1: now, t2: now + 20_000, t3: now + 21_000, t4: now + 50_000, epoch: 1)
                }
            }

            /// Whether the ledger entry reports the fault.
            func isTold(by entry: LedgerEntry) -> Bool {
                let fault: StampFault
                switch self {
                case .answerBeforeProbe: return entry.rejectedExchanges == 1
                case .hugeOffset: return entry.outlyingExchanges == 1
                case .backwards: fault = .backwards
                case .anHourAhead: fault = .ahead
                case .noDuration: fault = .badDuration
                case .presentedFarAhead: fault = .presentationFarAhead
                }
                return entry.kind == .time && entry.text?.contains(fault.rawValue) == true
            }
        }

        @Test(arguments: Oddity.allCases)
        func `impossible times are counted in the ledger and do not affect other sources`(
            _ oddity: Oddity
        ) async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera", "--duration", "3s")
                _ = try await stage.holds(1, of: "camera")
                try send(oddity, to: stage.endpoint)
                try await agent.succeeds()
                // Its peer disconnected without a goodbye; its samples are still written.
                collector.signal(SIGINT)
                let outcome = try await collector.outcome()
                #expect(outcome.complaints.contains("90 pictures"), "\(outcome.complaints)")
                try await expectAudio(stage)
                let layout = ArchiveLayout(root: stage.archive)
                // On a slow machine the camera's session may have ended before the stranger spoke.
                let sessions = try layout.sessionNames()
                let session = try #require(
                    sessions.first { FileSystem.exists(layout.ledger($0, "odd")) })
                let told = try Ledger.read(layout.ledger(session, "odd")).entries
                #expect(told.contains(where: oddity.isTold), "\(told)")
                let recorded = try #require(sessions.first)
                let others = try Ledger.read(layout.ledger(recorded, "camera")).entries
                #expect(!others.contains { $0.kind == .time || $0.kind == .discontinuity })
                let report = try SessionVerifier.verify(session, in: layout)
                let odd = try #require(report.sources.first { $0.name == "odd" })
                #expect(odd.recordedSamples == 10)
                // A time an hour ahead would make the file an hour long.
                let ends = odd.files.flatMap(\.tracks).map(\.endSeconds)
                #expect(ends.allSatisfy { $0 < 60 }, "\(ends)")
            }
        }

        private func send(_ oddity: Oddity, to endpoint: String) throws {
            var stranger = try Stranger(to: endpoint)
            try stranger.send(Stranger.hello(source: "odd"))
            guard case .welcome = try #require(try stranger.answer()) else {
                throw StageFailure(description: "no Welcome")
            }
            let now = Int64(DispatchTime.now().uptimeNanoseconds)
            let right = (1...8).map { index in
                let time = now - Int64(index) * 1_000_000
                return ReportedExchange(
                    t1: time, t2: time + 20_000, t3: time + 21_000, t4: time + 50_000, epoch: 1)
            }
            let exchanges = right.reversed() + [oddity.exchange(at: now)]
            try stranger.send(
                WireMessage.heartbeat(Heartbeat(clockExchanges: exchanges)).encoded())
            let (header, payload) = Stranger.samples(oddity.run(from: now))
            try stranger.send(header, payload)
            // It stays until its samples are on disk.
            try stranger.waitUntilPersisted(10)
        }
    }
}
