// zlib's header, and a prefixed shim for the only macro in use that Swift cannot import.
#ifndef TRIBUTARY_CZLIB_SHIM_H
#define TRIBUTARY_CZLIB_SHIM_H

#include <zlib.h>

static inline int CZlib_deflateInit2(z_streamp stream, int level, int windowBits, int memLevel) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, memLevel, Z_DEFAULT_STRATEGY);
}

#endif
