/// The right of one process among several to do work that is to be done once, for a limited time. A value without clock
/// and database.
///
/// A row in the database names the holder, until when, by the database's clock, and a token that every change of holder
/// raises.
///
///     free ──granted──► settling ──a term later──► held ──a term without renewal, or another holder──► free
///
/// - Its own end: a term, less ``marginNanoseconds``, after the request was *sent*, by the process's own clock. The
///   database sets its end when it executes the request, which is later.
/// - Settling: a database that fails over to a standby, or is restored from a dump, may have forgotten the last grants,
///   and give a lease away twice, with the same token. The former holder stops by itself within a term, so the
///   next holder waits for one.
///
/// So no two processes hold it at once, even if the database loses commits, while their clocks' rates differ by less
/// than the margin. It does not hold where two servers accept writes at once, nor for a single step that a process began
/// before it was paused: work under a lease does no harm when it is done twice.
package struct Lease: Hashable, Sendable {
    package static let termNanoseconds: Int64 = 30_000_000_000
    /// Interval of renewals: one may fail before the lease ends.
    package static let renewalNanoseconds: Int64 = 10_000_000_000
    /// Pause before a retry after an error.
    package static let retryNanoseconds: Int64 = 2_000_000_000
    /// Safety margin at a term's end: for the rate difference of the clocks, and for a step of work in progress.
    package static let marginNanoseconds: Int64 = 3_000_000_000

    package struct Request: Hashable, Sendable {
        fileprivate var number: UInt64
        fileprivate var sentNanoseconds: Int64
    }

    package enum Answer: Hashable, Sendable {
        case granted(token: Int64)
        /// - Parameters:
        /// - holder: its display name.
        ///   - remainingNanoseconds: until its end, by the database's clock.
        case refused(holder: String, remainingNanoseconds: Int64)
    }

    /// State of the lease, as this process knows it.
    package enum Standing: Hashable, Sendable {
        /// The database has not answered yet, or has stopped answering.
        case unknown
        case settling(token: Int64)
        case held(token: Int64)
        /// Another process has it.
        case taken(by: String)
    }

    private struct Grant: Hashable {
        var token: Int64
        var settlesNanoseconds: Int64
        var endsNanoseconds: Int64
    }

    private var grant: Grant?
    /// Name of the other holder.
    private var otherName: String?
    /// Time until which the other holder is assumed: one term after the last refusal.
    private var otherEndsNanoseconds: Int64 = 0
    private var pending: Request?
    private var latest: UInt64 = 0
    /// Time of the next request.
    package private(set) var dueNanoseconds: Int64 = .min

    package init() {}

    /// Whether the work may be done now. Ask before each step.
    /// - Parameter now: the process's monotonic clock, nanoseconds.
    package func isHeld(now: Int64) -> Bool {
        if case .held = standing(now: now) { true } else { false }
    }

    package func standing(now: Int64) -> Standing {
        if let grant, now < grant.endsNanoseconds {
            return now < grant.settlesNanoseconds
                ? .settling(token: grant.token) : .held(token: grant.token)
        }
        if let otherName, now < otherEndsNanoseconds { return .taken(by: otherName) }
        return .unknown
    }

    /// The request to send now; nil: none is due, or one is pending.
    package mutating func request(now: Int64) -> Request? {
        guard now >= dueNanoseconds, pending == nil else { return nil }
        latest += 1
        let request = Request(number: latest, sentNanoseconds: now)
        pending = request
        return request
    }

    /// The database has answered. Answers to other requests than the pending one are ignored.
    package mutating func answered(_ request: Request, _ answer: Answer, now: Int64) {
        guard request == pending else { return }
        pending = nil
        dueNanoseconds = request.sentNanoseconds + Self.renewalNanoseconds
        switch answer {
        case .granted(let token):
            otherName = nil
            let ends = request.sentNanoseconds + Self.termNanoseconds - Self.marginNanoseconds
            if let grant, grant.token == token, now < grant.endsNanoseconds {
                self.grant?.endsNanoseconds = ends
            } else {
                grant = Grant(
                    token: token, settlesNanoseconds: now + Self.termNanoseconds,
                    endsNanoseconds: ends)
            }
        case .refused(let holder, let remaining):
            grant = nil
            otherName = holder
            otherEndsNanoseconds = now + Self.termNanoseconds
            // The end of a row that no collector wrote may be centuries ahead.
            let wait = min(max(remaining, Self.retryNanoseconds), Self.renewalNanoseconds)
            dueNanoseconds = min(dueNanoseconds, now + wait)
        }
    }

    /// The request was not answered: it may have been executed, or may yet be.
    package mutating func failed(_ request: Request, now: Int64) {
        guard request == pending else { return }
        pending = nil
        dueNanoseconds = now + Self.retryNanoseconds
    }

    /// Gives it back.
    /// - Returns: the token to give back; nil: it has none.
    package mutating func end(now: Int64) -> Int64? {
        defer { grant = nil }
        return grant?.token
    }
}
