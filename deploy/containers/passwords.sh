#!/bin/sh
# Gives the catalog's roles their passwords while the database is created. `database_passwords` has a line ROLE PASSWORD for each.
set -eu
while read -r role password; do
    # Through standard input: arguments can be read by everybody on the machine. Passwords are letters and digits (make-secrets).
    echo "ALTER ROLE $role PASSWORD '$password';"
done < /run/secrets/database_passwords | psql -v ON_ERROR_STOP=1 -q -U postgres -d tributary
