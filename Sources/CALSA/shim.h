// ALSA's library, and what of it Swift cannot import. Prefixed, and without logic.
#ifndef TRIBUTARY_CALSA_SHIM_H
#define TRIBUTARY_CALSA_SHIM_H

// Before ALSA's own: it would define struct timespec again.
#include <sys/time.h>
#include <time.h>

#include <alsa/asoundlib.h>

// The library explains every failure on stderr, through a function with a variable number of arguments. Failures come
// back as error numbers, too, and those are what we report.
static void CALSA_say_nothing(const char *file, int line, const char *function, int error, const char *format, ...) {}

static inline void CALSA_keep_off_terminal(void) { snd_lib_error_set_handler(CALSA_say_nothing); }

#endif
