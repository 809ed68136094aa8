// Tls: what all TLS streams of one side share. TLS 1.3 only, no resumption, no early data (so
// nothing can be replayed), no certificate authorities: a client knows the pin of its hub's key,
// and a hub knows its clients by what they prove later (access/proof.h). Or both share a secret.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes32.h"
#include "base/result.h"
#include "transport/tcp/identity.h"

namespace spate::transport {

class Tls {
 public:
  static Result<std::unique_ptr<Tls>> ForHub(const Identity& identity);
  static Result<std::unique_ptr<Tls>> ForClient(const Bytes32& pin);
  // Without any key pair: both ends know the secret, and each proves it to the other in the
  // handshake (a PSK with ECDHE: RFC 8446, 2.2). A peer that does not know it is kBroken.
  enum class End : uint8_t { kListener, kCaller };
  static Result<std::unique_ptr<Tls>> ForSharedSecret(End end, const Bytes32& secret);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Counts over all streams so far, for those who watch over a hub.
  struct Counts {
    uint64_t opened = 0;     // handshakes that came to their end
    uint64_t broken = 0;     // peers cut off because they broke TLS, before or after that
    uint64_t wrong_pin = 0;  // hubs that were not the one with the pin
    uint64_t late = 0;       // handshakes that were not done in time
  };
  const Counts& counts() const { return counts_; }

  struct Parts;  // OpenSSL's

 private:
  friend class Stream;
  explicit Tls(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  Counts counts_;
};

}  // namespace spate::transport
