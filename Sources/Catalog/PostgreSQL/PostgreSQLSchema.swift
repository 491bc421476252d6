import PostgreSQL

/// The tables of a catalog in PostgreSQL, in the schema `tributary`, and their migrations.
///
/// `tributary.schema_version` is the number of applied ``migrations``. Each is applied once, in one transaction with
/// the number, under an advisory lock against other programs. A migration never changes: another one follows it.
///
/// Servers of a site are upgraded one after the other, so a migration should only add tables and columns with defaults:
/// it then declares that programs of the previous version can use the tables (`oldest`), and they continue.
enum PostgreSQLSchema {
    /// The state of a database's tables.
    struct Found: Equatable {
        /// Number of applied migrations; 0: there are no tables.
        var version: Int
        /// The oldest programs that can use them, by the version that they know.
        var oldest: Int

        /// Whether a program can use them.
        func suits(_ known: Int) -> Bool {
            version == known || (version > known && oldest <= known)
        }
    }

    private struct Migration {
        var statements: String
        /// The oldest programs that can use the tables afterwards; nil: none of before.
        var oldest: Int?
    }

    /// For `pg_advisory_xact_lock`: "TRIBUTAR".
    private static let lock: Int64 = 0x5452_4942_5554_4152

    static var version: Int { migrations.count }

