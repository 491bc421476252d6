import Media
import Testing
import Wire

@testable import AgentCore

private let second: Int64 = 1_000_000_000

@Suite struct CollectorChoiceTests {
    private let names = ["tcp://a:5550", "tcp://b:5550", "tcp://c:5550"]

    private func choice(_ source: String = "camera", present: String? = nil) -> CollectorChoice {
        CollectorChoice(names, source: source, present: present)
    }

    @Test func `a full round of refusals is a repetition, until a collector is useful`() {
        var choice = CollectorChoice(["tcp://a:1", "tcp://b:1"], source: "camera", present: nil)
        var states: [Bool] = []
        for round in 0..<3 {
            states.append(choice.isRepeating)
            choice.advance(now: Int64(round), isRefused: true)
        }
        #expect(states == [false, false, true])
        choice.isUseful(now: 4)
        #expect(!choice.isRepeating)
    }

    @Test func `sources are distributed evenly, and their order depends only on the names`() {
        var first: [String: Int] = [:]
        for number in 0..<600 {
            let order = RendezvousOrder.of(names, for: "camera\(number)")
            #expect(Set(order) == Set(names))
            #expect(order == RendezvousOrder.of(names.reversed(), for: "camera\(number)"))
            first[order[0], default: 0] += 1
            // Without one, the order of the others is the same.
            #expect(
                RendezvousOrder.of(Array(names.dropFirst()), for: "camera\(number)")
                    == order.filter { $0 != names[0] })
        }
        for name in names { #expect((150...250).contains(first[name] ?? 0), "\(first)") }
        // The specification's example.
        #expect(
            RendezvousOrder.weight(of: "tcp://a:5550", for: "camera") == 12_502_184_639_108_469_647)
    }

    @Test func `a preview goes to the collector of its source`() {
        for number in 0..<50 {
            #expect(
                choice("camera\(number).preview").collectors == choice("camera\(number)").collectors
            )
        }
    }

    @Test
    func `after silence of three to six seconds the next collector is tried, in a circle`() {
        var choice = choice()
        let order = choice.collectors
        var now: Int64 = 5 * second
        #expect(choice.complaint(now: now) == nil)
        for turn in 1...4 {
            #expect(choice.complaint(now: now + 2_999_000_000) == nil)
            choice.heard(now: now + 2 * second)
            choice.isUseful(now: now + 2 * second)
            #expect(choice.complaint(now: now + 4_999_000_000) == nil)
            #expect(choice.complaint(now: now + 6 * second)?.contains("nothing was heard") == true)
            now += 6 * second
            choice.advance(now: now)
            #expect(choice.present == order[turn % 3])
        }
    }

    @Test func `sources that lose a collector together do not all look for the next at once`() {
        var left: Set<Int64> = []
        for number in 0..<50 {
            var choice = choice("camera\(number)")
            _ = choice.complaint(now: 0)
            let time = (0...20).map { 3 * second + Int64($0) * second / 20 }.first {
                choice.complaint(now: $0) != nil
            }
            left.insert(time ?? 0)
        }
        #expect(left.count > 10 && left.allSatisfy { (3 * second...4 * second).contains($0) })
    }

    @Test func `a collector that accepts nothing is left`() {
        var choice = choice()
        for step in 0..<15 {
            choice.heard(now: Int64(step) * second)
            #expect(choice.complaint(now: Int64(step) * second) == nil)
        }
        choice.heard(now: 15 * second)
        #expect(choice.complaint(now: 15 * second)?.contains("accepted nothing") == true)
    }

    @Test func `the silence of a collector counts from the first known time`() {
        var choice = CollectorChoice(["a", "b"], source: "camera", present: nil)
        choice.advance(now: nil)
        #expect(choice.complaint(now: 100_000_000_000) == nil)
        #expect(choice.complaint(now: 105_000_000_000) != nil)
    }

    @Test func `collectors that all decline are tried more and more slowly`() {
        var choice = CollectorChoice(["a", "b", "c"], source: "camera", present: nil)
        var pauses: [Int64] = []
        for _ in 0..<9 {
            choice.advance(now: 0)
            pauses.append(choice.pauseMilliseconds)
        }
        #expect(pauses == [0, 0, 100, 100, 100, 200, 200, 200, 400])
        for _ in 0..<100 { choice.advance(now: 0) }
        #expect(choice.pauseMilliseconds == 2_000)
        choice.isUseful(now: 0)
        choice.advance(now: 0)
        #expect(choice.pauseMilliseconds == 0)
        // One that another cursor uses is not tried.
        choice.excluded = ["b"]
        choice.advance(now: 0)
        #expect(choice.pauseMilliseconds == 100)
    }

    @Test func `if all have refused, the next one that has refused is a last resort`() {
        var choice = CollectorChoice(["a", "b", "c"], source: "camera", present: nil)
        let order = choice.collectors
        choice.isUseful(now: 0)
        // Those that are silent or accept nothing do not admit it either if it has no other collector.
        choice.advance(now: 0, isRefused: true)
        choice.advance(now: 0)
        #expect(!choice.isLastResort)
        choice.advance(now: 0, isRefused: true)
        #expect(choice.present == order[0] && choice.isLastResort)
        choice.advance(now: 0, isRefused: true)
        #expect(choice.present == order[1] && !choice.isLastResort)
        choice.advance(now: 0)
        #expect(choice.present == order[2] && choice.isLastResort)
        // It stays there for a minute, and then is an agent that has others.
        choice.isUseful(now: 10 * second)
        var leaves = choice.leavesLastResort(now: 69 * second)
        #expect(!leaves && choice.isLastResort)
        choice.isUseful(now: 69 * second)
        leaves = choice.leavesLastResort(now: 70 * second)
        #expect(leaves && !choice.isLastResort)
        leaves = choice.leavesLastResort(now: 200 * second)
        #expect(!leaves)
    }

    @Test func `unreachable collectors are not a last resort`() {
        var choice = choice()
        for _ in 0..<9 { choice.advance(now: 0) }
        #expect(!choice.isLastResort)
        // One that accepts records ends what the others have said.
        choice.advance(now: 0, isRefused: true)
        choice.isUseful(now: 0)
        choice.advance(now: 0, isRefused: true)
        choice.advance(now: 0, isRefused: true)
        #expect(!choice.isLastResort)
    }

    @Test func `a collector that already records the source as the second is skipped`() {
        var choice = CollectorChoice(["a", "b", "c"], source: "camera", present: nil)
        let order = choice.collectors
        choice.excluded = [order[1]]
        choice.advance(now: 0, isRefused: true)
        #expect(choice.present == order[2] && !choice.isLastResort)
        choice.advance(now: 0, isRefused: true)
        #expect(choice.present == order[0] && choice.isLastResort)
    }

    @Test func `the present collector is kept, and a single one is never left`() {
        let last = RendezvousOrder.of(names, for: "camera")[2]
        #expect(choice(present: last).present == last)
        #expect(choice(present: "tcp://d:5550").present != "tcp://d:5550")
        var only = CollectorChoice(["tcp://a:5550"], source: "camera", present: nil)
        #expect(only.complaint(now: 0) == nil && only.complaint(now: 3_600 * second) == nil)
    }

    @Test func `a list of endpoints names each once`() {
        #expect(UplinkSettings.collectors("tcp://a:1") == ["tcp://a:1"])
        #expect(
            UplinkSettings.collectors("tcp://a:1, tcp://b:1,,tcp://a:1") == [
                "tcp://a:1", "tcp://b:1",
            ])
    }
}

