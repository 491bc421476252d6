import Testing

/// The real programs with each other, with hostile peers and with other software.
/// They mostly wait, so several suites run concurrently (``Turns``), each with one test at a time. Each test has a
/// directory of its own.
@Suite(.sharingCores)
enum EndToEnd {}

extension Trait where Self == Turns {
    /// The suite runs beside a few others.
    static var sharingCores: Turns { Turns(share: 1) }
    /// The suite runs alone: it measures memory or uses every core.
    static var alone: Turns { Turns(share: Turns.all) }
}

/// Limits how many suites run concurrently. Tests cannot wait for it themselves, since waiting counts against their
/// time limits.
struct Turns: SuiteTrait, TestTrait, TestScoping {
    /// Suites that run concurrently on a test machine's two cores.
    static let all = 3

    let share: Int
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
        // The whole share is acquired in one step; acquiring more later could deadlock.
        let share = test.traits.compactMap { ($0 as? Turns)?.share }.max() ?? share
        await Gate.shared.take(share)
        do {
            try await Self.$isTaken.withValue(true, operation: function)
            await Gate.shared.giveBack(share)
        } catch {
            await Gate.shared.giveBack(share)
            throw error
        }
    }

    @TaskLocal private static var isTaken = false
}

/// First come, first served.
private actor Gate {
    static let shared = Gate()

    private var free = Turns.all
    private var waiting: [(share: Int, turn: CheckedContinuation<Void, Never>)] = []

    func take(_ share: Int) async {
        guard !waiting.isEmpty || share > free else {
            free -= share
            return
        }
        await withCheckedContinuation { waiting.append((share, $0)) }
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
