// SQLite's header, and shims for the calls that Swift cannot import. The shims are prefixed and contain no logic.
#ifndef TRIBUTARY_CSQLITE_SHIM_H
#define TRIBUTARY_CSQLITE_SHIM_H

#include <sqlite3.h>

// Sets an option with a Boolean value. sqlite3_db_config() is variadic.
static inline int CSQLite_configure(sqlite3 *database, int option, int isOn) {
    return sqlite3_db_config(database, option, isOn, (int *)0);
}

// Binds a text, which SQLite copies. Swift cannot import SQLITE_TRANSIENT, a macro with a cast.
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int parameter, const char *text, int bytes) {
    return sqlite3_bind_text(statement, parameter, text, bytes, SQLITE_TRANSIENT);
}

#endif
