import Synchronization
import TestRecordings
import Testing

@testable import Archive
@testable import Catalog

/// Answers that several readers of one program share for a moment.
@Suite struct CatalogMemoryTests {
    private final class Clock: Sendable {
        private let time = Atomic<Int64>(1)

        var now: Int64 { time.load(ordering: .relaxed) }

        func pass(_ nanoseconds: Int64) {
            time.wrappingAdd(nanoseconds, ordering: .relaxed)
        }
    }

    private let archives = [SmallArchive(), SmallArchive()]
    private let clock = Clock()
    private let memory: CatalogMemory
    private let east: ArchiveIdentity
    private let west: ArchiveIdentity

    init() throws {
        memory = CatalogMemory { [clock] in clock.now }
        (east, west) = (
            try ArchiveIdentity.make(archives[0].layout),
            try ArchiveIdentity.make(archives[1].layout)
        )
    }

    /// The answer while the server would answer `rows`.
    private func ask(
        _ rows: [Int], _ question: CatalogMemory.Question = .sessionNames,
        of archive: ArchiveIdentity? = nil
    ) throws -> [Int] {
        try memory.answer(question, of: archive ?? east) { () throws(ArchiveError) in rows }
    }

    @Test func `an answer is given again for two seconds`() throws {
        #expect(try ask([1]) == [1])
        clock.pass(CatalogMemory.lifetimeNanoseconds - 1)
        #expect(try ask([2]) == [1])
        clock.pass(1)
        #expect(try ask([3]) == [3])
        #expect(try ask([4]) == [3])
    }

    @Test func `other queries and other archives have separate answers`() throws {
        #expect(try ask([1]) == [1])
        #expect(try ask([2], of: west) == [2])
        #expect(try ask([3], .sessions(from: nil, until: nil)) == [3])
        #expect(try ask([4], .sessions(from: 1, until: nil)) == [4])
        #expect(try ask([5], .segments(session: "a", from: nil, until: nil)) == [5])
        #expect(try ask([6], .segments(session: "b", from: nil, until: nil)) == [6])
        #expect(try ask([7], .growingSegments(session: "a")) == [7])
        #expect(try ask([8]) == [1])
    }

    @Test func `after a change, no earlier answer is used`() throws {
        #expect(try ask([1]) == [1])
        memory.forget()
        #expect(try ask([2]) == [2])
        // A query that began before the change ends after it.
        clock.pass(CatalogMemory.lifetimeNanoseconds)
        let late = try memory.answer(.sessionNames, of: east) { () throws(ArchiveError) in
            memory.forget()
            return [3]
        }
        #expect(late == [3])
        #expect(try ask([4]) == [4])
    }

    @Test func `a failure is not kept`() throws {
        #expect(throws: ArchiveError.self) {
            let _: [Int] = try memory.answer(.sessionNames, of: east) { () throws(ArchiveError) in
                throw .unavailable(place: "db", reason: "away")
            }
        }
        #expect(try ask([1]) == [1])
    }

    @Test func `the number of kept answers is limited`() throws {
        for from in 0..<Int64(CatalogMemory.maximumAnswers) {
            #expect(try ask([1], .sessions(from: from, until: nil)) == [1])
        }
        #expect(try ask([2]) == [2])
        #expect(try ask([3]) == [3], "there is no room")
        #expect(try ask([4], .sessions(from: 5, until: nil)) == [1])
        clock.pass(CatalogMemory.lifetimeNanoseconds)
        #expect(try ask([5]) == [5])
        #expect(try ask([6]) == [5])
    }

    @Test func `kept answers are limited, and old ones are replaced`() throws {
        let large = Array(0..<CatalogMemory.maximumRows)
        #expect(try ask(large).count == large.count)
        #expect(try ask([1]) == [1], "one that is too large is not kept")
        let half = Array(large.dropLast(large.count / 2))
        #expect(try ask(half, of: west) == half)
        #expect(try ask(half, .growingSegments(session: "a")) == half)
        #expect(try ask([2], .growingSegments(session: "a")) == [2], "there is no room")
        clock.pass(CatalogMemory.lifetimeNanoseconds)
        #expect(try ask(half, .growingSegments(session: "b")) == half)
        #expect(try ask([], .growingSegments(session: "b")) == half)
    }
}
