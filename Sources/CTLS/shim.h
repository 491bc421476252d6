// OpenSSL's libssl for the TLS client in `Devices`. The client has no socket: the caller transfers the bytes.
#ifndef TRIBUTARY_CTLS_SHIM_H
#define TRIBUTARY_CTLS_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Macros, which Swift cannot call.
static inline int CTLS_set_server_name(SSL *connection, const char *name) {
    return (int)SSL_set_tlsext_host_name(connection, name);
}
static inline int CTLS_require_version_1_2(SSL_CTX *context) {
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

#endif
