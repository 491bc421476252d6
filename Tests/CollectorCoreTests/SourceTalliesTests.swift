import Foundation
import Media
import Operations
import Testing
@testable import Wire

@testable import CollectorCore

@Suite struct SourceTalliesTests {
    private static let second: Int64 = 1_000_000_000

    private func source(_ name: String, spool: UInt8 = 1) throws -> OpenedSource {
        OpenedSource(
            name: name, agent: "box", software: "agent 1", address: "10.0.0.7", owner: "",
            spool: try #require(Identity([UInt8](repeating: spool, count: 16))), epochs: [],
            tracks: [], received: 0, missing: nil)
    }

    @Test func `a gap counts with its cause, and every cause begins at zero`() throws {
        var tallies = SourceTallies()
        tallies.opened(try source("stage"), at: 0)
        let fresh = try #require(tallies["stage"]).gaps
        #expect(fresh.count == GapCause.allCases.count + LostRecords.own.count)
        #expect(fresh.values.allSatisfy { $0 == SourceStatus.Gaps() })
        tallies.missed(7, of: "stage", cause: GapCause.driverDrop.description)
        tallies.missed(0, of: "stage", cause: LostRecords.restart)
        tallies.missed(3, of: "nobody", cause: "overrun")
        let tally = try #require(tallies["stage"])
        #expect(tally.gaps["driver_drop"] == SourceStatus.Gaps(count: 1, samples: 7))
        #expect(tally.gaps["restart"] == SourceStatus.Gaps(count: 1, samples: 0))
        #expect(tally.lostSamples == 7)
        #expect(tallies["nobody"] == nil)
    }

    @Test func `the runbook knows every cause`() throws {
        let runbook = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "deploy/README.md")
        let text = try String(contentsOf: runbook, encoding: .utf8)
        var tallies = SourceTallies()
        tallies.opened(try source("stage"), at: 0)
        for cause in try #require(tallies["stage"]).gaps.keys {
            #expect(text.contains("`\(cause)`"), "\(cause)")
        }
    }

    @Test func `who is gone for an hour is forgotten, and makes room before that`() throws {
        var tallies = SourceTallies()
        for number in 0..<SourceTallies.maximumSources {
            tallies.opened(try source("camera\(number)"), at: Int64(number))
        }
        tallies.opened(try source("late"), at: 1_000)
        #expect(tallies["late"] == nil)
        #expect(tallies.omitted == 1)
        tallies.closed("camera9", at: 1_001)
        tallies.closed("camera7", at: 1_002)
        tallies.opened(try source("late"), at: 1_003)
        #expect(tallies["late"] != nil)
        #expect(tallies["camera9"] == nil && tallies["camera7"] != nil)
        tallies.forget(at: 1_002 + SourceTallies.forgottenAfterNanoseconds - 1)
        #expect(tallies["camera7"] != nil)
        tallies.forget(at: 1_002 + SourceTallies.forgottenAfterNanoseconds)
        #expect(tallies["camera7"] == nil)
        // Who is connected is not forgotten, however silent.
        #expect(tallies.names.count == SourceTallies.maximumSources - 1)
    }

    @Test func `what is not durable ages until all of it is`() throws {
        var tallies = SourceTallies()
        let stage = try source("stage")
        tallies.opened(stage, at: 0)
        func since() -> Int64? { tallies["stage"]?.unpersistedSinceNanoseconds }
        #expect(since() == nil)
        let samples = Samples(
            source: 0, firstSequence: 1, epoch: 0, payloadDigest: [],
            runs: [
                SampleRun(
                    track: .video, sizes: [10, 10], dtsNanoseconds: [0, 40],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [40], flags: [[]])
            ])
        tallies.took(samples, of: "stage", at: 5 * Self.second)
        #expect(since() == 5 * Self.second)
        #expect(tallies["stage"]?.pictures == 2)
        #expect(tallies["stage"]?.receivedBytes == 20)
        tallies.persisted("stage", spool: stage.spool.bytes, upTo: 1, at: 7 * Self.second)
        #expect(since() == 7 * Self.second)
        // Another spool's numbers say nothing.
        tallies.persisted("stage", spool: [9], upTo: 99, at: 8 * Self.second)
        #expect(since() == 7 * Self.second)
        tallies.persisted("stage", spool: stage.spool.bytes, upTo: 2, at: 9 * Self.second)
        #expect(since() == nil)
        // The box comes back with nothing: its numbers begin anew.
        tallies.took(samples, of: "stage", at: 10 * Self.second)
        tallies.opened(try source("stage", spool: 2), at: 11 * Self.second)
        #expect(since() == nil)
        #expect(tallies["stage"]?.connections == 2)
        #expect(tallies["stage"]?.pictures == 4)
    }
}
