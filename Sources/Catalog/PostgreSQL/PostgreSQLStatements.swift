/// The statements of a catalog in PostgreSQL, each with its parameters. `Tests/Benchmarks/catalog.py` reads them from here
/// and measures them with ten million segments.
enum PostgreSQLStatements {
    // MARK: Archives

    /// $1 identity: id, is_complete, changes, place.
    static let archive = """
        SELECT id, is_complete, changes, place FROM tributary.archive WHERE identity = $1::text
        """
    /// The same; no other program writes the archive's catalog until the transaction ends.
    static let lockedArchive = archive + " FOR UPDATE"
    /// $1 identity, $2 place.
    static let newArchive = """
        INSERT INTO tributary.archive (identity, place, is_complete, changes)
        VALUES ($1::text, $2::text, true, 0) ON CONFLICT (identity) DO NOTHING
        """
    /// $1 id, $2 place.
    static let movedArchive = "UPDATE tributary.archive SET place = $2::text WHERE id = $1::integer"
    /// $1 id, $2 the number of the transaction.
    static let changedArchive = """
        UPDATE tributary.archive SET changes = $2::bigint WHERE id = $1::integer
        """
    /// $1 identity, $2 whether the content is complete.
    static let believedArchive = """
        UPDATE tributary.archive SET is_complete = $2::boolean WHERE identity = $1::text
        """

    // MARK: Writing

    /// $1 archive, $2 session, and its columns.
    static let session = """
        INSERT INTO tributary.session (archive, session, zero, state, end_reason, segment_length, software,
            is_protected, name, tags, note, sources, segments, bytes)
        SELECT $1::integer, $2::text, $3::bigint, $4::text, $5::text, $6::bigint, $7::text,
            $8::boolean, $9::text, $10::text, $11::text, $12::text, count(*), coalesce(sum(g.bytes), 0)
        FROM tributary.segment g WHERE g.archive = $1::integer AND g.session = $2::text
        ON CONFLICT (archive, session) DO UPDATE SET zero = excluded.zero, state = excluded.state,
            end_reason = excluded.end_reason, segment_length = excluded.segment_length,
            software = excluded.software, is_protected = excluded.is_protected, name = excluded.name,
            tags = excluded.tags, note = excluded.note, sources = excluded.sources
        """
    /// $1 archive, $2 session, $3… arrays of the columns, without a source twice.
    static let sources = """
        INSERT INTO tributary.source
        SELECT $1::integer, $2::text, r.* FROM unnest($3::text[], $4::text[], $5::text[], $6::boolean[]) r
        """
    /// $1 archive, $2… arrays of the columns, without a file twice.
    static let segments = """
        INSERT INTO tributary.segment
        SELECT $1::integer, r.* FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[],
            $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]) r
        ON CONFLICT (archive, session, source, file) DO UPDATE SET begins = excluded.begins,
            ends = excluded.ends, length = excluded.length, bytes = excluded.bytes,
            revision = excluded.revision
        """
    /// $1 archive, $2… arrays of the columns, without a line twice.
    static let events = """
        INSERT INTO tributary.event
        SELECT $1::integer, r.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[],
            $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::text[]) r
        ON CONFLICT (archive, session, source, line) DO UPDATE SET kind = excluded.kind,
            starts = excluded.starts, duration = excluded.duration, samples = excluded.samples,
            track = excluded.track, cause = excluded.cause, bound = excluded.bound, text = excluded.text
        """
    /// $1 archive, $2 session.
    static let removedSources = """
        DELETE FROM tributary.source WHERE archive = $1::integer AND session = $2::text
        """
    /// $1 archive, $2 session, $3 source, $4 file.
    static let removedSegment = """
        DELETE FROM tributary.segment WHERE archive = $1::integer AND session = $2::text
            AND source = $3::text AND file = $4::text
        """
    /// $1 archive, $2 session, $3 source.
    static let removedEvents = """
        DELETE FROM tributary.event WHERE archive = $1::integer AND session = $2::text AND source = $3::text
        """
    /// $1 archive, $2 session, of one table.
    static func removedSession(from table: String) -> String {
        "DELETE FROM tributary.\(table) WHERE archive = $1::integer AND session = $2::text"
    }
    /// $1 archive, $2 session, $3 is_protected, $4 name, $5 tags, $6 note.
    static let labels = """
        UPDATE tributary.session SET is_protected = $3::boolean, name = $4::text, tags = $5::text,
            note = $6::text WHERE archive = $1::integer AND session = $2::text
        """

    // MARK: Reading