@Suite struct CollectorNoteTests {
    private func note() -> CollectorNote {
        var note = CollectorNote()
        note.term = 7
        note.endpoint = "tcp://b:5550"
        note.name = "east side"
        note.held = [
            SpoolID(high: 1, low: 2): [
                HeldRange(collector: "west wing", sequences: 1...9),
                HeldRange(collector: "tcp://a:5550", sequences: 10...400),
            ]
        ]
        note.ownFirst = [SpoolID(high: 1, low: 2): .init(first: 1, second: 401)]
        note.session = CollectorNote.Session(
            clock: SessionClock(
                session: "2026-11-20T22-40-00.000Z", zeroUTCNanoseconds: 5, zeroNanoseconds: -6,
                zeroErrorNanoseconds: 7, segmentNanoseconds: 8),
            exchange: ReportedExchange(t1: 1, t2: -2, t3: 3, t4: 4, epoch: 0),
            epoch: EpochID(high: 3, low: 4), collector: "west wing")
        return note
    }

    @Test func `a note is the same after encoding and decoding`() {
        #expect(CollectorNote(note().encoded()) == note())
        #expect(CollectorNote(CollectorNote().encoded()) == CollectorNote())
    }

    @Test func `a damaged note is refused`() {
        let bytes = note().encoded()
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(CollectorNote(damaged) == nil, "byte \(index)")
            #expect(CollectorNote(Array(bytes.prefix(index))) == nil, "\(index) bytes")
        }
    }
}
