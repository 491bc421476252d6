// libyaml's header. Swift imports everything in it that Terminal uses.
#ifndef TRIBUTARY_CYAML_SHIM_H
#define TRIBUTARY_CYAML_SHIM_H

#include <yaml.h>

#endif
