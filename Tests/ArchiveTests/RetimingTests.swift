import Archive
import Media
import MP4
import TestRecordings
import Testing

@Suite struct RetimingTests {
    private static let second = WrittenSession.second
    /// Late by 3 ms at first, right after four seconds.
    @Sendable private static func settling(_ session: Int64) -> Int64 {
        max(0, 3_000_000 - session * 3_000_000 / (4 * second))
    }

    private func retime(
        _ session: WrittenSession, isDryRun: Bool = false
    ) throws -> RetimingReport {
        let retimer = try SessionRetimer(WrittenSession.name, in: session.layout)
        return try retimer.retime(isDryRun: isDryRun)
    }

    private func undo(_ session: WrittenSession) throws -> RetimingReport {
        let retimer = try SessionRetimer(WrittenSession.name, in: session.layout)
        return try retimer.undo(isDryRun: false)
    }

    /// With times that were recorded too early, the very first samples are delayed to the beginning of their file.
    @Test(arguments: [3_000_000, -600_000] as [Int64])
    func `times are true within the file's bound`(_ early: Int64) throws {
        let session = try WrittenSession { session in
            session > 4 * Self.second ? 0 : early - session / 1_000 * early / 4_000_000
        }
        let before = try session.bytes()
        let report = try retime(session)
        let after = try session.bytes()
        #expect(report.sources.first?.files.map(\.outcome) == [.retimed, .retimed])
        #expect(report.sources.first?.believedExchanges == 40)
        for (index, bytes) in after.enumerated() {
            let origin = Int64(index) * 5 * Self.second
            let bound = try #require(
                report.sources[0].files[index].boundAfter?.greatestNanoseconds)
            #expect(bound < 120_000)
            for (picture, time) in try WrittenSession.times(bytes, .video).enumerated() {
                let truth = Int64(picture) * Self.second / 20 + origin
                // A tick of rounding twice; and no picture is presented before its file begins.
                #expect(abs(time + origin - truth) <= Int64(bound) + 12_000, "\(index) \(picture)")
            }
            for (packet, time) in try WrittenSession.times(bytes, .audio).enumerated() {
                let truth = Int64(packet) * Self.second / 50 + origin
                #expect(abs(time + origin - truth) <= Int64(bound) + 84_000, "\(index) \(packet)")
            }
        }
        let first = try WrittenSession.times(before[0], .video)[1]
        #expect(abs(first - Self.second / 20) > 400_000)
    }

    @Test func `no byte of media moves, and the recording still proves itself`() throws {
        let session = try WrittenSession(error: Self.settling)
        let before = try session.bytes()
        _ = try retime(session)
        for (path, (old, new)) in zip(try session.paths, zip(before, try session.bytes())) {
            #expect(new.count > old.count)
            // All bytes except the 16 of the large `mdat`'s size.
            #expect(new[..<32] == old[..<32])
            #expect(new[48..<old.count] == old[48...])
            let report = FileVerifier.verify(path).report
            #expect(report.findings == [] && report.state == .finished)
            #expect(report.retiming != nil)
        }
    }

    @Test func `undo brings back every byte`() throws {
        let session = try WrittenSession(error: Self.settling)
        let before = try session.bytes()
        _ = try retime(session)
        #expect(try undo(session).sources[0].files.map(\.outcome) == [.restored, .restored])
        #expect(try session.bytes() == before)
        #expect(try undo(session).sources[0].files.map(\.outcome) == [.unchanged, .unchanged])
    }

    @Test func `retiming is deterministic`() throws {
        let session = try WrittenSession(error: Self.settling)
        let other = try WrittenSession(error: Self.settling)
        _ = try retime(session)
        _ = try retime(other)
        let once = try session.bytes()
        #expect(try other.bytes() == once)
        let again = try retime(session)
        #expect(again.sources[0].files.map(\.outcome) == [.unchanged, .unchanged])
        #expect(try session.bytes() == once)
        _ = try undo(session)
        _ = try retime(session)
        #expect(try session.bytes() == once)
    }

    @Test func `a dry run reports the same and changes nothing`() throws {
        let session = try WrittenSession(error: Self.settling)
        let before = try session.bytes()
        let dry = try retime(session, isDryRun: true)
        #expect(try session.bytes() == before)
        let wet = try retime(session)
        #expect(dry.sources == wet.sources)
        let greatest = try #require(dry.sources[0].files[0].greatestShiftNanoseconds)
        #expect(greatest > 2_800_000 && greatest < 3_200_000)
    }

    @Test func `sound that was end to end stays so, also across the cut`() throws {
        // Wrong by an amount that sound cannot show: both clocks agree, live and afterwards.
        let session = try WrittenSession(skewPPB: 0) { _ in 400_000 }
        _ = try retime(session)
        var ends: [Int64] = []
        for bytes in try session.bytes() {
            let movie = try Movie.read(from: MemorySource(bytes))
            let sound = try #require(movie.track(.audio)?.samples)
            #expect(sound.durations.dropFirst().allSatisfy { $0 == 960 })
            ends.append(try WrittenSession.times(bytes, .audio)[249])
        }
        // The first packet of all was captured at zero, and the last of a file lasts until the next file begins.
        #expect(abs(ends[0] + Self.second / 50 - 5 * Self.second) < 42_000)
    }

    @Test func `samples that would precede their file are late, with a known error`() throws {
        // Everything was captured 80 ms before it was recorded: almost two pictures, with three reordered.
        let lead: Int64 = 80_000_000
        let session = try WrittenSession(
            lead: lead, reordered: true, boundNanoseconds: 100_000_000
        ) { _ in lead }
        let before = try session.bytes()
        let report = try retime(session)
        #expect(report.sources[0].files.map(\.outcome) == [.retimed, .retimed])
        for (index, bytes) in try session.bytes().enumerated() {
            #expect(FileVerifier.verify(try session.paths[index]).report.findings == [])
            let movie = try Movie.read(from: MemorySource(bytes))
            let box = try #require(movie.userBoxes.first)
            let record = try RetimingRecord(parsing: box.payload)
            for kind in [TrackKind.video, .audio] {
                let recorded = try WrittenSession.times(before[index], kind)
                let times = try WrittenSession.times(bytes, kind)
                #expect(times.allSatisfy { $0 >= 0 })
                let order = recorded.indices.sorted { recorded[$0] < recorded[$1] }
                #expect(order == times.indices.sorted { times[$0] < times[$1] })
                let knots = try #require(record.track(kind)).knots
                let ticks: Int64 = kind == .video ? 90_000 : 48_000
                let decoded = try WrittenSession.decodingTimes(before[index], kind)
                for (sample, time) in times.enumerated() {
                    let knot = knots.last { $0.ticks <= decoded[sample] } ?? knots[0]
                    let error = abs(time - (recorded[sample] - lead))
                    // Half a tick twice, and two ticks of sound's tolerance.
                    let grid = 3 * Self.second / ticks
                    #expect(error <= Int64(knot.boundNanoseconds) + grid, "\(kind) \(sample)")
                }
                // Correct again after two seconds, with an ordinary bound.
                #expect(abs(times[90] - (recorded[90] - lead)) < 200_000)
                #expect(try #require(knots.last).boundNanoseconds < 200_000)
            }
        }
        _ = try undo(session)
        #expect(try session.bytes() == before)
    }

    @Test(arguments: [-60, -3, 3, 60])
    func `priming keeps its duration wherever audio is moved`(_ milliseconds: Int64) throws {
        // Captured so much before it was recorded, or after.
        let lead = milliseconds * 1_000_000
        let session = try WrittenSession(segments: 1, skewPPB: 0, lead: lead, primed: true) { _ in
            lead
        }
        let before = try session.bytes()[0]
        #expect(try retime(session).sources[0].files.map(\.outcome) == [.retimed])
        let after = try session.bytes()[0]
        #expect(after != before)
        let movie = try Movie.read(from: MemorySource(after))
        let sound = try #require(movie.track(.audio))
        // One packet is decoded and not presented, and no sample of the next is hidden.
        #expect(sound.samples.durations.first == 960)
        #expect(sound.edits.last?.mediaTime == 960)
    }

    @Test func `files of one name still start together`() throws {
        let session = try WrittenSession { _ in 700_000 }
        let other = try WrittenSession { _ in 100_000 }
        for each in [session, other] { _ = try retime(each) }
        for (one, two) in zip(try session.bytes(), try other.bytes()) {
            let times = try [one, two].map { try WrittenSession.times($0, .video) }
            #expect(abs(times[0][20] - times[1][20]) < 12_000)
            #expect(try #require(times[0].first) >= 0 && (try #require(times[1].first)) >= 0)
        }
    }

    @Test func `a session that is growing or incomplete is refused with the reason`() throws {
        let recording = try WrittenSession(state: .recording, error: Self.settling)
        #expect(throws: ArchiveError.self) { try retime(recording) }
        let growing = try WrittenSession(finished: false, error: Self.settling)
        do {
            _ = try retime(growing)
            Issue.record("a growing file was retimed")
        } catch let error as ArchiveError {
            #expect(error.description.contains("not finished"))
        }
        let torn = try WrittenSession(error: Self.settling)
        let path = try torn.paths[1]
        let bytes = try torn.bytes()
        try FileSystem.replace(path, with: Array(bytes[1].prefix(3_000)))
        #expect(throws: ArchiveError.self) { try retime(torn) }
        #expect(try torn.bytes()[0] == bytes[0])
    }

    @Test func `two programs never retime one session at once`() throws {
        let session = try WrittenSession(error: Self.settling)
        let holder = try SessionRetimer(WrittenSession.name, in: session.layout)
        #expect(throws: ArchiveError.self) { try retime(session) }
        _ = try holder.retime(isDryRun: true)
    }

    @Test func `a recording without exchanges stays as it is`() throws {
        let session = try WrittenSession(withExchanges: false, error: Self.settling)
        let before = try session.bytes()
        #expect(try retime(session).sources[0].files[0].outcome == .withoutExchanges)
        #expect(try session.bytes() == before)
    }

    @Test func `every flipped byte of a mapping is found`() throws {
        let session = try WrittenSession(segments: 1, secondsEach: 2, error: Self.settling)
        _ = try retime(session)
        let path = try session.paths[0]
        let bytes = try session.bytes()[0]
        let start = try #require(
            bytes.indices.last { bytes[$0...].starts(with: RetimingRecord.userType) })
        for position in stride(from: start, to: bytes.count, by: 7) {
            var damaged = bytes
            damaged[position] ^= 0x04
            try FileSystem.replace(path, with: damaged)
            #expect(!FileVerifier.verify(path).report.isIntact, "byte \(position)")
        }
    }
}