    private static let listed = """
        s.session, s.state, s.is_protected, s.name, s.tags, s.note, s.sources
        """
    /// $1 archive.
    static let sessions = """
        SELECT \(listed), s.segments, least(s.bytes, 9223372036854775807)::bigint
        FROM tributary.session s WHERE s.archive = $1::integer ORDER BY s.session
        """
    /// $1 archive: the length of its longest file.
    static let longest = """
        SELECT length FROM tributary.segment WHERE archive = $1::integer AND ends IS NOT NULL
        ORDER BY length DESC LIMIT 1
        """
    /// $1 archive, $2 earliest, $3 until, $4 from. A file that overlaps the range begins at most the length of the longest file
    /// before it. Growing files have no end yet: they extend to the present.
    private static func found(_ columns: String) -> String {
        """
        SELECT \(columns) FROM tributary.segment WHERE archive = $1::integer AND ends IS NOT NULL
            AND begins > $2::bigint AND begins < $3::bigint AND ends > $4::bigint
        UNION ALL SELECT \(columns) FROM tributary.segment
            WHERE archive = $1::integer AND ends IS NULL AND begins < $3::bigint
        """
    }
    static let sessionsInRange = """
        SELECT \(listed), g.segments, least(g.bytes, 9223372036854775807)::bigint
        FROM (SELECT session, count(*) AS segments, coalesce(sum(bytes), 0) AS bytes
            FROM (\(found("session, bytes"))) f GROUP BY session) g
        JOIN tributary.session s ON s.archive = $1::integer AND s.session = g.session
        ORDER BY s.session
        """
    private static let columns = "session, source, file, begins, ends, bytes, revision"
    private static func withZero(_ files: String) -> String {
        """
        SELECT g.session, g.source, g.file, s.zero, g.begins, g.ends, g.bytes, g.revision
        FROM (\(files)) g JOIN tributary.session s ON s.archive = $1::integer AND s.session = g.session
        """
    }
    private static let inOrder = " ORDER BY g.session, g.source, g.file"
    /// $1 archive.
    static let allSegments =
        withZero("SELECT \(columns) FROM tributary.segment WHERE archive = $1::integer") + inOrder
    /// $1 archive, $2 session.
    static let segmentsOfSession =
        withZero(
            """
            SELECT \(columns) FROM tributary.segment WHERE archive = $1::integer AND session = $2::text
            """) + inOrder
    /// $1 archive, $2 earliest, $3 until, $4 from, $5 session or NULL.
    static let segmentsInRange =
        withZero(found(columns)) + " WHERE $5::text IS NULL OR g.session = $5::text" + inOrder
    /// $1 archive, $2 session.
    static let growingSegments =
        withZero(
            """
            SELECT \(columns) FROM tributary.segment
            WHERE archive = $1::integer AND session = $2::text AND ends IS NULL
            """) + inOrder
    /// $1 archive.
    static let sessionNames = """
        SELECT session FROM tributary.session WHERE archive = $1::integer ORDER BY session
        """
    /// $1 archive. A loose index scan by the key: each session has about a thousand files.
    static let indexedSessionNames = """
        WITH RECURSIVE name(session) AS (
            (SELECT session FROM tributary.segment WHERE archive = $1::integer ORDER BY session LIMIT 1)
            UNION ALL SELECT (SELECT g.session FROM tributary.segment g WHERE g.archive = $1::integer
                AND g.session > name.session ORDER BY g.session LIMIT 1)
            FROM name WHERE name.session IS NOT NULL)
        SELECT session FROM name WHERE session IS NOT NULL
        UNION SELECT session FROM tributary.session WHERE archive = $1::integer
        """
    /// $1 archive, $2 session.
    static let files = """
        SELECT source || '/' || file FROM tributary.segment
        WHERE archive = $1::integer AND session = $2::text
        """

    // MARK: Collectors

    /// $1 identity of the archive, $2 name, $3 run, $4 report, $5 holdings.
    static let collectorReport = """
        INSERT INTO tributary.collector AS c (archive, name, run, began, heard, report, holdings)
        VALUES ($1::text, $2::text, $3::text, clock_timestamp(), clock_timestamp(), $4::text, $5::text)
        ON CONFLICT (archive) DO UPDATE SET name = excluded.name, run = excluded.run,
            began = CASE WHEN c.run = excluded.run THEN c.began ELSE excluded.began END,
            heard = excluded.heard, report = excluded.report, holdings = excluded.holdings
        """
    /// Larger reports are left out, so that one row does not make the answer too large for the others. The largest of a
    /// collector has 4,096 names of sources.
    private static let isReadable = "octet_length(report) <= 2097152"
    /// $1 name, $2 identity of the archive that is left out, $3 seconds since they were heard.
    static let collectorsOfName = """
        SELECT report FROM tributary.collector WHERE name = $1::text AND archive <> $2::text
            AND \(isReadable) AND heard > clock_timestamp() - $3::integer * interval '1 second'
        """
    /// $1 identity of the archive that is left out, $2 seconds since they were heard.
    static let presentCollectors = """
        SELECT report FROM tributary.collector WHERE archive <> $1::text
            AND \(isReadable) AND heard > clock_timestamp() - $2::integer * interval '1 second' ORDER BY name DESC
        """
    private static func milliseconds(since column: String) -> String {
        "(extract(epoch FROM greatest(clock_timestamp() - \(column), interval '0')) * 1000)::bigint"
    }
    /// Without parameters.
    static let collectors = """
        SELECT archive, name, \(milliseconds(since: "heard")), \(milliseconds(since: "began")), report,
            holdings
        FROM tributary.collector ORDER BY name, archive
        """

