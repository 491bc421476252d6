import Synchronization

/// Work was refused by ``AsyncLimit``.
package enum LimitError: Error, Hashable, Sendable {
    /// The queue is full.
    case full
    /// The owner's limit of queued work is reached.
    case fullForOwner(Int)
}

/// Limits running and queued work, in total and per owner.
///
/// A free slot goes to the owner whose last work started longest ago (``Turns``). A cancelled task leaves the queue. With
/// `longDuration`, work that takes very long, for example with a hung disk, releases its slot and continues without one.
package final class AsyncLimit: Sendable {
    /// Behaviour if the queue is full.
    package enum WhenFull: Sendable {
        case refused
        /// Replaces queued work of the owner with the latest turn, if its own turn was earlier; the replaced work is refused.
        case displacesFrequent
    }

    private struct Waiter: Sendable {
        let number: Int
        let owner: WorkOwner
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// Limit of running work without a slot.
    private static let maximumLong = 16

    private struct State {
        var free: Int
        /// Work running without a slot.
        var long = 0
        var last = 0
        /// Oldest first; empty while a slot is free.
        var waiting: [Waiter] = []
        var turns = Turns<WorkOwner>()
    }

    private enum Admission {
        case begins, waits, displaces(Waiter), isFull, isFullForOwner, isCancelled
    }

    private let state: Mutex<State>
    private let maximumWaiting: Int
    private let maximumOfOwner: Int
    private let whenFull: WhenFull
    private let longDuration: Duration?

    /// - Parameters:
    ///   - waiting: limit of queued work.
    ///   - ofOwner: limit of queued work per owner.
    ///   - longDuration: work releases its slot after this time; nil: never.
    package init(
        _ count: Int, waiting: Int, ofOwner: Int, whenFull: WhenFull = .refused,
        longDuration: Duration? = nil
    ) {
        state = Mutex(State(free: count))
        maximumWaiting = waiting
        maximumOfOwner = ofOwner
        self.whenFull = whenFull
        self.longDuration = longDuration
    }

    /// Number of queued work items.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// - Throws: ``LimitError`` if the queue is full, in total or for this owner; errors of the work; or `CancellationError`.
    package func run<Result: Sendable>(
        for owner: WorkOwner, _ work: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await enter(owner)
        let lease = Lease()
        let watch = longDuration.map { duration in
            Task { [self] in
                try await Task.sleep(for: duration)
                releaseEarly(lease)
            }
        }
        defer {
            watch?.cancel()
            end(lease)
        }
        return try await work()
    }

    /// The slot of one work item.
    private final class Lease: Sendable {
        enum State {
            case held, returned, ended
        }

        let state = Mutex(State.held)
    }

    /// Releases the slot of work that runs long, which continues without one.
    private func releaseEarly(_ lease: Lease) {
        let isReleased = state.withLock { state in
            lease.state.withLock { lease in
                guard lease == .held, state.long < Self.maximumLong else { return false }
                lease = .returned
                state.long += 1
                return true
            }
        }
        if isReleased { leave() }
    }

    private func end(_ lease: Lease) {
        let isHeld = state.withLock { state in
            lease.state.withLock { lease in
                defer { lease = .ended }
                if lease == .returned { state.long -= 1 }
                return lease == .held
            }
        }
        if isHeld { leave() }
    }

    private func enter(_ owner: WorkOwner) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let waiter = Waiter(number: number, owner: owner, continuation: continuation)
                switch admit(waiter) {
                case .begins: continuation.resume()
                case .waits: break
                case .displaces(let other): other.continuation.resume(throwing: LimitError.full)
                case .isFull: continuation.resume(throwing: LimitError.full)
                case .isFullForOwner:
                    continuation.resume(throwing: LimitError.fullForOwner(maximumOfOwner))
                case .isCancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            giveUp(number)
        }
        // It may have been started at the moment of its cancellation.
        guard !Task.isCancelled else {
            leave()
            throw CancellationError()
        }
    }

    private func admit(_ waiter: Waiter) -> Admission {
        let (maximumWaiting, maximumOfOwner) = (maximumWaiting, maximumOfOwner)
        let whenFull = whenFull
        return state.withLock { state -> Admission in
            // Under the lock, so that a later cancellation finds the waiter.
            guard !Task.isCancelled else { return .isCancelled }
            if state.free > 0 {
                state.free -= 1
                state.turns.begin(waiter.owner)
                return .begins
            }
            let own = state.waiting.count { $0.owner == waiter.owner }
            guard state.waiting.count < maximumWaiting else {
                guard whenFull == .displacesFrequent, own < maximumOfOwner,
                    let place = state.turns.last(
                        of: state.waiting.map(\.owner), after: waiter.owner)
                else { return .isFull }
                let other = state.waiting.remove(at: place)
                state.waiting.append(waiter)
                return .displaces(other)
            }
            guard own < maximumOfOwner else { return .isFullForOwner }
            state.waiting.append(waiter)
            return .waits
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = state.withLock { state -> Waiter? in
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                return nil
            }
            return state.waiting.remove(at: place)
        }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    private func leave() {
        let next = state.withLock { state -> Waiter? in
            guard let place = state.turns.next(of: state.waiting.map(\.owner)) else {
                state.free += 1
                return nil
            }
            let waiter = state.waiting.remove(at: place)
            state.turns.begin(waiter.owner)
            return waiter
        }
        next?.continuation.resume()
    }
}
