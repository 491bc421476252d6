// ALSA's header, and shims for what Swift cannot import from it. The shims are prefixed and contain no logic.
#ifndef TRIBUTARY_CALSA_SHIM_H
#define TRIBUTARY_CALSA_SHIM_H

// Included before <alsa/asoundlib.h>, which otherwise defines struct timespec a second time.
#include <sys/time.h>
#include <time.h>

#include <alsa/asoundlib.h>

// ALSA prints a text about each failure on stderr, through a variadic handler. This handler discards the text: we report the error
// number, which the failed call returns.
static void CALSA_say_nothing(const char *file, int line, const char *function, int error, const char *format, ...) {}

static inline void CALSA_keep_off_terminal(void) { snd_lib_error_set_handler(CALSA_say_nothing); }

#endif