    /// $1 identity of the archive that is left out, $2 seconds since they were heard.
    static let peers = """
        SELECT archive, name, \(milliseconds(since: "heard")), report
        FROM tributary.collector WHERE archive <> $1::text
            AND \(isReadable) AND heard > clock_timestamp() - $2::integer * interval '1 second'
        ORDER BY name, archive
        """

    // MARK: Sessions of a site

    /// Without parameters: the server's clock, microseconds since 1970, and its start.
    static let serverClock = """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
        """
    /// $1 identity of the archive that is left out: report, and milliseconds since it was heard.
    static let otherReports = """
        SELECT report, \(milliseconds(since: "heard")) FROM tributary.collector
        WHERE archive <> $1::text AND \(isReadable)
        """
    private static let siteSessions = """
        SELECT number, session, zero, wall_error, segment_length, collector, archive, server_zero,
            server_error, measured, \(milliseconds(since: "inserted")), server
        FROM tributary.site_session
        """
    /// $1 session.
    static let siteSession = siteSessions + " WHERE session = $1::text"
    /// Without parameters.
    static let newestSiteSession = siteSessions + " ORDER BY number DESC LIMIT 1"
    /// $1 names of sessions. Returns the row with the lowest number.
    static let firstSiteSession =
        siteSessions + " WHERE session = ANY ($1::text[]) ORDER BY number LIMIT 1"
    /// $1… the columns. No row with that number or name is ever changed.
    static let newSiteSession = """
        INSERT INTO tributary.site_session (number, session, zero, wall_error, segment_length, collector,
            archive, server_zero, server_error, measured, server, inserted)
        VALUES ($1::bigint, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::bigint,
            $9::bigint, $10::bigint, $11::bigint, clock_timestamp())
        ON CONFLICT DO NOTHING
        """

    // MARK: Leases

    /// $1 name, $2 holder, $3 its label, $4 term in milliseconds. No row: another holder has it.
    static let leaseTaken = """
        INSERT INTO tributary.lease AS l (name, holder, label, token, until)
        VALUES ($1::text, $2::text, $3::text, 1, clock_timestamp() + $4::bigint * interval '1 millisecond')
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, label = excluded.label,
            token = CASE WHEN l.holder = excluded.holder AND l.until > clock_timestamp()
                THEN l.token ELSE l.token + 1 END,
            until = excluded.until
        WHERE l.holder = excluded.holder OR l.until <= clock_timestamp()
        RETURNING token
        """
    private static let remaining =
        "(extract(epoch FROM greatest(until - clock_timestamp(), interval '0')) * 1000)::bigint"
    /// $1 name.
    static let lease = "SELECT label, \(remaining) FROM tributary.lease WHERE name = $1::text"
    /// $1 name, $2 holder, $3 token.
    static let leaseReleased = """
        UPDATE tributary.lease SET until = clock_timestamp()
        WHERE name = $1::text AND holder = $2::text AND token = $3::bigint
        """
    /// Without parameters.
    static let leases = "SELECT name, label, token, \(remaining) FROM tributary.lease ORDER BY name"

    // MARK: Everything

    /// A table's rows of a session ($1 archive, $2 session), in the columns of ``SQLiteCatalog``.
    struct Dump {
        var table: String
        /// Names of the columns in ``SQLiteCatalog``, and whether each is a text.
        var columns: [(name: String, isText: Bool)]
        var statement: String

        init(_ table: String, _ columns: [(name: String, sql: String, isText: Bool)]) {
            self.table = table
            self.columns = columns.map { ($0.name, $0.isText) }
            statement =
                "SELECT \(columns.map(\.sql).joined(separator: ", ")) FROM tributary.\(table) "
                + "WHERE archive = $1::integer AND session = $2::text"
        }
    }

    static let dumps = [
        Dump(
            "session",
            [
                ("session", "session", true), ("zero", "zero", false), ("state", "state", true),
                ("endReason", "end_reason", true), ("segmentLength", "segment_length", false),
                ("software", "software", true), ("isProtected", "is_protected::integer", false),
                ("name", "name", true), ("tags", "tags", true), ("note", "note", true),
                ("segments", "segments", false), ("bytes", "bytes", false),
            ]),
        Dump(
            "source",
            [
                ("session", "session", true), ("source", "source", true), ("agent", "agent", true),
                ("tracks", "tracks", true), ("isComplete", "is_complete::integer", false),
            ]),
        Dump(
            "segment",
            [
                ("session", "session", true), ("source", "source", true), ("file", "file", true),
                ("begins", "begins", false), ("ends", "ends", false), ("bytes", "bytes", false),
                ("revision", "revision", false),
            ]),
        Dump(
            "event",
            [
                ("session", "session", true), ("source", "source", true), ("line", "line", false),
                ("kind", "kind", true), ("starts", "starts", false),
                ("duration", "duration", false),
                ("samples", "samples", false), ("track", "track", true), ("cause", "cause", true),
                ("bound", "bound", false), ("text", "text", true),
            ]),
    ]
}
