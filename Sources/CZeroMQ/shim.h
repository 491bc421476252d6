// libzmq's header, and that of eventfd(2), which Glibc's module map leaves out.
#ifndef TRIBUTARY_CZEROMQ_SHIM_H
#define TRIBUTARY_CZEROMQ_SHIM_H

#include <sys/eventfd.h>
#include <zmq.h>

#endif
