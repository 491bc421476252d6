import Dispatch
import Synchronization

/// One thread waits for what another does, but not for ever: what has not been begun by then is not done any more.
final class CancellableCall<Value: Sendable>: Sendable {
    private enum State {
        case open
        /// It is being answered.
        case begun
        case given(Value)
        /// The caller has stopped waiting.
        case abandoned
    }

    private let state = Mutex(State.open)
    private let isThere = DispatchSemaphore(value: 0)

    /// Called before answering; false: the caller has stopped waiting.
    func begin() -> Bool {
        state.withLock { state in
            guard case .open = state else { return false }
            state = .begun
            return true
        }
    }

    /// The answer; only the first counts.
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

    /// Blocks until the answer is there; nil if answering has not begun within that time.
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
