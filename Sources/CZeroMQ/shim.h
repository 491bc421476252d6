// libzmq's own header, of which Swift imports all that Messaging needs, and eventfd(2), which Glibc's module leaves out.
#ifndef TRIBUTARY_CZEROMQ_SHIM_H
#define TRIBUTARY_CZEROMQ_SHIM_H

#include <sys/eventfd.h>
#include <zmq.h>

#endif
