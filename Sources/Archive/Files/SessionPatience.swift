import Dispatch
import Glibc
import Media
import Synchronization
import Threads

/// Reads an archive's sessions in turn, and omits those whose files do not respond: calls to a network file system without
/// its server block forever, and cannot be cancelled.
///
/// A thread stays blocked on each such session; while it does, the session counts as unresponsive. Any thread may call.
package final class SessionPatience: Sendable {
    /// Usual maximum wait for a session. A disk in standby may need longer; commands that read sessions twice find them then.
    package static let usualNanoseconds: Int64 = 5_000_000_000
    /// Maximum number of blocked threads. Past it, the archive as a whole does not respond.
    private static let maximumSilent = 64
    /// Interval of progress checks.
    private static let looksNanoseconds: Int64 = 100_000_000

    private let nanoseconds: Int64
    /// Paths of sessions for which a thread waits.
    private let silent = Mutex(Set<String>())

    /// - Parameter nanoseconds: maximum wait for one session.
    package init(nanoseconds: Int64 = SessionPatience.usualNanoseconds) {
        self.nanoseconds = nanoseconds
    }

    /// Result for a session.
    package enum Answer<Value: Sendable>: Sendable {
        case value(Value)
        /// No result in time.
        case silence(ArchiveError)
    }

    /// Runs short work on the files of each session, in order.
    /// - Parameter nanoseconds: maximum wait for one session; nil: the usual one.
    /// - Throws: the first error of `body`.
    package func each<Value: Sendable>(
        _ sessions: [String], in layout: ArchiveLayout, nanoseconds: Int64? = nil,
        _ body: @escaping @Sendable (String) throws(ArchiveError) -> Value
    ) throws(ArchiveError) -> [Answer<Value>] {
        guard !sessions.isEmpty else { return [] }
        let walk = Walk<Value>(sessions)
        start(walk, generation: 0, layout, body)
        var place = 0
        var since = SystemClock.monotonic.nowNanoseconds
        while walk.ended.wait(timeout: .now() + .nanoseconds(Int(Self.looksNanoseconds)))
            == .timedOut
        {
            let now = SystemClock.monotonic.nowNanoseconds
            let reached = walk.state.withLock { $0.answers.count }
            if reached > place {
                (place, since) = (reached, now)
            } else if now - since >= nanoseconds ?? self.nanoseconds {
                guard let generation = leave(walk, at: place, layout) else { continue }
                since = now
                let isOver = silent.withLock { $0.count > Self.maximumSilent }
                if isOver { throw Self.silence(layout.sessions) }
                start(walk, generation: generation, layout, body)
            }
        }
        let (answers, error) = walk.state.withLock { ($0.answers, $0.error) }
        if let error { throw error }
        return answers
    }

    /// The sessions whose folders and files respond, and a line about each of the others.
    package func answering(
        _ sessions: [String], in layout: ArchiveLayout
    ) throws(ArchiveError) -> (sessions: [String], problems: [String]) {
        let answers = try each(sessions, in: layout) { session throws(ArchiveError) in
            Self.probe(session, layout)
        }
        var found: [String] = []
        var problems: [String] = []
        for (session, answer) in zip(sessions, answers) {
            switch answer {
            case .value: found.append(session)
            case .silence(let error): problems.append("\(error); its session is left out")
            }
        }
        return (found, problems)
    }

    private static func silence(_ path: String) -> ArchiveError {
        .system(operation: "read", path: path, errno: ETIMEDOUT)
    }

    /// Sessions processed by one thread at a time.
    private final class Walk<Value: Sendable>: Sendable {
        struct State {
            /// Results of the sessions so far.
            var answers: [Answer<Value>] = []
            var error: ArchiveError?
            /// The current thread; earlier ones were abandoned.
            var generation = 0
        }

        let sessions: [String]
        let state = Mutex(State())
        let ended = Semaphore(value: 0)

        init(_ sessions: [String]) { self.sessions = sessions }
    }

    private func start<Value: Sendable>(
        _ walk: Walk<Value>, generation: Int, _ layout: ArchiveLayout,
        _ body: @escaping @Sendable (String) throws(ArchiveError) -> Value
    ) {
        NamedThread.start("look") { [self] in
            while let session = next(walk, generation, layout) {
                var outcome: Result<Value, ArchiveError>
                do throws(ArchiveError) {
                    outcome = .success(try body(session))
                } catch {
                    outcome = .failure(error)
                }
                let isLeft = walk.state.withLock { state in
                    guard state.generation == generation else { return true }
                    switch outcome {
                    case .success(let value): state.answers.append(.value(value))
                    case .failure(let error): state.error = error
                    }
                    return false
                }
                // A late response: the session is no longer silent.
                if isLeft { silent.withLock { _ = $0.remove(layout.session(session)) } }
            }
        }
    }

    /// The next session that is not silent; nil: the thread ends.
    private func next<Value: Sendable>(
        _ walk: Walk<Value>, _ generation: Int, _ layout: ArchiveLayout
    ) -> String? {
        let known = silent.withLock { $0 }
        return walk.state.withLock { state in
            guard state.generation == generation else { return nil }
            while state.error == nil, state.answers.count < walk.sessions.count {
                let session = walk.sessions[state.answers.count]
                let path = layout.session(session)
                guard known.contains(path) else { return session }
                state.answers.append(.silence(Self.silence(path)))
            }
            walk.ended.signal()
            return nil
        }
    }

    /// Abandons a thread that is blocked for too long.
    /// - Returns: the generation of the next one; nil if the thread has continued.
    private func leave<Value: Sendable>(
        _ walk: Walk<Value>, at place: Int, _ layout: ArchiveLayout
    ) -> Int? {
        walk.state.withLock { state in
            guard state.error == nil, state.answers.count == place, place < walk.sessions.count
            else { return nil }
            let path = layout.session(walk.sessions[place])
            silent.withLock { _ = $0.insert(path) }
            state.answers.append(.silence(Self.silence(path)))
            state.generation += 1
            return state.generation
        }
    }

    /// Reads a little of each kind of file: parts of a session may be on other file systems.
    private static func probe(_ session: String, _ layout: ArchiveLayout) {
        touch(layout.manifest(session))
        do throws(ArchiveError) {
            for source in try layout.sourceNames(session) {
                touch(layout.ledger(session, source))
                let segments = try layout.segmentPaths(session, source)
                if let last = segments.last { touch(last) }
            }
        } catch {
            // Its reader reports the error.
        }
    }

    private static func touch(_ path: String) {
        let descriptor = PlainPath.openFile(path, flags: O_RDONLY)
        guard descriptor >= 0 else { return }
        var byte: UInt8 = 0
        _ = pread(descriptor, &byte, 1, 0)
        close(descriptor)
    }
}
