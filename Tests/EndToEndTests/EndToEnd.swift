import Testing

/// The real programs against each other, against hostile peers and against foreign readers.
///
/// Most of their time they wait: so several suites run at once (``Turns``), and within each one test after another. Each test has a
/// directory of its own.
@Suite(.sharingCores)
enum EndToEnd {}

extension Trait where Self == Turns {
    /// Each suite within this one runs beside a few others.
    static var sharingCores: Turns { Turns(share: 1) }
    /// The suite runs while no other does: for what measures memory, or needs every core.
    static var alone: Turns { Turns(share: Turns.all) }
}

/// Bounds how many suites run at once, and has those wait that would be too many. Tests cannot wait themselves: that would count
/// against their time limits.
struct Turns: SuiteTrait, TestTrait, TestScoping {
    /// How many suites run at once on the two cores that a test machine has.
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
        // The turn of a suite is that of the suites within it.
        guard !Self.isTaken else { return try await function() }
        // All that is asked for at once: whoever asked for more later could wait for one that does the same.
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

/// Who waits gets its turn in the order of coming.
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
