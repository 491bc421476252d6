import Catalog
import Foundation
import TestDatabases
import Testing

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// Collectors that agree on a session through a database with faults.
@Suite struct SessionAgreementTests {
    /// A collector with a clock of its own, reduced to its sessions.
    private struct Member {
        struct Session: Hashable {
            var name: String
            /// On the member's monotonic clock.
            var zero: Int64
            var error: Int64 = 0
            /// In the order of the answers.
            var attached: [Attached] = []
        }

        struct Attached: Hashable {
            var session: String
            /// The other's zero, on the member's monotonic clock.
            var zero: Int64
            var error: Int64
        }

        let name: String
        /// Of its monotonic clock, to true time.
        let offset: Int64
        var agreement = SessionAgreement()
        var proposed: Session?
        var session: Session?
        var ended: Set<String> = []
        var longestWait: Int64 = 0
        var beganAsking: Int64 = 0

        func clock(_ now: Int64) -> Int64 { now + offset }

        /// The site's session that it records, or that its own one is attached to.
        func proposal(_ session: Session) -> SiteProposal {
            let zero = session.attached.last?.zero ?? session.zero
            return SiteProposal(
                session: session.attached.last?.session ?? session.name, collector: name,
                zeroUTCNanoseconds: zero - offset, wallErrorNanoseconds: 1_000_000,
                segmentNanoseconds: 10_000_000_000, zeroMonotonicNanoseconds: zero,
                zeroErrorNanoseconds: session.error + (session.attached.last?.error ?? 0))
        }
    }

    private struct Message {
        var due: Int64
        var member: Int
        var ticket: UInt64
        var proposal: SiteProposal
        /// Nil: the question is on its way.
        var answer: SiteAgreement??
    }

    /// One run: four collectors, and 200 s of faults, then 200 s without.
    private struct Site {
        let seed: UInt64
        var random: SeededGenerator
        var database = SiteTables()
        var standby = SiteTables()
        var members: [Member]
        var wire: [Message] = []
        var isAway = false
        var count = 0
        /// True zero of each session, as its first collector has it.
        var zeros: [String: Int64] = [:]
        var edges: [String: Set<String>] = [:]
        var joins = 0
        var attachments = 0
        let end = 400 * second
        let faultsUntil: Int64

        init(seed: UInt64) {
            self.seed = seed
            var random = SeededGenerator(seed: seed)
            members = (0..<4).map {
                Member(
                    name: "c\($0)", offset: Int64.random(in: -300...300, using: &random) * second)
            }
            faultsUntil = seed % 10 == 0 ? 0 : 200 * second
            self.random = random
        }

        /// True once in so many times.
        mutating func chance(_ times: Int) -> Bool {
            Int.random(in: 0..<times, using: &random) == 0
        }

        mutating func tenths(_ most: Int64) -> Int64 {
            Int64.random(in: 0...most, using: &random) * 100_000_000
        }

        mutating func run() {
            for now in stride(from: 0 as Int64, to: end, by: 100_000_000) {
                let isFaulty = now < faultsUntil
                if isFaulty, chance(200) { isAway.toggle() }
                if !isFaulty { isAway = false }
                if isFaulty, chance(400) {
                    // It lacks the last commits, and has another clock.
                    let server = database.server + 1
                    database = standby
                    database.server = server
                }
                if chance(20) { standby = database }
                for index in members.indices {
                    report(index, now)
                    step(index, now)
                }
                deliver(now, isFaulty: isFaulty)
            }
        }

        /// As the site's thread does every five seconds.
        private mutating func report(_ index: Int, _ now: Int64) {
            guard now % (5 * second) == Int64(index) * second else { return }
            members[index].agreement.isReachable = !isAway
            guard !isAway else { return }
            let member = members[index]
            guard let session = member.session else {
                database.recordings[member.name] = nil
                return
            }
            let proposal = member.proposal(session)
            var zero = exchange(member, now).instant(
                atMonotonic: proposal.zeroMonotonicNanoseconds)
            zero.errorNanoseconds += proposal.zeroErrorNanoseconds
            database.recordings[member.name] = SiteTables.Report(
                recorded: .init(session: proposal.session, zero: zero), heardNanoseconds: now)
            if !database.isAgreed(proposal, now: now) {
                members[index].agreement.denied(at: member.clock(now))
            }
        }

