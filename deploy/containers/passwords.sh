#!/bin/sh
# Gives the catalog's roles their passwords while the database is created. `database_passwords` has a line ROLE PASSWORD for each.
#
# In a shell of its own: PostgreSQL's entry point runs what it cannot execute (a ConfigMap's file) in itself. Not by `set -e`, which does not
# hold in front of `||`.
(
    file=/run/secrets/database_passwords
    # Before psql starts: whoever reads nothing would set no password, and succeed.
    lines=$(cat "$file") || exit 1
    [ -n "$lines" ] || { echo "passwords.sh: $file is empty" >&2; exit 1; }
    statements=$(printf '%s\n' "$lines" | while read -r role password; do
        [ -n "$password" ] || { echo "passwords.sh: a line of $file has no password" >&2; exit 1; }
        echo "ALTER ROLE $role PASSWORD '$password';"
    done) || exit 1
    # Through standard input: arguments can be read by everybody on the machine. Passwords are letters and digits (make-secrets).
    printf '%s\n' "$statements" | psql -v ON_ERROR_STOP=1 -q -U postgres -d tributary
) || exit 1
