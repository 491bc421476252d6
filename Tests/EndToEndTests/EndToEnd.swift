import Testing

/// The real programs with each other, with hostile peers and with other software.
/// They mostly wait, so several suites run concurrently (``Turns``), each with one test at a time. Each test has a
/// directory of its own.
@Suite(.sharingCores)
enum EndToEnd {}

extension Trait where Self == Turns {
    /// The suite runs beside a few others.
    static var sharingCores: Turns { Turns(share: 1, order: .usual) }
    /// The suite takes minutes: it begins before the others, so that no core waits for it at the end.
    static var long: Turns { Turns(share: 1, order: .first) }
    /// The suite runs alone, after the others: it measures memory or uses every core.
    static var alone: Turns { Turns(share: Turns.all, order: .last) }
}

/// Limits how many suites run concurrently. Tests cannot wait for it themselves, since waiting counts against their
/// time limits.
struct Turns: SuiteTrait, TestTrait, TestScoping {
    enum Order: Int, Comparable {
        case first, usual, last

        static func < (one: Order, other: Order) -> Bool { one.rawValue < other.rawValue }
    }

    /// Suites that run concurrently on a test machine's two cores.
    static let all = 3

    let share: Int
    let order: Order
    let isRecursive = true

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Turns? {
        test.isSuite && test.name != "EndToEnd" ? self : nil
    }

    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        // An inner suite uses its outer suite's share.
        guard !Self.isTaken else { return try await function() }
        // The suite's own trait decides, not that of the whole. The whole share is acquired in one step; acquiring more
        // later could deadlock.
        let own = test.traits.lazy.compactMap { $0 as? Turns }.first { $0.order != .usual } ?? self
        await Gate.shared.take(own.share, own.order)
        do {
            try await Self.$isTaken.withValue(true, operation: function)
            await Gate.shared.giveBack(own.share)
        } catch {
            await Gate.shared.giveBack(own.share)
            throw error
        }
    }

    @TaskLocal private static var isTaken = false
}

/// In the suites' order; first come, first served within it.
private actor Gate {
    static let shared = Gate()

    private var free = Turns.all
    private var waiting:
        [(share: Int, order: Turns.Order, turn: CheckedContinuation<Void, Never>)] = []

    func take(_ share: Int, _ order: Turns.Order) async {
        guard !waiting.isEmpty || share > free else {
            free -= share
            return
        }
        await withCheckedContinuation { turn in
            let index = waiting.firstIndex { $0.order > order } ?? waiting.endIndex
            waiting.insert((share, order, turn), at: index)
        }
    }

    func giveBack(_ share: Int) {
        free += share
        while let next = waiting.first, next.share <= free {
            free -= next.share
            waiting.removeFirst()
            next.turn.resume()
        }
    }
}
