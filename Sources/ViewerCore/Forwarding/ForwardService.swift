import Dispatch
import FoundationEssentials
import Glibc
import Logging
import Media
import Synchronization
import Threads

/// Forwards live sources: keeps a process of `tributary forward` for each entry of the list. Any thread may call.
///
/// A thread for each entry starts the process, reads its reports, and waits for its end. The process is killed when that thread
/// ends (``ForwardProgram``), so that none outlives a viewer that was killed.
final class ForwardService: Sendable {
    /// A process in the way the service uses it.
    struct Process: Sendable {
        /// Runs it until it ends: calls a closure with each line of its output, and answers why it has ended.
        var run: @Sendable ((String) -> Void) -> String
        /// Sends a signal to it; from then on none is started.
        var stop: @Sendable (Int32) -> Void
    }

    /// Time between SIGTERM and SIGKILL. The viewer itself ends within four seconds.
    private static let patienceNanoseconds: Int64 = 2_000_000_000

    private struct State {
        var supervisions: [ForwardSupervision]
        var processes: [Int: Process] = [:]
        var isStopping = false
    }

    private let make: @Sendable (ForwardEntry) -> Process
    private let now: @Sendable () -> Int64
    private let wait: @Sendable (Threads.Semaphore, Int64) -> Void
    private let logger: Logger
    private let state: Mutex<State>
    private let threads: [JoinableThread]
    /// One for each entry; signalled at the end.
    private let wakes: [Threads.Semaphore]

    /// - Parameters:
    ///   - make: a process for an entry, which does not run yet.
    ///   - now: monotonic, nanoseconds.
    ///   - wait: waits for a semaphore, at most so many nanoseconds.
    init(
        _ entries: [ForwardEntry], logger: Logger,
        now: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds },
        wait: @escaping @Sendable (Threads.Semaphore, Int64) -> Void = { semaphore, nanoseconds in
            _ = semaphore.wait(timeout: .now() + .nanoseconds(Int(nanoseconds)))
        }, make: @escaping @Sendable (ForwardEntry) -> Process
    ) {
        self.make = make
        self.now = now
        self.wait = wait
        self.logger = logger
        state = Mutex(State(supervisions: entries.map { ForwardSupervision($0) }))
        threads = entries.map { _ in JoinableThread() }
        wakes = entries.map { _ in Threads.Semaphore(value: 0) }
    }

    /// Processes of a program.
    convenience init(_ entries: [ForwardEntry], of program: ForwardProgram, logger: Logger) {
        self.init(entries, logger: logger) { entry in
            let process = ForwardProcess(program, entry)
            return Process {
                process.run($0)
            } stop: {
                process.stop($0)
            }
        }
    }

    /// The status of each entry, in the order of the list.
    var statuses: [ForwardStatus] { state.withLock { $0.supervisions.map(\.status) } }

    func start() {
        for (index, thread) in threads.enumerated() {
            thread.start("forward") { [self] in supervise(index) }
        }
    }

    /// Ends all processes, and waits for them. Call it once, after ``start()``.
    func stop() {
        signal(SIGTERM)
        for wake in wakes { wake.signal() }
        let deadline = DispatchTime.now() + .nanoseconds(Int(Self.patienceNanoseconds))
        for thread in threads where !thread.join(until: deadline) { signal(SIGKILL) }
        for thread in threads { thread.join() }
    }

    private func signal(_ number: Int32) {
        let running = state.withLock { state in
            state.isStopping = true
            return Array(state.processes.values)
        }
        for process in running { process.stop(number) }
    }

    /// Keeps the process of an entry.
    private func supervise(_ index: Int) {
        while let process = next(index) {
            let reason = process.run { [self] line in heard(line, index) }
            let ended = state.withLock { state -> (Int64, ForwardSupervision.Note)? in
                state.processes[index] = nil
                let ended = state.supervisions[index].ended(reason, now: now())
                return state.isStopping ? nil : ended
            }
            guard let (pause, note) = ended else { return }
            log(note)
            wait(wakes[index], pause)
        }
    }

    /// The next process of an entry; nil at the end.
    private func next(_ index: Int) -> Process? {
        let begun = state.withLock { state -> (Process, ForwardSupervision.Note)? in
            guard !state.isStopping else { return nil }
            let process = make(state.supervisions[index].entry)
            state.processes[index] = process
            return (process, state.supervisions[index].started(now: now()))
        }
        guard let (process, note) = begun else { return nil }
        log(note)
        return process
    }

    private func heard(_ line: String, _ index: Int) {
        let report: ForwardReport
        do {
            report = try JSONDecoder().decode(ForwardReport.self, from: Data(line.utf8))
        } catch {
            return logger.debug("a line of 'tributary forward' is left out: \(error)")
        }
        for note in state.withLock({ $0.supervisions[index].reported(report) }) { log(note) }
    }

    private func log(_ note: ForwardSupervision.Note) {
        logger.log(level: note.isWarning ? .warning : .notice, "\(note.text)")
    }
}