    static func found(in connection: PostgreSQLConnection) throws(PostgreSQLError) -> Found {
        // Not to_regclass(): it may use the connection's cache from before the wait for the lock.
        let table = try connection.run(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'tributary' AND c.relname = 'schema_version')
            """)
        guard try table.rows.first?.boolean(0) == true else { return Found(version: 0, oldest: 0) }
        // The column came with the fourth migration.
        let answer = try connection.run(
            """
            SELECT max(version)::bigint, max(coalesce((to_jsonb(v) ->> 'oldest')::bigint, version))
            FROM tributary.schema_version v
            """)
        return Found(
            version: Int(try answer.rows.first?.optionalInteger(0) ?? 0),
            oldest: Int(try answer.rows.first?.optionalInteger(1) ?? 0))
    }

    /// Migrates the tables to ``version``.
    static func migrate(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        try connection.transaction { connection throws(PostgreSQLError) in
            try connection.run("SELECT pg_advisory_xact_lock($1::bigint)", ["\(lock)"])
            // Another program may have done it in between.
            let present = try found(in: connection).version
            for number in present..<max(present, version) {
                try connection.execute(migrations[number].statements)
                try connection.run(
                    "INSERT INTO tributary.schema_version (version) VALUES ($1::integer)",
                    ["\(number + 1)"])
                guard let oldest = migrations[number].oldest else { continue }
                try connection.run(
                    "UPDATE tributary.schema_version SET oldest = $2::integer WHERE version = $1::integer",
                    ["\(number + 1)", "\(oldest)"])
            }
        }
    }

    private static let migrations = [
        Migration(statements: first), Migration(statements: second), Migration(statements: third),
        Migration(statements: fourth, oldest: 3),
    ]

    /// Times are nanoseconds since 1970, UTC. Names are compared byte by byte, as in the file system.
    ///
    /// `segment.length` is `ends - begins`, clamped: a damaged file's values must not make a row fail. Sessions count
    /// their segments and bytes by statement triggers, so that a list of sessions reads no segments.
    private static let first = """
        DO $$ BEGIN
            IF to_regnamespace('tributary') IS NULL THEN CREATE SCHEMA tributary; END IF;
        END $$;
        CREATE TABLE tributary.schema_version (version integer PRIMARY KEY);
        CREATE TABLE tributary.archive (
            id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            identity text COLLATE "C" NOT NULL UNIQUE, place text NOT NULL,
            is_complete boolean NOT NULL, changes bigint NOT NULL
        );
        CREATE TABLE tributary.session (
            archive integer NOT NULL, session text COLLATE "C" NOT NULL, zero bigint NOT NULL,
            state text NOT NULL, end_reason text, segment_length bigint NOT NULL,
            software text NOT NULL, is_protected boolean NOT NULL, name text, tags text NOT NULL,
            note text, sources text NOT NULL, segments bigint NOT NULL, bytes numeric NOT NULL,
            PRIMARY KEY (archive, session)
        );
        CREATE TABLE tributary.source (
            archive integer NOT NULL, session text COLLATE "C" NOT NULL,
            source text COLLATE "C" NOT NULL, agent text NOT NULL, tracks text NOT NULL,
            is_complete boolean NOT NULL, PRIMARY KEY (archive, session, source)
        );
        CREATE TABLE tributary.segment (
            archive integer NOT NULL, session text COLLATE "C" NOT NULL,
            source text COLLATE "C" NOT NULL, file text COLLATE "C" NOT NULL,
            begins bigint NOT NULL, ends bigint, length bigint, bytes bigint,
            revision bigint NOT NULL, PRIMARY KEY (archive, session, source, file)
        );
        CREATE INDEX segment_by_time ON tributary.segment (archive, begins)
            INCLUDE (ends, bytes, session) WHERE ends IS NOT NULL;
        CREATE INDEX segment_by_length ON tributary.segment (archive, length)
            WHERE ends IS NOT NULL;
        CREATE INDEX segment_growing ON tributary.segment (archive, begins) WHERE ends IS NULL;
        CREATE TABLE tributary.event (
            archive integer NOT NULL, session text COLLATE "C" NOT NULL,
            source text COLLATE "C" NOT NULL, line bigint NOT NULL, kind text NOT NULL,
            starts bigint, duration bigint, samples bigint, track text, cause text, bound bigint,
            text text, PRIMARY KEY (archive, session, source, line)
        );
        CREATE FUNCTION tributary.count_added() RETURNS trigger LANGUAGE plpgsql
            SET search_path = pg_catalog AS $$
        BEGIN
            UPDATE tributary.session s SET segments = s.segments + n.segments, bytes = s.bytes + n.bytes
            FROM (SELECT archive, session, count(*) AS segments, coalesce(sum(bytes), 0) AS bytes
                FROM added GROUP BY archive, session) n
            WHERE s.archive = n.archive AND s.session = n.session;
            RETURN NULL;
        END $$;
        CREATE FUNCTION tributary.count_removed() RETURNS trigger LANGUAGE plpgsql
            SET search_path = pg_catalog AS $$
        BEGIN
            UPDATE tributary.session s SET segments = s.segments - n.segments, bytes = s.bytes - n.bytes
            FROM (SELECT archive, session, count(*) AS segments, coalesce(sum(bytes), 0) AS bytes
                FROM removed GROUP BY archive, session) n
            WHERE s.archive = n.archive AND s.session = n.session;
            RETURN NULL;
        END $$;
        CREATE FUNCTION tributary.count_changed() RETURNS trigger LANGUAGE plpgsql
            SET search_path = pg_catalog AS $$
        BEGIN
            UPDATE tributary.session s SET bytes = s.bytes + n.bytes
            FROM (SELECT archive, session, sum(bytes) AS bytes FROM (
                    SELECT archive, session, coalesce(bytes, 0) AS bytes FROM added
                    UNION ALL SELECT archive, session, -coalesce(bytes, 0)::numeric FROM removed
                ) c GROUP BY archive, session) n
            WHERE s.archive = n.archive AND s.session = n.session AND n.bytes <> 0;
            RETURN NULL;
        END $$;
        CREATE TRIGGER segment_added AFTER INSERT ON tributary.segment
            REFERENCING NEW TABLE AS added
            FOR EACH STATEMENT EXECUTE FUNCTION tributary.count_added();
        CREATE TRIGGER segment_removed AFTER DELETE ON tributary.segment
            REFERENCING OLD TABLE AS removed
            FOR EACH STATEMENT EXECUTE FUNCTION tributary.count_removed();
        CREATE TRIGGER segment_changed AFTER UPDATE ON tributary.segment
            REFERENCING OLD TABLE AS removed NEW TABLE AS added
            FOR EACH STATEMENT EXECUTE FUNCTION tributary.count_changed();
        """

    /// The collectors of a site. `archive` is the identity, not the number of ``first``: a collector reports before its
    /// archive's rows are in step.
    private static let second = """
        CREATE TABLE tributary.collector (
            archive text COLLATE "C" PRIMARY KEY, name text COLLATE "C" NOT NULL, run text NOT NULL,
            began timestamptz NOT NULL, heard timestamptz NOT NULL, report text NOT NULL,
            holdings text NOT NULL
        );
        """

    /// Sessions that a site has agreed on. A row is inserted by one collector and read by the others, and never changed.
    /// `server_zero` is zero on the clock of the server that was started at `server`, as `measured` by that clock.
    private static let third = """
        CREATE TABLE tributary.site_session (
            number bigint PRIMARY KEY, session text COLLATE "C" NOT NULL UNIQUE,
            zero bigint NOT NULL, wall_error bigint NOT NULL, segment_length bigint NOT NULL,
            collector text NOT NULL, archive text COLLATE "C" NOT NULL,
            server_zero bigint NOT NULL, server_error bigint NOT NULL, measured bigint NOT NULL,
            server bigint NOT NULL, inserted timestamptz NOT NULL
        );
        """

    /// Leases of work that is to be done once, and which programs can use the tables.
    private static let fourth = """
        ALTER TABLE tributary.schema_version ADD COLUMN oldest integer;
        CREATE TABLE tributary.lease (
            name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, label text NOT NULL,
            token bigint NOT NULL, until timestamptz NOT NULL
        );
        """
}