        private mutating func step(_ index: Int, _ now: Int64) {
            var member = members[index]
            defer { members[index] = member }
            let own = member.clock(now)
            let isCalm = now >= end - 100 * second
            switch (member.proposed, member.session) {
            case (nil, nil):
                guard !isCalm, chance(100) else { return }
                count += 1
                let session = Member.Session(name: "s\(count)-\(member.name)", zero: own)
                zeros[session.name] = now
                guard let ticket = member.agreement.begin(at: own) else {
                    member.session = session
                    return
                }
                member.proposed = session
                member.beganAsking = now
                ask(member, index, ticket, session, now)
            case (let proposed?, nil):
                member.longestWait = max(member.longestWait, now - member.beganAsking)
                guard member.agreement.isOverdue(at: own) else { return }
                member.agreement.goAlone(at: own)
                member.session = proposed
                member.proposed = nil
            case (_, let session?):
                if !isCalm, chance(600) {
                    member.ended.insert(session.name)
                    member.session = nil
                    member.agreement.ended()
                } else if let ticket = member.agreement.ask(at: own) {
                    ask(member, index, ticket, session, now)
                }
            }
        }

        private mutating func ask(
            _ member: Member, _ index: Int, _ ticket: UInt64, _ session: Member.Session,
            _ now: Int64
        ) {
            wire.append(
                Message(
                    due: now + tenths(3), member: index, ticket: ticket,
                    proposal: member.proposal(session), answer: nil))
        }

        private mutating func deliver(_ now: Int64, isFaulty: Bool) {
            let due = wire.filter { $0.due <= now }
            wire.removeAll { $0.due <= now }
            for var message in due {
                guard message.answer == nil else {
                    take(message, now)
                    continue
                }
                let member = members[message.member]
                let agreement =
                    isAway
                    ? nil
                    : database.agree(
                        message.proposal, exchange: exchange(member, now), now: now)
                // If an answer is lost, the row exists, and the query has failed.
                let isLost = isFaulty && chance(5)
                message.answer = .some(isLost ? nil : agreement)
                message.due = now + (isFaulty ? tenths(30) : 0)
                wire.append(message)
                if isFaulty, chance(5) {
                    message.due += tenths(100)
                    wire.append(message)
                }
            }
        }

        private mutating func take(_ message: Message, _ now: Int64) {
            guard let answer = message.answer else { return }
            var member = members[message.member]
            defer { members[message.member] = member }
            let own = member.clock(now)
            switch member.agreement.take(message.ticket, answer, at: own) {
            case .ignored, .failed, .agreed: break
            case .begin:
                member.session = member.proposed
                member.proposed = nil
            case .join(let answer):
                var proposed = member.proposed
                member.proposed = nil
                guard let zero = answer.zeroMonotonicNanoseconds else {
                    member.agreement.goAlone(at: own)
                    member.session = proposed
                    return
                }
                let name = answer.session.session
                if member.ended.contains(name) {
                    attachments += 1
                    proposed?.attached = [
                        .init(session: name, zero: zero, error: answer.zeroErrorNanoseconds)
                    ]
                    member.session = proposed
                    follow(proposed)
                } else {
                    joins += 1
                    member.session = .init(
                        name: name, zero: zero, error: answer.zeroErrorNanoseconds)
                }
            case .attach(let answer):
                guard let zero = answer.zeroMonotonicNanoseconds else {
                    return member.agreement.goAlone(at: own)
                }
                let name = answer.session.session
                guard member.session?.attached.contains(where: { $0.session == name }) == false
                else { return }
                attachments += 1
                member.session?.attached.append(
                    .init(session: name, zero: zero, error: answer.zeroErrorNanoseconds))
                follow(member.session)
            }
        }

        /// Archives keep what sessions are attached to.
        private mutating func follow(_ session: Member.Session?) {
            guard let session else { return }
            for (one, next) in zip(
                [session.name] + session.attached.map(\.session), session.attached)
            where one != next.session {
                edges[one, default: []].insert(next.session)
                edges[next.session, default: []].insert(one)
            }
        }

        /// The sessions that archives show together with one.
        func together(with session: String) -> Set<String> {
            var found: Set = [session]
            var waiting = [session]
            while let next = waiting.popLast() {
                for other in edges[next] ?? [] where found.insert(other).inserted {
                    waiting.append(other)
                }
            }
            return found
        }

        /// The first server's clock is true time; that of each that takes over is another hour ahead.
        private func exchange(_ member: Member, _ now: Int64) -> ServerExchange {
            ServerExchange(
                sentNanoseconds: member.clock(now) - 400_000,
                receivedNanoseconds: member.clock(now) + 200_000,
                serverNanoseconds: now + database.server * 3_600 * second, server: database.server)
        }
    }

