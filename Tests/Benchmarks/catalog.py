#!/usr/bin/env python3
"""Fills a catalog in PostgreSQL with millions of segments, and measures in the database the queries of `tributary ls`.

The tables and the statements are those of the sources: read from Sources/Catalog/PostgreSQL, not written here again.
Exit status 1 when a list or a time range takes longer than --limit milliseconds (the median of five, EXPLAIN ANALYZE's execution
time). The questions behind the line are for comparison: a collector asks them when it starts, a timeline when it is drawn.
With --collectors N, the cameras are divided among the archives of N collectors of a site, which all have every session. A reader
asks for each archive: the times and rows are those of all N together.
"""

import argparse
import os
import re
import statistics
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
SOURCES = os.path.join(PROJECT, "Sources", "Catalog", "PostgreSQL")
sys.path.insert(0, os.path.join(PROJECT, "Tests", "Catalog"))

from server import Absent, Server  # noqa: E402

CAMERAS, SEGMENT, DAY = 64, 600, 86_400
BEGIN = 1_700_000_000
NANO = 1_000_000_000


def source(name):
    with open(os.path.join(SOURCES, name)) as text:
        return text.read()


def unindented(text):
    """A Swift multi-line literal, without the indentation of its closing quotes, which is at least that of its lines."""
    return re.sub(r"\\\n\s*", "", text)


def schema():
    return unindented(re.search(r'static let first = """\n(.*?)\n\s*"""', source("PostgreSQLSchema.swift"), re.S).group(1))


def statement(name):
    """A statement by its name, with what it is made of put in."""
    text = source("PostgreSQLStatements.swift")

    def literal(words):
        found = re.search(r"static let " + words + r'\b\s*=\s*"""\n(.*?)\n\s*"""', text, re.S)
        return unindented(found.group(1)) if found else re.search(r"static let " + words + r'\s*=\s*"(.*?)"\n', text).group(1)

    function = lambda words: unindented(re.search(
        r"static func " + words + r'\(.*?\{\n\s*"""\n(.*?)\n\s*"""', text, re.S).group(1))
    found = lambda columns: function("found").replace("\\(columns)", columns)
    with_zero = lambda files: function("withZero").replace("\\(files)", files)
    columns = literal("columns")
    if name == "sessions":
        return literal("sessions").replace("\\(listed)", literal("listed").strip())
    if name == "sessionsInRange":
        return (literal("sessionsInRange").replace("\\(listed)", literal("listed").strip())
                .replace('\\(found("session, bytes"))', found("session, bytes")))
    if name == "segmentsInRange":
        return (with_zero(found(columns)) + " WHERE $5::text IS NULL OR g.session = $5::text ORDER BY g.session, "
                "g.source, g.file")
    if name == "segmentsOfSession":
        inner = re.search(r'static let segmentsOfSession\s*=\s*withZero\(\s*"""\n(.*?)\n\s*"""', text, re.S).group(1)
        return with_zero(inner.replace("\\(columns)", columns)) + " ORDER BY g.session, g.source, g.file"
    return literal(name)


def fill(server, rows, collectors):
    """`rows` segments: a session for each day, 64 cameras, ten minutes each; the last ones still grow. Without collectors of a site, an
    eighth of the cameras is in a second archive."""
    archive = f"1 + c % {collectors}" if collectors else f"CASE WHEN c < {CAMERAS * 7 // 8} THEN 1 ELSE 2 END"
    server.sql(schema())
    server.sql(f"""
        INSERT INTO tributary.schema_version VALUES (1);
        INSERT INTO tributary.archive (identity, place, is_complete, changes)
            SELECT 'a' || n, 'bench:/a' || n, true, 0 FROM generate_series(1, {collectors or 2}) n;
        ALTER TABLE tributary.segment DISABLE TRIGGER USER;
        CREATE TEMPORARY TABLE kept AS SELECT indexdef FROM pg_indexes
            WHERE schemaname = 'tributary' AND indexname LIKE 'segment\\_by%' OR indexname = 'segment_growing';
        DROP INDEX tributary.segment_by_time, tributary.segment_by_length, tributary.segment_growing;
        SET synchronous_commit = off; SET maintenance_work_mem = '512MB';
        INSERT INTO tributary.segment
        SELECT {archive},
            to_char(to_timestamp({BEGIN} + t / {DAY} * {DAY}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24-MI-SS".000Z"'),
            'camera' || c,
            to_char(to_timestamp({BEGIN} + t) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24-MI-SS".000Z.mp4"'),
            ({BEGIN} + t)::bigint * {NANO},
            CASE WHEN t = last THEN NULL ELSE ({BEGIN} + t + {SEGMENT})::bigint * {NANO} END,
            CASE WHEN t = last THEN NULL ELSE {SEGMENT}::bigint * {NANO} END,
            CASE WHEN t = last THEN NULL ELSE 250000000 + (t::bigint * 7919 + c) % 50000000 END, 0
        FROM (SELECT s * {SEGMENT} AS t, c, ({rows} / {CAMERAS} - 1) * {SEGMENT} AS last
            FROM generate_series(0, {rows} / {CAMERAS} - 1) s, generate_series(0, {CAMERAS} - 1) c) g;
        DO $$ DECLARE d text; BEGIN FOR d IN SELECT indexdef FROM kept LOOP EXECUTE d; END LOOP; END $$;
        ALTER TABLE tributary.segment ENABLE TRIGGER USER;
        INSERT INTO tributary.session (archive, session, zero, state, segment_length, software, is_protected, tags,
            sources, segments, bytes)
        SELECT archive, session, min(begins), CASE WHEN count(ends) = count(*) THEN 'finished' ELSE 'recording' END,
            {SEGMENT}::bigint * {NANO}, 'bench', false, '', string_agg(DISTINCT source, E'\\n'), count(*),
            coalesce(sum(bytes), 0) FROM tributary.segment GROUP BY archive, session;""")
    server.sql("VACUUM ANALYZE tributary.segment; VACUUM ANALYZE tributary.session; CHECKPOINT")


