// libyaml's own header, of which Swift imports all that Terminal needs.
#ifndef TRIBUTARY_CYAML_SHIM_H
#define TRIBUTARY_CYAML_SHIM_H

#include <yaml.h>

#endif
