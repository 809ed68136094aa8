// The inside of Identity, for tls.cc.
#pragma once

#include "base/bytes32.h"
#include "transport/tcp/identity.h"
#include "transport/tcp/openssl.h"

namespace spate::transport {

struct Identity::Parts {
  KeyPtr key;
  CertificatePtr certificate;
};

// All zero, which is nobody's, when the certificate cannot be read.
Bytes32 PinOf(const X509* certificate);

}  // namespace spate::transport
