import Dispatch
import Files
import Glibc
import Synchronization

/// SIGINT and SIGTERM as requests to finish: the first one is graceful, the second one immediate.
package final class StopSignals: Sendable {
    private let watch: SignalWatch

    /// Origin of the request.
    package enum Origin: Sendable {
        /// SIGINT: a person at a terminal.
        case person
        /// SIGTERM: a service manager.
        case system
    }

    /// - Parameter stop: called on its own queue with the number of requests so far, from 1.
    package convenience init(_ stop: @escaping @Sendable (Int) -> Void) {
        self.init { count, _ in stop(count) }
    }

    /// - Parameter stop: called on its own queue with the number of requests so far, from 1, and the last one's origin.
    package init(_ stop: @escaping @Sendable (Int, Origin) -> Void) {
        let count = Count()
        watch = SignalWatch([SIGINT, SIGTERM]) { number in
            count.value += 1
            stop(count.value, number == SIGINT ? .person : .system)
        }
    }

    /// Only used on the signals' serial queue.
    private final class Count: @unchecked Sendable {
        var value = 0
    }
}

/// SIGHUP as a request to reload the configuration.
package final class ReloadSignal: Sendable {
    private let watch: SignalWatch

    /// - Parameter reload: called on a queue of its own, once for each request. It may read files whose disk does not
    ///   respond; stop requests do not wait for it.
    package init(_ reload: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "reload")
        watch = SignalWatch([SIGHUP]) { _ in queue.async { reload() } }
        // One that arrived during the start is delivered now.
        StartSignals.mask(SIG_UNBLOCK, [SIGHUP])
    }
}

/// Signals that arrive while a program starts, before it has its ``StopSignals``.
package enum StartSignals: Sendable {
    /// They have their default actions.
    case usual
    /// A service: SIGTERM ends it at once with status 0, because nothing has begun. If it reloads its configuration, SIGHUP waits
    /// until there is a ``ReloadSignal``.
    case service(reloads: Bool)

    /// Termination signals work even if the parent process has blocked them: masks are inherited.
    func begin() {
        var unblocked = [SIGINT, SIGTERM, SIGHUP]
        if case .service(let reloads) = self {
            signal(SIGTERM) { _ in _exit(0) }
            if reloads {
                unblocked.removeLast()
                Self.mask(SIG_BLOCK, [SIGHUP])
            }
        }
        Self.mask(SIG_UNBLOCK, unblocked)
    }

    fileprivate static func mask(_ change: Int32, _ numbers: [Int32]) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in numbers { sigaddset(&signals, number) }
        pthread_sigmask(change, &signals, nil)
    }
}

/// Calls a closure for certain signals. The release of a signal's last watch restores its default action.
final class SignalWatch: Sendable {
    private let signals: [Int32]
    private let number: Int

    /// Signals are handled once this has returned.
    ///
    /// - Parameter heard: called on the signals' serial queue, where, unlike in a signal handler, any function may be
    ///   called.
    init(_ signals: [Int32], _ heard: @escaping @Sendable (Int32) -> Void) {
        self.signals = signals
        number = SignalPipe.shared.receive(signals, heard)
    }

    deinit { SignalPipe.shared.forget(signals, number) }
}

/// Delivers signals from their handler to a serial queue by a pipe (signal-safety(7)).
///
/// A dispatch signal source registers on another thread, and loses signals that arrive before.
private final class SignalPipe: Sendable {
    static let shared = SignalPipe()

    private struct Receiver: Sendable {
        let number: Int
        let heard: @Sendable (Int32) -> Void
    }

    private struct State {
        var last = 0
        var receivers: [Int32: [Receiver]] = [:]
    }

    private let state = Mutex(State())
    nonisolated(unsafe) private let source: any DispatchSourceRead

    private init() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            Program.complain(
                "cannot watch for signals: \(systemMessage(errno)); raise the limit of open files (ulimit -n)"
            )
            exit(ExitStatus.failure)
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A signal handler must not block.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        signalPipeEnd = ends[1]
        let reader = ends[0]
        source = DispatchSource.makeReadSource(
            fileDescriptor: reader, queue: DispatchQueue(label: "signals"))
        source.setEventHandler { [weak self] in
            var number: UInt8 = 0
            while read(reader, &number, 1) == 1 { self?.deliver(Int32(number)) }
        }
        source.resume()
    }

    /// - Returns: the receiver's number, for ``forget(_:_:)``.
    func receive(_ signals: [Int32], _ heard: @escaping @Sendable (Int32) -> Void) -> Int {
        state.withLock { state in
            state.last += 1
            for number in signals {
                state.receivers[number, default: []].append(
                    Receiver(number: state.last, heard: heard))
                signal(number) { number in
                    let error = errno
                    var byte = UInt8(truncatingIfNeeded: number)
                    _ = write(signalPipeEnd, &byte, 1)
                    errno = error
                }
            }
            return state.last
        }
    }

    func forget(_ signals: [Int32], _ receiver: Int) {
        state.withLock { state in
            for number in signals {
                state.receivers[number]?.removeAll { $0.number == receiver }
                if state.receivers[number]?.isEmpty != false { signal(number, SIG_DFL) }
            }
        }
    }

    private func deliver(_ number: Int32) {
        for receiver in state.withLock({ $0.receivers[number] ?? [] }) { receiver.heard(number) }
    }
}

/// Write end for the handler, which may neither lock nor allocate. Set once, before any handler is installed.
nonisolated(unsafe) private var signalPipeEnd: Int32 = -1
