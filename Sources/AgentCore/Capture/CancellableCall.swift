import Dispatch
import Synchronization
import Threads

/// A call to another thread with a timeout: it is cancelled if it has not begun by then.
final class CancellableCall<Value: Sendable>: Sendable {
    private enum State {
        case open
        /// The callee is working on the answer.
        case begun
        case given(Value)
        /// The caller timed out.
        case abandoned
    }

    private let state = Mutex(State.open)
    private let isThere = Semaphore(value: 0)

    /// Called before answering.
    /// - Returns: false if the caller timed out.
    func begin() -> Bool {
        state.withLock { state in
            guard case .open = state else { return false }
            state = .begun
            return true
        }
    }

    /// Delivers the answer. Later answers, and an answer after the caller's timeout, are ignored.
    func give(_ answer: Value) {
        let isFirst = state.withLock { state in
            switch state {
            case .open, .begun:
                state = .given(answer)
                return true
            case .given, .abandoned:
                return false
            }
        }
        if isFirst { isThere.signal() }
    }

    /// Blocks until the call is answered; nil if the callee does not begin within the timeout.
    func wait(milliseconds: Int) -> Value? {
        if isThere.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut {
            let isAbandoned = state.withLock { state in
                guard case .open = state else { return false }
                state = .abandoned
                return true
            }
            if isAbandoned { return nil }
            isThere.wait()
        }
        isThere.signal()
        return state.withLock { state in
            guard case .given(let value) = state else { return nil }
            return value
        }
    }
}
