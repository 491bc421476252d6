// SQLite's own header, and those of its calls that Swift cannot import. Prefixed, and without logic.
#ifndef TRIBUTARY_CSQLITE_SHIM_H
#define TRIBUTARY_CSQLITE_SHIM_H

#include <sqlite3.h>

// sqlite3_db_config() is variadic. For the options that take a Boolean.
static inline int CSQLite_configure(sqlite3 *database, int option, int isOn) {
    return sqlite3_db_config(database, option, isOn, (int *)0);
}

// SQLITE_TRANSIENT is a cast. SQLite copies the text.
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int parameter, const char *text, int bytes) {
    return sqlite3_bind_text(statement, parameter, text, bytes, SQLITE_TRANSIENT);
}

#endif
