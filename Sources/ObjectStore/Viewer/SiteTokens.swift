import Files
import Media
import Synchronization

/// The tokens of a site: one, or two while it is replaced. The first one is used for requests, each is accepted. Any thread may
/// call.
///
/// Their file is read again when it changes. While it is invalid, the last tokens remain valid.
package final class SiteTokens: Sendable {
    /// Minimum interval of checks of the file.
    private static let lookNanoseconds: Int64 = 1_000_000_000

    private struct State {
        /// At least one.
        var secrets: [SiteSecret]
        /// State of the file of ``secrets``; nil: it has to be read again.
        var mark: SmallFile.Mark?
        /// Monotonic, nanoseconds.
        var nextLook: Int64
        /// Already reported.
        var flaw: SiteSecret.Flaw?
    }

    /// Nil: they never change.
    private let path: String?
    private let monotonicNow: @Sendable () -> Int64
    private let report: @Sendable (String) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - path: a file with a token or two.
    ///   - monotonicNow: monotonic clock, nanoseconds.
    ///   - report: receives log lines; called on any thread.
    /// - Throws: if the file is missing or invalid.
    package init(
        file path: String,
        monotonicNow: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds },
        report: @escaping @Sendable (String) -> Void
    ) throws(SiteSecret.Flaw) {
        let (secrets, mark) = try SiteSecret.read(path)
        self.path = path
        self.monotonicNow = monotonicNow
        self.report = report
        state = Mutex(
            State(
                secrets: secrets, mark: mark, nextLook: monotonicNow() + Self.lookNanoseconds))
    }

    /// Tokens that never change.
    package init(_ secret: SiteSecret) {
        path = nil
        monotonicNow = { 0 }
        report = { _ in }
        state = Mutex(State(secrets: [secret], mark: nil, nextLook: .max))
    }

    /// The bearer token of a reader; see ``SiteSecret/code(for:archive:_:)``.
    package func code(
        for authority: String, archive: String, _ purpose: SiteSecret.Purpose = .reading
    ) -> String { present[0].code(for: authority, archive: archive, purpose) }

    /// Whether a code is of one of the tokens.
    package func admits(
        _ code: String, for authority: String, archive: String,
        _ purpose: SiteSecret.Purpose = .reading
    ) -> Bool {
        present.contains { $0.admits(code, for: authority, archive: archive, purpose) }
    }

    private var present: [SiteSecret] {
        refresh()
        return state.withLock(\.secrets)
    }

    private func refresh() {
        guard let path else { return }
        let time = monotonicNow()
        // Other threads use the previous tokens during the read.
        let (isDue, mark) = state.withLock { state -> (Bool, SmallFile.Mark?) in
            guard time >= state.nextLook else { return (false, nil) }
            state.nextLook = time + Self.lookNanoseconds
            return (true, state.mark)
        }
        guard isDue else { return }
        if let mark, SmallFile.Mark(of: path) == mark { return }
        do throws(SiteSecret.Flaw) {
            let (secrets, mark) = try SiteSecret.read(path)
            state.withLock { state in
                state.secrets = secrets
                state.mark = mark
                state.flaw = nil
            }
            report(
                secrets.count == 1
                    ? "the site's token in \(path) has changed: it alone is accepted"
                    : "the site's tokens in \(path) have changed: the first is used, both are accepted"
            )
        } catch {
            let isNew = state.withLock { state -> Bool in
                defer { state.flaw = error }
                state.mark = nil
                return state.flaw != error
            }
            if isNew { report("\(error); the site's tokens that were read before still count") }
        }
    }
}
