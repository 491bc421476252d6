package import Archive
import FoundationEssentials
import PostgreSQL

/// The collectors of a site, in the catalog that they share: one row for each archive, which its collector rewrites
/// with every report.
///
/// A row that a promoted standby lacks returns with the next report.
package struct SiteRegister: Sendable {
    /// Several reports: a collector that has not been heard for longer is not there, or cannot reach the server.
    package static let silenceSeconds = 20.0

    private let database: PostgreSQLDatabase

    package init(_ database: PostgreSQLDatabase) { self.database = database }

    /// Hosts and database, for messages.
    package var name: String { database.name }

    /// Writes a collector's report.
    /// - Parameters:
    ///   - holdings: its durable records, by spool.
    ///   - run: identifies the process: its first report begins a run.
    /// - Returns: the reports of other collectors with the same name that were heard lately.
    package func publish(
        _ report: SiteReport, _ holdings: [SiteHolding], of identity: ArchiveIdentity, run: String
    ) throws(ArchiveError) -> [SiteReport] {
        let (text, held) = (Self.text(report), Self.text(holdings))
        return try database.use { connection throws(PostgreSQLError) in
            try connection.run(
                PostgreSQLStatements.collectorReport, [identity.text, report.name, run, text, held])
            let others = try connection.run(
                PostgreSQLStatements.collectorsOfName,
                [report.name, identity.text, "\(Int(Self.silenceSeconds))"])
            var reports: [SiteReport] = []
            for row in others.rows {
                if let one = Self.value(SiteReport.self, try row.text(0)) { reports.append(one) }
            }
            return reports
        }
    }

    /// All collectors, by name.
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
            // Of a version with other members: the row says that the collector is there.
            return nil
        }
    }
}
