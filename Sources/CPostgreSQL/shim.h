// libpq's own header, and the macro of it that Swift does not import. Debian keeps the header in a directory of its own.
#ifndef TRIBUTARY_CPOSTGRESQL_SHIM_H
#define TRIBUTARY_CPOSTGRESQL_SHIM_H

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

static const int CPostgreSQL_sqlstate_field = PG_DIAG_SQLSTATE;

#endif
