// libpq's own header, and the macro of it that Swift does not import. Debian keeps the header in a directory of its own.
#ifndef TRIBUTARY_CPOSTGRESQL_SHIM_H
#define TRIBUTARY_CPOSTGRESQL_SHIM_H

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h>
#endif

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// How many bytes a TCP connection has received (tcp(7), TCP_INFO; tcpi_bytes_received of <linux/tcp.h>, since Linux 4.1, which the C
// library's structure lacks). Not 0: it is no such connection, or the kernel does not tell.
static inline int CPostgreSQL_received_bytes(int fd, uint64_t *count) {
    unsigned char info[256];
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) != 0 || size < 136) return -1;
    memcpy(count, info + 128, sizeof *count);
    return 0;
}

static const int CPostgreSQL_sqlstate_field = PG_DIAG_SQLSTATE;

#endif
