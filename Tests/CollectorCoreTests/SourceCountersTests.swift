import Foundation
import Media
import Operations
import Testing
@testable import Wire

@testable import CollectorCore

@Suite struct SourceCountersTests {
    private static let second: Int64 = 1_000_000_000

    private func source(_ name: String, spool: UInt8 = 1) throws -> SourceIntroduction {
        var source = SourceIntroduction(
            name: name, agent: "box", address: "10.0.0.7",
            spool: try #require(SpoolID([UInt8](repeating: spool, count: 16))), epochs: [],
            tracks: [])
        source.software = "agent 1"
        return source
    }

    @Test func `a gap counts with its cause, and every cause begins at zero`() throws {
        var sourceCounters = SourceCounters()
        sourceCounters.opened(try source("stage"), at: 0)
        let fresh = try #require(sourceCounters["stage"]).counts.gaps
        #expect(fresh.count == GapCause.allCases.count + LostRecords.own.count)
        #expect(fresh.values.allSatisfy { $0 == SourceCounts.Gaps() })
        sourceCounters.missed(7, of: "stage", cause: GapCause.driverDrop.description)
        sourceCounters.missed(0, of: "stage", cause: LostRecords.restart)
        sourceCounters.missed(3, of: "nobody", cause: "overrun")
        let counters = try #require(sourceCounters["stage"]).counts
        #expect(counters.gaps["driver_drop"] == SourceCounts.Gaps(count: 1, samples: 7))
        #expect(counters.gaps["restart"] == SourceCounts.Gaps(count: 1, samples: 0))
        #expect(counters.lostSamples == 7)
        #expect(sourceCounters["nobody"] == nil)
    }

