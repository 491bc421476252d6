// The headers of OpenSSL's libcrypto that `Hashing` uses.
#ifndef TRIBUTARY_COPENSSL_SHIM_H
#define TRIBUTARY_COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#endif
