import Catalog
import Media

/// The agreement of a collector and its site about the present session. A value: it owns no connection and no clock.
///
/// ```
/// none ──begin──► waiting ──answer──► agreed ◄──answer── asking
///  │                 └─overdue, failed─► alone ──in a while─┘▲│
///  └─site away, resumed─────────────────► ▲  ◄─failed───────││
///                                         └──the site denies it
/// ```
///
/// A session's beginning waits for an answer for ``patienceNanoseconds`` at most, and only while the site was reachable
/// the last time. Late and repeated answers are ignored, by their tickets.
struct SessionAgreement: Hashable, Sendable {
    enum Standing: Hashable, Sendable {
        /// There is no session.
        case none
        /// The session's beginning waits for the answer.
        case waiting(ticket: UInt64, deadline: Int64)
        /// It is recorded without an answer.
        case alone(askAgain: Int64)
        /// It is recorded without an answer, and a question is pending.
        case asking(ticket: UInt64, deadline: Int64)
        /// It is the site's session, or attached to it.
        case agreed
    }

    enum Outcome: Hashable, Sendable {
        /// The answer is late or repeated.
        case ignored
        /// The proposed session begins: the site has it, or did not answer.
        case begin
        /// The site has another session, which begins here instead of the proposed one.
        case join(SiteAgreement)
        /// The running session is the site's.
        case agreed
        /// The running session is attached to the site's.
        case attach(SiteAgreement)
        /// The question about a running session failed.
        case failed
    }

    /// Until then samples are held in memory, as in the start window.
    static let patienceNanoseconds: Int64 = 2_000_000_000
    /// A question about a running session may take as long as the server's answer.
    private static let runningPatienceNanoseconds: Int64 = 60_000_000_000
    private static let pauseNanoseconds: Int64 = 5_000_000_000

    private(set) var standing = Standing.none
    private var ticket: UInt64 = 0
    /// Whether the site answered the last question.
    var isReachable = false

    /// A session is about to begin.
    /// - Returns: the ticket of the question that its beginning waits for; nil: it begins now.
    mutating func begin(at now: Int64) -> UInt64? {
        guard isReachable else {
            standing = .alone(askAgain: now)
            return nil
        }
        ticket += 1
        standing = .waiting(
            ticket: ticket, deadline: now.clampedAdding(Self.patienceNanoseconds))
        return ticket
    }

    /// Whether a session's beginning has waited long enough.
    func isOverdue(at now: Int64) -> Bool {
        if case .waiting(_, let deadline) = standing { now >= deadline } else { false }
    }

    /// The session is recorded without an answer, or in spite of it.
    mutating func goAlone(at now: Int64) {
        standing = .alone(askAgain: now.clampedAdding(Self.pauseNanoseconds))
    }

    /// Continues the session of an earlier collector.
    mutating func resumed(at now: Int64) { standing = .alone(askAgain: now) }

    mutating func ended() { standing = .none }

    /// The session that was agreed on is not the site's: its database has lost commits, or two were begun at once.
    mutating func denied(at now: Int64) {
        if standing == .agreed { goAlone(at: now) }
    }

    /// - Returns: the ticket of a question that is due while the session is recorded.
    mutating func ask(at now: Int64) -> UInt64? {
        switch standing {
        case .none, .waiting, .agreed: return nil
        case .asking(_, let deadline):
            if now >= deadline { goAlone(at: now) }
            return nil
        case .alone(let due):
            guard now >= due, isReachable else { return nil }
            ticket += 1
            standing = .asking(
                ticket: ticket, deadline: now.clampedAdding(Self.runningPatienceNanoseconds))
            return ticket
        }
    }

    /// - Parameter answer: nil: there is none.
    mutating func take(
        _ answered: UInt64, _ answer: SiteAgreement?, at now: Int64
    ) -> Outcome {
        switch standing {
        case .none, .alone, .agreed: return .ignored
        case .waiting(let ticket, _):
            guard answered == ticket else { return .ignored }
            guard let answer else {
                goAlone(at: now)
                return .begin
            }
            standing = .agreed
            return answer.isProposed ? .begin : .join(answer)
        case .asking(let ticket, _):
            guard answered == ticket else { return .ignored }
            guard let answer else {
                goAlone(at: now)
                return .failed
            }
            standing = .agreed
            return answer.isProposed ? .agreed : .attach(answer)
        }
    }
}