    @Test func `the runbook has every cause`() throws {
        let runbook = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "deploy/alerts.md")
        let text = try String(contentsOf: runbook, encoding: .utf8)
        var sourceCounters = SourceCounters()
        sourceCounters.opened(try source("stage"), at: 0)
        for cause in try #require(sourceCounters["stage"]).counts.gaps.keys {
            #expect(text.contains("`\(cause)`"), "\(cause)")
        }
    }

    @Test func `absent sources are forgotten after an hour, or if there are too many`() throws {
        var sourceCounters = SourceCounters()
        for number in 0..<SourceCounters.maximumSources {
            sourceCounters.opened(try source("camera\(number)"), at: Int64(number))
        }
        sourceCounters.opened(try source("late"), at: 1_000)
        #expect(sourceCounters["late"] == nil)
        #expect(sourceCounters.omitted == 1)
        sourceCounters.closed("camera9", at: 1_001)
        sourceCounters.closed("camera7", at: 1_002)
        sourceCounters.opened(try source("late"), at: 1_003)
        #expect(sourceCounters["late"] != nil)
        #expect(sourceCounters["camera9"] == nil && sourceCounters["camera7"] != nil)
        sourceCounters.forget(at: 1_002 + SourceCounters.forgottenAfterNanoseconds - 1)
        #expect(sourceCounters["camera7"] != nil)
        sourceCounters.forget(at: 1_002 + SourceCounters.forgottenAfterNanoseconds)
        #expect(sourceCounters["camera7"] == nil)
        // Connected sources are kept, however long they are silent.
        #expect(sourceCounters.names.count == SourceCounters.maximumSources - 1)
    }

    @Test func `the age of unpersisted samples counts until all are durable`() throws {
        var sourceCounters = SourceCounters()
        let stage = try source("stage")
        sourceCounters.opened(stage, at: 0)
        func since() -> Int64? { sourceCounters["stage"]?.unpersistedSinceNanoseconds }
        #expect(since() == nil)
        let samples = Samples(
            source: 0, firstSequence: 1, epoch: 0, payloadDigest: [],
            runs: [
                SampleRun(
                    track: .video, sizes: [10, 10], dtsNanoseconds: [0, 40],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [40], flags: [[]])
            ])
        sourceCounters.took(samples, of: "stage", at: 5 * Self.second)
        #expect(since() == 5 * Self.second)
        #expect(sourceCounters["stage"]?.counts.pictures == 2)
        #expect(sourceCounters["stage"]?.counts.receivedBytes == 20)
        sourceCounters.persisted("stage", spool: stage.spool, upTo: 1, at: 7 * Self.second)
        #expect(since() == 7 * Self.second)
        // Another spool's sequences have no effect.
        sourceCounters.persisted("stage", spool: .random(), upTo: 99, at: 8 * Self.second)
        #expect(since() == 7 * Self.second)
        sourceCounters.persisted("stage", spool: stage.spool, upTo: 2, at: 9 * Self.second)
        #expect(since() == nil)
        // The box returns without its spool, and its sequences restart.
        sourceCounters.took(samples, of: "stage", at: 10 * Self.second)
        sourceCounters.opened(try source("stage", spool: 2), at: 11 * Self.second)
        #expect(since() == nil)
        #expect(sourceCounters["stage"]?.counts.connections == 2)
        #expect(sourceCounters["stage"]?.counts.pictures == 4)
    }

    private func health(kept: UInt64, newest: UInt64, isStopped: Bool = false) -> SourceHealth {
        SourceHealth(
            source: 0, keptBytes: kept, newestSequence: newest, lostSamples: 0,
            isStopped: isStopped)
    }

    @Test func `a source that has ended completely has an empty spool`() throws {
        var sourceCounters = SourceCounters()
        sourceCounters.opened(try source("stage"), at: 0)
        #expect(sourceCounters["stage"]?.keptBytes == nil)
        sourceCounters.reported(health(kept: 41_200, newest: 8), of: "stage", at: Self.second)
        #expect(sourceCounters["stage"]?.keptBytes == 41_200)
        sourceCounters.closed("stage", isComplete: true, at: 2 * Self.second)
        #expect(sourceCounters["stage"]?.keptBytes == 0)
    }

    @Test(arguments: [false, true])
    func `an absent agent's report stays until all of it is released`(
        isStored: Bool
    ) throws {
        var sourceCounters = SourceCounters(countsUnreleased: isStored)
        let stage = try source("stage")
        sourceCounters.opened(stage, at: 0)
        sourceCounters.reported(health(kept: 41_200, newest: 8), of: "stage", at: Self.second)
        func release(upTo sequence: UInt64) {
            if isStored {
                sourceCounters.stored("stage", spool: stage.spool, upTo: sequence)
            } else {
                sourceCounters.persisted("stage", spool: stage.spool, upTo: sequence, at: 0)
            }
        }
        // While it is connected, it knows better: it may have more by now.
        release(upTo: 8)
        #expect(sourceCounters["stage"]?.keptBytes == 41_200)
        sourceCounters.reported(health(kept: 50_000, newest: 10), of: "stage", at: Self.second)
        sourceCounters.closed("stage", at: 2 * Self.second)
        #expect(sourceCounters["stage"]?.keptBytes == 50_000)
        release(upTo: 9)
        #expect(sourceCounters["stage"]?.keptBytes == 50_000)
        if isStored { sourceCounters.persisted("stage", spool: stage.spool, upTo: 10, at: 0) }
        #expect(sourceCounters["stage"]?.keptBytes == 50_000 || !isStored)
        release(upTo: 10)
        #expect(sourceCounters["stage"]?.keptBytes == 0)
        // It returns with the samples captured in the meantime.
        sourceCounters.opened(stage, at: 3 * Self.second)
        sourceCounters.reported(health(kept: 70_000, newest: 20), of: "stage", at: 4 * Self.second)
        #expect(sourceCounters["stage"]?.keptBytes == 70_000)
        // Another spool: the previous one's values are discarded.
        sourceCounters.opened(try source("stage", spool: 2), at: 5 * Self.second)
        #expect(sourceCounters["stage"]?.keptBytes == nil)
    }
}
