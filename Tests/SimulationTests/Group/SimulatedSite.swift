import Catalog
import TestDatabases
import TestSpools

/// The database of a site as a service, with faults by its seed: it is away, slow, gives answers late, twice or not at all, is
/// replaced by a standby without the last commits, or is restored from an old dump.
struct SimulatedSite {
    enum Fault: String {
        case away = "the database is away"
        case promoted = "a standby takes over"
        case restored = "the database is restored from a dump"

        var losesCommits: Bool { self != .away }
    }

    private struct Message {
        var dueNanoseconds: Int64
        var member: Int
        /// Number of the collector's start: a later process does not get the answer.
        var start: Int
        var ticket: UInt64
        var proposal: SiteProposal
        /// Nil: the question is on its way; an answer of nil: the question failed.
        var answer: SiteAgreement??
    }

    private static let hour: Int64 = 3_600_000_000_000

    private var random: SeededGenerator
    private var tables = SiteTables()
    private var standby = SiteTables()
    private var dump = SiteTables()
    private var messages: [Message] = []
    private var awayUntil: Int64 = 0
    private var isPeaceful = false

    init(seed: UInt64) { random = SeededGenerator(seed: seed ^ 0x517E) }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    func isAway(at now: Int64) -> Bool { now < awayUntil }

    mutating func makePeace() {
        isPeaceful = true
        awayUntil = 0
    }

    /// - Returns: the fault that begins; nil: none.
    mutating func makeTrouble(at now: Int64) -> Fault? {
        if chance(30) { standby = tables }
        if chance(500) { dump = tables }
        if chance(300) {
            awayUntil = now + .random(in: 500_000_000...12_000_000_000, using: &random)
            return .away
        }
        let isPromoted = chance(500)
        guard isPromoted || chance(1_000) else { return nil }
        let server = tables.server + 1
        tables = isPromoted ? standby : dump
        tables.server = server
        return isPromoted ? .promoted : .restored
    }

    // MARK: Collectors

    /// The first server's clock is the true one; that of each one that takes over is another hour ahead.
    private mutating func exchange(at now: Int64, bootedAt: Int64) -> ServerExchange {
        let there = Int64.random(in: 50_000...900_000, using: &random)
        let back = Int64.random(in: 50_000...900_000, using: &random)
        return ServerExchange(
            sentNanoseconds: now - bootedAt - there, receivedNanoseconds: now - bootedAt + back,
            serverNanoseconds: now + tables.server * Self.hour, server: tables.server)
    }

    /// A collector asks about a session; ``takeAnswers(of:start:at:bootedAt:)`` has the answer.
    mutating func ask(
        _ proposal: SiteProposal, ticket: UInt64, of member: Int, start: Int, at now: Int64
    ) {
        messages.append(
            Message(
                dueNanoseconds: now + .random(in: 1_000_000...300_000_000, using: &random),
                member: member, start: start, ticket: ticket, proposal: proposal))
    }

    /// Answers that have arrived, in their order.
    mutating func takeAnswers(
        of member: Int, start: Int, at now: Int64, bootedAt: Int64
    ) -> [(ticket: UInt64, answer: SiteAgreement?)] {
        let due = messages.filter { $0.member == member && $0.dueNanoseconds <= now }
        messages.removeAll { $0.member == member && $0.dueNanoseconds <= now }
        var answers: [(ticket: UInt64, answer: SiteAgreement?)] = []
        for var message in due {
            if let answer = message.answer {
                if message.start == start { answers.append((message.ticket, answer)) }
                continue
            }
            var agreement: SiteAgreement?
            if !isAway(at: now), message.start == start {
                agreement = tables.agree(
                    message.proposal, exchange: exchange(at: now, bootedAt: bootedAt), now: now)
            }
            // If an answer is lost, the row exists, and the query has failed.
            if !isPeaceful, chance(5) { agreement = nil }
            message.answer = .some(agreement)
            message.dueNanoseconds = now
            if !isPeaceful {
                message.dueNanoseconds += .random(in: 0...3_000_000_000, using: &random)
            }
            messages.append(message)
            if !isPeaceful, chance(5) {
                message.dueNanoseconds += .random(in: 0...8_000_000_000, using: &random)
                messages.append(message)
            }
        }
        return answers
    }

    /// A collector's report, as ``SitePublisher`` writes it.
    /// - Parameter recording: nil: it records nothing.
    /// - Returns: whether that session is the site's; nil: the database is away.
    mutating func report(
        _ recording: SiteProposal?, of name: String, at now: Int64, bootedAt: Int64
    ) -> Bool? {
        guard !isAway(at: now) else { return nil }
        guard let recording else {
            tables.recordings[name] = nil
            return true
        }
        var zero = exchange(at: now, bootedAt: bootedAt)
            .instant(atMonotonic: recording.zeroMonotonicNanoseconds)
        zero.errorNanoseconds += recording.zeroErrorNanoseconds
        tables.recordings[name] = SiteTables.Report(
            recorded: .init(session: recording.session, zero: zero), heardNanoseconds: now)
        return tables.isAgreed(recording, now: now)
    }
}
