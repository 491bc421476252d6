// libpq's header, and a constant for a macro that Swift does not import. Debian installs the header in <postgresql/>.
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

// Sets `count` to the number of bytes that a TCP connection has received. Returns 0; −1 for other sockets, and if the kernel does
// not report the number. Source: TCP_INFO (tcp(7)), tcpi_bytes_received of <linux/tcp.h>, since Linux 4.1; the C library's struct
// tcp_info does not have that field.
static inline int CPostgreSQL_received_bytes(int fd, uint64_t *count) {
    unsigned char info[256];
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) != 0 || size < 136) return -1;
    memcpy(count, info + 128, sizeof *count);
    return 0;
}

static const int CPostgreSQL_sqlstate_field = PG_DIAG_SQLSTATE;

#endif