    /// `SITE_SESSION_SEEDS=10000` for more.
    static let seeds: Range<UInt64> = {
        let text = ProcessInfo.processInfo.environment["SITE_SESSION_SEEDS"] ?? ""
        return 0..<max(1, UInt64(text) ?? 200)
    }()

    @Test func `sessions wait two seconds to begin, and all are joined in the end`() {
        var joins = 0
        var attachments = 0
        for seed in Self.seeds {
            var site = Site(seed: seed)
            site.run()
            joins += site.joins
            attachments += site.attachments
            for member in site.members {
                let patience = SessionAgreement.patienceNanoseconds
                #expect(member.longestWait <= patience + 200_000_000, "seed \(seed)")
                guard let session = member.session else { continue }
                #expect(
                    member.agreement.standing == .agreed || !session.attached.isEmpty,
                    "seed \(seed): \(member)")
                // Zero agrees with its first collector's, within the stated error.
                for (name, zero, error) in [(session.name, session.zero, session.error)]
                    + session.attached.map({ ($0.session, $0.zero, $0.error + session.error) })
                {
                    let apart = (zero - member.offset - (site.zeros[name] ?? .max / 2)).magnitude
                    #expect(apart <= UInt64(error), "seed \(seed): \(member)")
                }
            }
            // Readers see one session of all that is recorded.
            let recorded = Set(site.members.compactMap(\.session).map(\.name))
            if let one = recorded.first {
                #expect(recorded.isSubset(of: site.together(with: one)), "seed \(seed)")
            }
            let names = site.database.rows.map(\.session)
            #expect(Set(names).count == names.count, "seed \(seed)")
            let numbers = Set(site.database.rows.map(\.number))
            #expect(numbers.count == names.count, "seed \(seed)")
        }
        #expect(joins > Self.seeds.count && attachments > Self.seeds.count)
    }

    // MARK: Rules

    private func row(_ number: Int64, _ session: String) -> SiteSession {
        SiteSession(
            number: number, session: session, zeroUTCNanoseconds: 0, wallErrorNanoseconds: 0,
            segmentNanoseconds: 1, collector: "east", archive: "east",
            zero: ServerInstant(
                nanoseconds: 0, errorNanoseconds: 10, measuredNanoseconds: 0, server: 1))
    }

    private func recording(_ session: String, _ seconds: Double) -> SiteSessionRows.Recording {
        .init(session: session, heardSeconds: seconds, zero: row(1, session).zero)
    }

    private func proposal(_ session: String, stopped: Set<String> = []) -> SiteProposal {
        SiteProposal(
            session: session, collector: "west", zeroUTCNanoseconds: 0, wallErrorNanoseconds: 0,
            segmentNanoseconds: 1, zeroMonotonicNanoseconds: 0, zeroErrorNanoseconds: 0,
            stopped: stopped)
    }

    @Test func `the first recorded row applies, otherwise a new one is inserted`() {
        let own = proposal("p")
        var rows = SiteSessionRows(
            proposed: nil, newest: nil, newestSeconds: .infinity, recorded: nil, recordings: [])
        #expect(rows.decision(for: own, of: "west") == .insert(number: 1))
        rows.newest = row(7, "g")
        rows.newestSeconds = 9
        #expect(rows.decision(for: own, of: "west") == .row(row(7, "g")))
        #expect(rows.decision(for: proposal("p", stopped: ["g"]), of: "west") == .insert(number: 8))
        // It was inserted by the collector that begins another one.
        #expect(rows.decision(for: own, of: "east") == .insert(number: 8))
        rows.newestSeconds = 3_600
        #expect(rows.decision(for: own, of: "west") == .insert(number: 8))
        // Two were begun at once.
        rows.proposed = row(6, "p")
        #expect(rows.decision(for: own, of: "west") == .row(row(6, "p")))
        rows.recorded = row(5, "e")
        #expect(rows.decision(for: own, of: "west") == .row(row(5, "e")))
    }

    @Test func `a session is recorded for an hour after the last report, unless it was stopped`() {
        let all = [
            recording("a", 3_600), recording("b", 3_601), recording("c", 1), recording("c", 9),
        ]
        #expect(SiteSessionRows.recordedSessions(all, besides: []) == ["a", "c"])
        #expect(SiteSessionRows.recordedSessions(all, besides: ["c", "x"]) == ["a"])
    }

    @Test func `zero is placed by the newest measurement, with the errors of both`() {
        let exchange = ServerExchange(
            sentNanoseconds: 1_000_000, receivedNanoseconds: 3_000_000,
            serverNanoseconds: 3_600 * second, server: 1)
        // Measured an hour ago: 200 ppm of that.
        var rows = SiteSessionRows(
            proposed: nil, newest: row(1, "a"), newestSeconds: 3_600, recorded: nil,
            recordings: [])
        let proposal = proposal("b")
        let old = rows.agreement(on: row(1, "a"), with: proposal, at: exchange)
        #expect(!old.isProposed)
        #expect(old.zeroMonotonicNanoseconds == 2_000_000 - 3_600 * second)
        #expect(old.zeroErrorNanoseconds == 720_000_000 + 10 + 1_001_000)
        let fresh = ServerInstant(
            nanoseconds: 500, errorNanoseconds: 300,
            measuredNanoseconds: (3_600 - 5) * second, server: 1)
        rows.recordings = [.init(session: "a", heardSeconds: 5, zero: fresh)]
        let new = rows.agreement(on: row(1, "a"), with: proposal, at: exchange)
        #expect(new.zeroMonotonicNanoseconds == 2_000_000 - 3_600 * second + 500)
        #expect(new.zeroErrorNanoseconds == 1_000_000 + 300 + 1_001_000)
        // A report that no collector writes: it would be taken for the most exact one.
        for error: Int64 in [.min, -1, 0] {
            let impossible = ServerInstant(
                nanoseconds: 40_000_000, errorNanoseconds: error,
                measuredNanoseconds: 3_600 * second, server: 1)
            rows.recordings = [
                .init(session: "a", heardSeconds: 5, zero: fresh),
                .init(session: "a", heardSeconds: 1, zero: impossible),
            ]
            #expect(rows.agreement(on: row(1, "a"), with: proposal, at: exchange) == new)
        }
        // Another server has another clock.
        var other = exchange
        other.server = 2
        #expect(
            rows.agreement(on: row(1, "a"), with: proposal, at: other).zeroMonotonicNanoseconds
                == nil)
    }

    @Test func `late and repeated answers are ignored`() {
        var agreement = SessionAgreement()
        #expect(agreement.begin(at: 0) == nil)
        agreement.ended()
        agreement.isReachable = true
        let first = agreement.begin(at: 0)
        #expect(first == 1 && !agreement.isOverdue(at: 1_999_999_999))
        #expect(agreement.isOverdue(at: 2_000_000_000))
        agreement.goAlone(at: 1_000_000_000)
        let answer = SiteAgreement(
            session: row(1, "a"), isProposed: false, zeroMonotonicNanoseconds: 0,
            zeroErrorNanoseconds: 0)
        #expect(agreement.take(1, answer, at: 2_000_000_000) == .ignored)
        #expect(agreement.ask(at: 5_999_999_999) == nil)
        #expect(agreement.ask(at: 6_000_000_000) == 2)
        #expect(agreement.take(1, answer, at: 6_000_000_001) == .ignored)
        #expect(agreement.take(2, answer, at: 6_000_000_001) == .attach(answer))
        #expect(agreement.take(2, answer, at: 6_000_000_001) == .ignored)
        #expect(agreement.ask(at: 600_000_000_000) == nil)
        // A standby without the row took over.
        agreement.denied(at: 600_000_000_000)
        #expect(agreement.ask(at: 604_999_999_999) == nil)
        #expect(agreement.ask(at: 605_000_000_000) == 3)
        var own = answer
        own.isProposed = true
        #expect(agreement.take(3, own, at: 606_000_000_000) == .agreed)
        // A question that is never answered is asked again.
        agreement.denied(at: 700_000_000_000)
        #expect(agreement.ask(at: 705_000_000_000) == 4)
        #expect(agreement.ask(at: 764_999_999_999) == nil)
        #expect(agreement.standing != .alone(askAgain: 770_000_000_000))
        #expect(agreement.ask(at: 765_000_000_000) == nil)
        #expect(agreement.ask(at: 770_000_000_000) == 5)
        // The session ends before the answer, which does not apply to the next one.
        agreement.ended()
        #expect(agreement.take(5, answer, at: 771_000_000_000) == .ignored)
        #expect(agreement.begin(at: 772_000_000_000) == 6)
        #expect(agreement.take(5, answer, at: 772_000_000_001) == .ignored)
        #expect(agreement.take(6, answer, at: 772_000_000_002) == .join(answer))
    }
}
