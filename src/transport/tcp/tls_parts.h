// The inside of Tls, for stream.cc.
#pragma once

#include "base/bytes32.h"
#include "transport/tcp/openssl.h"
#include "transport/tcp/tls.h"

namespace spate::transport {

using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using BioMethodPtr = std::unique_ptr<BIO_METHOD, Freer<BIO_meth_free>>;

struct Tls::Parts {
  ContextPtr context;
  BioMethodPtr socket;  // how OpenSSL reads and writes a Stream's socket; filled by stream.cc
  bool is_hub = false;
  Bytes32 pin{};     // of the hub to reach, unless is_hub
  Bytes32 secret{};  // that both ends share, in place of a key pair
};

// The functions of Parts::socket, and the observer of a stream's handshake messages.
BioMethodPtr MakeStreamBioMethod();

}  // namespace spate::transport
