-- Roles of a catalog in PostgreSQL, each with the rights that it needs. Run it once as an administrator, in the catalog's database:
--
--   createdb tributary
--   psql -d tributary -f roles.sql
--   psql -c '\password tributary_writer' -c '\password tributary_reader' -c '\password tributary_owner'
--
-- Then make the tables: tributary index --prepare --catalog postgresql://tributary_owner@HOST/tributary
--
-- Running it again changes nothing.
\set ON_ERROR_STOP on
BEGIN;

DO $$
BEGIN
    IF to_regrole('tributary_owner') IS NULL THEN
        -- Owns the tables: makes and migrates them, after an upgrade.
        CREATE ROLE tributary_owner LOGIN;
    END IF;
    IF to_regrole('tributary_writer') IS NULL THEN
        -- Collectors; 'tributary index', 'note', 'protect', 'rm', 'import' and 'retime'. It writes the rows of every archive.
        CREATE ROLE tributary_writer LOGIN CONNECTION LIMIT 100;
    END IF;
    IF to_regrole('tributary_reader') IS NULL THEN
        -- 'tributary ls', tributary-viewer.
        CREATE ROLE tributary_reader LOGIN CONNECTION LIMIT 100;
    END IF;
    -- Nobody else may connect, or make anything here.
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO tributary_owner, tributary_writer, tributary_reader', current_database());
    IF to_regnamespace('tributary') IS NULL THEN
        CREATE SCHEMA tributary;
    END IF;
END $$;

ALTER SCHEMA tributary OWNER TO tributary_owner;
GRANT USAGE ON SCHEMA tributary TO tributary_writer, tributary_reader;

-- Tables that are there, and those that migrations will add.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tributary TO tributary_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA tributary TO tributary_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE tributary_owner IN SCHEMA tributary
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tributary_writer;
ALTER DEFAULT PRIVILEGES FOR ROLE tributary_owner IN SCHEMA tributary
    GRANT SELECT ON TABLES TO tributary_reader;

COMMIT;
