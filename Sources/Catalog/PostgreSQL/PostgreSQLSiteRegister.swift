package import Archive
import FoundationEssentials
import Media
import PostgreSQL

/// The register of a site in PostgreSQL: reports and holdings as JSON.
package struct PostgreSQLSiteRegister: SiteRegister {
    /// Several collectors may insert a session's row at once; each then finds that of another one.
    private static let insertions = 16
    /// Number of readings of the server's clock; the one with the shortest round trip is used.
    private static let readings = 3

    private let database: PostgreSQLDatabase

    package init(_ database: PostgreSQLDatabase) { self.database = database }

    package func isReachable() -> Bool {
        do throws(ArchiveError) {
            try database.prepare()
            return true
        } catch {
            return false
        }
    }

    package func publish(
        _ report: SiteReport, _ holdings: [SiteHolding], recording: SiteProposal? = nil,
        of identity: ArchiveIdentity, run: String
    ) throws(ArchiveError) -> SiteReport.Echo {
        let held = Self.text(holdings)
        return try database.use { connection throws(PostgreSQLError) in
            var report = report
            if let recording {
                report.recording = .init(
                    session: recording.session,
                    zero: try Self.exchange(with: connection).zero(of: recording))
            }
            let text = Self.text(report)
            try connection.run(
                PostgreSQLStatements.collectorReport, [identity.text, report.name, run, text, held])
            let others = try connection.run(
                PostgreSQLStatements.collectorsOfName,
                [report.name, identity.text, "\(Int(SiteCollector.silenceSeconds))"])
            var reports: [SiteReport] = []
            for row in others.rows {
                if let one = Self.value(SiteReport.self, try row.text(0)) { reports.append(one) }
            }
            guard let recording else { return .init(namesakes: reports, isAgreed: true) }
            let decision = try Self.rows(connection, recording, identity)
                .decision(for: recording, of: identity.text)
            let isAgreed =
                if case .row(let row) = decision { row.session == recording.session } else { false }
            return .init(namesakes: reports, isAgreed: isAgreed)
        }
    }

    package func agree(
        _ proposal: SiteProposal, of identity: ArchiveIdentity
    ) throws(ArchiveError) -> SiteAgreement {
        try database.use { connection throws(PostgreSQLError) in
            let exchange = try Self.exchange(with: connection)
            for _ in 0..<Self.insertions {
                let rows = try Self.rows(connection, proposal, identity)
                switch rows.decision(for: proposal, of: identity.text) {
                case .row(let row):
                    return rows.agreement(on: row, with: proposal, at: exchange)
                case .insert(let number):
                    let row = SiteSession(
                        proposal, number: number, archive: identity.text, at: exchange)
                    let answer = try connection.run(
                        PostgreSQLStatements.newSiteSession, row.parameters)
                    if answer.affected == 1 {
                        return rows.agreement(on: row, with: proposal, at: exchange)
                    }
                }
            }
            throw .unexpected(reason: "a session's row is neither there nor can it be inserted")
        }
    }

    private static func exchange(
        with connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> ServerExchange {
        var best: ServerExchange?
        for _ in 0..<readings {
            let sent = SystemClock.monotonic.nowNanoseconds
            let answer = try connection.run(PostgreSQLStatements.serverClock)
            let received = SystemClock.monotonic.nowNanoseconds
            guard let row = answer.rows.first else { throw .unexpected(reason: "no time") }
            let (nanoseconds, overflow) = try row.integer(0).multipliedReportingOverflow(by: 1_000)
            guard !overflow else { throw .unexpected(reason: "a time that no clock has") }
            let exchange = ServerExchange(
                sentNanoseconds: sent, receivedNanoseconds: received,
                serverNanoseconds: nanoseconds, server: try row.integer(1))
            if best.map({ exchange.errorNanoseconds < $0.errorNanoseconds }) ?? true {
                best = exchange
            }
        }
        guard let best else { preconditionFailure("the clock is read at least once") }
        return best
    }

    private static func rows(
        _ connection: PostgreSQLConnection, _ proposal: SiteProposal, _ identity: ArchiveIdentity
    ) throws(PostgreSQLError) -> SiteSessionRows {
        var recordings: [SiteSessionRows.Recording] = []
        for row in try connection.run(PostgreSQLStatements.otherReports, [identity.text]).rows {
            guard let recorded = value(SiteReport.self, try row.text(0))?.recording,
                ArchiveLayout.isValidName(recorded.session)
            else { continue }
            recordings.append(
                .init(
                    session: recorded.session, heardSeconds: Double(try row.integer(1)) / 1e3,
                    zero: recorded.zero))
        }
        // Valid names need no quotes.
        let names = SiteSessionRows.recordedSessions(recordings, besides: proposal.stopped)
            .joined(separator: ",")
        let proposed = try connection.run(PostgreSQLStatements.siteSession, [proposal.session])
        let newest = try connection.run(PostgreSQLStatements.newestSiteSession)
        let recorded = try connection.run(PostgreSQLStatements.firstSiteSession, ["{\(names)}"])
        var rows = SiteSessionRows(
            proposed: try session(proposed), newest: try session(newest), newestSeconds: .infinity,
            recorded: try session(recorded), recordings: recordings)
        if let row = newest.rows.first {
            rows.newestSeconds = Double(try row.integer(10)) / 1e3
        }
        return rows
    }

    private static func session(
        _ answer: PostgreSQLAnswer
    ) throws(PostgreSQLError) -> SiteSession? {
        guard let row = answer.rows.first else { return nil }
        return try SiteSession(row)
    }

    package func places(
        of sources: Set<String>, besides identity: ArchiveIdentity
    ) throws(ArchiveError) -> [String: String] {
        try database.use { connection throws(PostgreSQLError) in
            var places: [String: String] = [:]
            let rows = try connection.run(
                PostgreSQLStatements.presentCollectors,
                [identity.text, "\(Int(SiteCollector.silenceSeconds))"]
            ).rows
            for row in rows {
                guard let report = Self.value(SiteReport.self, try row.text(0)), !report.isStopped
                else { continue }
                for source in report.connected ?? [] where sources.contains(source) {
                    places[source] = report.name
                }
            }
            return places
        }
    }

    package func collectors() throws(ArchiveError) -> [SiteCollector] {
        try database.use { connection throws(PostgreSQLError) in
            var collectors: [SiteCollector] = []
            for row in try connection.run(PostgreSQLStatements.collectors).rows {
                collectors.append(
                    SiteCollector(
                        archive: try row.text(0), name: try row.text(1),
                        heardSeconds: Double(try row.integer(2)) / 1e3,
                        runningSeconds: Double(try row.integer(3)) / 1e3,
                        report: Self.value(SiteReport.self, try row.text(4)),
                        holdings: Self.value([SiteHolding].self, try row.text(5)) ?? []))
            }
            return collectors
        }
    }

    package func peers(of identity: ArchiveIdentity) throws(ArchiveError) -> [SiteCollector] {
        try others(than: identity.text, seconds: Int(SiteCollector.peerSeconds))
    }

    private func others(
        than archive: String, seconds: Int
    ) throws(ArchiveError) -> [SiteCollector] {
        try database.use { connection throws(PostgreSQLError) in
            var others: [SiteCollector] = []
            let rows = try connection.run(PostgreSQLStatements.peers, [archive, "\(seconds)"]).rows
            for row in rows {
                others.append(
                    SiteCollector(
                        archive: try row.text(0), name: try row.text(1),
                        heardSeconds: Double(try row.integer(2)) / 1e3, runningSeconds: 0,
                        report: Self.value(SiteReport.self, try row.text(3))))
            }
            return others
        }
    }

    package func reports() throws(ArchiveError) -> [SiteCollector] {
        try others(than: "", seconds: Int(Int32.max))
    }

    private static func text(_ value: some Encodable) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        } catch {
            preconditionFailure("all numbers of a report are finite: \(error)")
        }
    }

    private static func value<Value: Decodable>(_: Value.Type, _ text: String) -> Value? {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            // A report of a version with other members: the row still shows that the collector exists.
            return nil
        }
    }
}

extension SiteSession {
    fileprivate init(_ row: PostgreSQLRow) throws(PostgreSQLError) {
        self.init(
            number: try row.integer(0), session: try row.text(1),
            zeroUTCNanoseconds: try row.integer(2), wallErrorNanoseconds: try row.integer(3),
            segmentNanoseconds: try row.integer(4), collector: try row.text(5),
            archive: try row.text(6),
            zero: ServerInstant(
                nanoseconds: try row.integer(7), errorNanoseconds: try row.integer(8),
                measuredNanoseconds: try row.integer(9), server: try row.integer(11)))
        // The name becomes a path.
        guard ArchiveLayout.isValidName(session), (1..<Int64.max).contains(number),
            zero.errorNanoseconds >= 0
        else { throw .unexpected(reason: "a session's row that no collector has written") }
    }

    /// In the order of the statement.
    fileprivate var parameters: [String?] {
        [
            "\(number)", session, "\(zeroUTCNanoseconds)", "\(wallErrorNanoseconds)",
            "\(segmentNanoseconds)", collector, archive, "\(zero.nanoseconds)",
            "\(zero.errorNanoseconds)", "\(zero.measuredNanoseconds)", "\(zero.server)",
        ]
    }
}