def measure_all(server, name, values, collectors):
    """The sum over the archives of a site."""
    found = [measure(server, name, [str(archive), *values[1:]]) for archive in range(1, (collectors or 1) + 1)]
    return sum(time for time, _, _ in found), sum(rows for _, rows, _ in found), found[0][2]


def measure(server, name, values):
    text = statement(name)
    for number in range(len(values), 0, -1):
        text = text.replace(f"${number}::", f"{values[number - 1]}::")
    times, rows = [], 0
    for _ in range(5):
        plan = server.sql("SET search_path = pg_catalog; SET jit = off;\nEXPLAIN (ANALYZE, TIMING OFF) " + text)
        times.append(float(re.search(r"Execution Time: ([0-9.]+) ms", plan).group(1)))
        rows = int(re.search(r"actual rows=(\d+)", plan).group(1))
    return statistics.median(times), rows, plan


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=10_000_000)
    parser.add_argument("--collectors", type=int, help=f"archives of a site, from 2 to {CAMERAS}")
    parser.add_argument("--limit", type=float, default=20.0, help="milliseconds")
    parser.add_argument("--directory", help="where the database is made (4 GB for ten million, and as much again while it is filled)")
    parser.add_argument("--plans", action="store_true", help="print the plans")
    options = parser.parse_args()
    if options.collectors is not None and not 2 <= options.collectors <= CAMERAS:
        parser.error(f"--collectors must be from 2 to {CAMERAS}")
    try:
        server = Server(options.directory, settings=["fsync = off", "max_wal_size = '8GB'", "shared_buffers = '512MB'"])
    except Absent as reason:
        print(f"catalog.py: skipped: {reason}")
        return 0
    failures = 0
    try:
        server.start()
        fill(server, options.segments, options.collectors)
        length = SEGMENT * NANO
        last = options.segments // CAMERAS * SEGMENT
        hour, day = 3_600 * NANO, DAY * NANO

        def span(begin, lasts):
            begin = (BEGIN + begin) * NANO
            return ["1", str(begin - length), str(begin + lasts), str(begin)]

        middle = last // 2
        session = server.sql("SELECT session FROM tributary.session WHERE archive = 1 ORDER BY session LIMIT 1 OFFSET 3").strip()
        questions = [
            ("ls", "sessions", ["1"]),
            ("ls, an hour", "sessionsInRange", span(middle, hour)),
            ("ls, a day", "sessionsInRange", span(middle, day)),
            ("ls, the last hour", "sessionsInRange", span(last - 3_600, hour)),
            ("ls SESSION, a minute", "segmentsInRange", [*span(3 * DAY + 5_000, 60 * NANO), f"'{session}'"]),
            ("segments of an hour", "segmentsInRange", [*span(middle, hour), "NULL"]),
            None,
            ("segments of a session", "segmentsOfSession", ["1", f"'{session}'"]),
            ("the longest file", "longest", ["1"]),
            ("names of sessions", "sessionNames", ["1"]),
            ("names of all there is", "indexedSessionNames", ["1"]),
        ]
        print(f"{options.segments} segments, "
              f"{int(server.sql('SELECT count(*) FROM tributary.session'))} sessions, {options.collectors or 2} archives, "
              f"{int(server.sql('SELECT pg_database_size(current_database())')) / 1e9:.1f} GB")
        is_limited = True
        for question in questions:
            if question is None:
                is_limited = False
                print("-" * 50)
                continue
            title, name, values = question
            milliseconds, rows, plan = measure_all(server, name, values, options.collectors)
            failed = is_limited and milliseconds > options.limit
            failures += failed
            print(f"{title:24} {milliseconds:8.2f} ms {rows:8} rows{'  TOO SLOW' if failed else ''}")
            if options.plans:
                print(plan)
    finally:
        server.remove()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
