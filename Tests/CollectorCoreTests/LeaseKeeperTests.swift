import Archive
import Catalog
import Dispatch
import Glibc
import Logging
import Operations
import Synchronization
import Testing

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// A collector's lease on work that is to be done once.
@Suite struct LeaseKeeperTests {
    private final class Place: LeaseTaking {
        private struct State {
            var answer: Lease.Answer?
            var asked = 0
            var released: [Int64] = []
        }

        private let state = Mutex(State())

        init(_ answer: Lease.Answer?) { state.withLock { $0.answer = answer } }

        var asked: Int { state.withLock { $0.asked } }
        var released: [Int64] { state.withLock { $0.released } }
        func set(_ answer: Lease.Answer?) { state.withLock { $0.answer = answer } }

        func take(_ name: String) throws(ArchiveError) -> Lease.Answer {
            let answer = state.withLock { state in
                state.asked += 1
                return state.answer
            }
            guard let answer else {
                throw .unavailable(place: "db1/tributary", reason: "it is away")
            }
            return answer
        }

        func release(_ name: String, token: Int64) throws(ArchiveError) {
            state.withLock { $0.released.append(token) }
        }
    }

    private final class Clock: Sendable {
        private let seconds = Atomic<Int64>(1_000)
        func pass(_ more: Int64) { seconds.add(more, ordering: .relaxed) }
        var now: Int64 { seconds.load(ordering: .relaxed) * second }
    }

    private func keeper(_ place: Place, _ clock: Clock) -> LeaseKeeper {
        LeaseKeeper(
            place, name: "retention", logger: Logger(label: ""), now: { clock.now })
    }

    @Test func `an unreachable database ends the lease, and it settles again afterwards`() {
        let (place, clock) = (Place(.granted(token: 3)), Clock())
        let keeper = keeper(place, clock)
        #expect(keeper.status == LeaseStatus(state: .unknown))
        keeper.ask()
        #expect(keeper.status == LeaseStatus(state: .settling, token: 3))
        for _ in 0..<3 {
            clock.pass(10)
            keeper.ask()
        }
        #expect(keeper.isHeld && keeper.status == LeaseStatus(state: .held, token: 3))
        place.set(nil)
        for _ in 0..<13 {
            clock.pass(2)
            keeper.ask()
        }
        #expect(keeper.isHeld)
        clock.pass(2)
        keeper.ask()
        #expect(!keeper.isHeld && keeper.status == LeaseStatus(state: .unknown))
        place.set(.granted(token: 4))
        clock.pass(2)
        keeper.ask()
        #expect(!keeper.isHeld && keeper.status == LeaseStatus(state: .settling, token: 4))
    }

    @Test func `the status names another holder`() {
        let (place, clock) = (
            Place(.refused(holder: "west", remainingNanoseconds: 9 * second)), Clock()
        )
        let keeper = keeper(place, clock)
        keeper.ask()
        #expect(!keeper.isHeld && keeper.status == LeaseStatus(state: .taken, holder: "west"))
        #expect(keeper.status.text == "done by west")
    }

    @Test func `its thread requests the lease, and releases it at the end`() {
        let (place, clock) = (Place(.granted(token: 5)), Clock())
        let keeper = keeper(place, clock)
        keeper.start()
        for _ in 0..<2_000 where place.asked == 0 { usleep(5_000) }
        keeper.stop(until: .now() + .seconds(60))
        #expect(place.asked >= 1 && place.released == [5])
        // There is nothing to give back.
        let other = Place(.refused(holder: "west", remainingNanoseconds: second))
        let second = self.keeper(other, clock)
        second.start()
        for _ in 0..<2_000 where other.asked == 0 { usleep(5_000) }
        second.stop(until: .now() + .seconds(60))
        #expect(other.released == [])
    }
}
