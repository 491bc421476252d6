import Archive
import MP4
import Testing

@Suite("Retiming a session whose server was restarted")
struct RebootedRetimingTests {
    private static let second = RebootedRecording.second
    private static let steady = RebootedRecording.Box(name: "steady")
    private static let other = RebootedRecording.Box(name: "other")
    /// A box that was restarted together with the server.
    private static let restarted = RebootedRecording.Box(name: "restarted", restarts: [1])

    private func retime(_ recording: RebootedRecording) throws -> RetimingReport {
        try SessionRetimer(RebootedRecording.name, in: recording.layout).retime(isDryRun: false)
    }

    private func verify(_ recording: RebootedRecording) throws -> SessionReport {
        try SessionVerifier.verify(RebootedRecording.name, in: recording.layout)
    }

    @Test func `boots are tied together by the clocks that ran through them`() throws {
        // The second boot was recorded 40 ms late, the third 30 ms late.
        let recording = try RebootedRecording(
            [Self.steady, Self.restarted], errors: [0, 40_000_000, 30_000_000],
            bounds: [2_000_000, 50_000_000, 50_000_000])
        let report = try retime(recording)
        #expect(report.sources.flatMap(\.files).allSatisfy { $0.outcome == .retimed })
        for source in ["steady", "restarted"] {
            for (boot, times) in try recording.times(source).enumerated() {
                // Times before their file's start are delayed, and converge within 20 times the delay.
                for (time, truth) in zip(times, RebootedRecording.truth(boot)).dropFirst(10) {
                    #expect(abs(time - truth) < 300_000, "\(source) \(boot) \(truth)")
                }
            }
            let files = report.sources.first { $0.name == source }?.files ?? []
            for file in files.dropFirst() {
                let before = try #require(file.boundBefore)
                let after = try #require(file.boundAfter)
                #expect(after.greatestNanoseconds <= before.greatestNanoseconds)
                // Two clocks may drift apart by their skews' uncertainty while the server is down.
                #expect(after.medianNanoseconds < 3_000_000)
            }
        }
        #expect(try verify(recording).hasWholeMedia)
    }

    @Test func `undo brings back every byte`() throws {
        let recording = try RebootedRecording(
            [Self.steady, Self.restarted], errors: [0, 40_000_000], bounds: [2_000_000, 50_000_000])
        let before = try ["steady", "restarted"].map(recording.bytes)
        _ = try retime(recording)
        #expect(try ["steady", "restarted"].map(recording.bytes) != before)
        _ = try SessionRetimer(RebootedRecording.name, in: recording.layout).undo(isDryRun: false)
        #expect(try ["steady", "restarted"].map(recording.bytes) == before)
    }

    @Test func `a boot that no clock ran through stays where it was recorded`() throws {
        let recording = try RebootedRecording(
            [Self.restarted], errors: [0, 40_000_000], bounds: [2_000_000, 50_000_000])
        let before = try recording.times("restarted")
        let report = try retime(recording)
        for (one, other) in zip(before[1], try recording.times("restarted")[1]) {
            #expect(abs(one - other) < 300_000)
        }
        let bound = try #require(report.sources[0].files[1].boundAfter)
        // The wall clock's error stays unknown.
        #expect(bound.leastNanoseconds > 40_000_000)
        #expect(bound.greatestNanoseconds <= 50_000_000)
    }

    @Test func `new times that contradict the timestamps are refused`() throws {
        // Times of the second boot are half a minute late: its file cannot begin earlier than it does.
        let recording = try RebootedRecording(
            [Self.steady, Self.other], errors: [0, 30 * Self.second],
            bounds: [2_000_000, UInt64(40 * Self.second)])
        let before = try ["steady", "other"].map(recording.bytes)
        #expect(throws: ArchiveError.self) { try retime(recording) }
        #expect(try ["steady", "other"].map(recording.bytes) == before)
    }
}

@Suite("Distances of times against stamps")
struct StampDistanceTests {
    private static let second = RebootedRecording.second

    @Test func `times that keep the distances of their stamps are intact`() throws {
        let recording = try RebootedRecording(
            [.init(name: "camera")], errors: [0, 300_000, -300_000],
            bounds: [2_000_000, 2_000_000, 2_000_000])
        let report = try SessionVerifier.verify(RebootedRecording.name, in: recording.layout)
        #expect(report.isIntact, "\(report.allFindings)")
    }

    @Test(arguments: [-50_000_000, 50_000_000, 37 * second] as [Int64])
    func `a step of times within a file is damage of time, and not of media`(step: Int64) throws {
        let recording = try RebootedRecording(
            [.init(name: "camera")], errors: [step], bounds: [2_000_000], steps: true)
        let report = try SessionVerifier.verify(RebootedRecording.name, in: recording.layout)
        #expect(!report.isIntact && report.hasWholeMedia)
        let findings = report.allFindings
        #expect(findings.map(\.severity) == [.timeDamage])
        #expect(findings.first?.text.contains("records 50 and 51") == true)
    }

    @Test func `a step of times from file to file is damage of time`() throws {
        let recording = try RebootedRecording(
            [.init(name: "camera")], errors: [0, 50_000_000], bounds: [2_000_000, 60_000_000])
        let report = try SessionVerifier.verify(RebootedRecording.name, in: recording.layout)
        #expect(report.allFindings.map(\.severity) == [.timeDamage])
    }
}
