// OpenSSL parts that the files of this folder share. Not for other folders.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace spate::transport {

template <auto free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;

// Before the first use of OpenSSL: the machine's openssl.cnf is not read. It may be of another
// version, name modules that a static program cannot load, or weaken what we ask for.
inline void StartOpenssl() { OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

// Why the last call failed; empties the queue of errors.
inline std::string DrainOpensslError() {
  unsigned long code = ERR_peek_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace spate::transport
