// The proof that the other end of a connection has a credential, without sending its secret: made
// over the connection's own key, so what is seen on one connection is worth nothing on another.
#pragma once

#include <cstdint>
#include <string_view>

#include "access/access_file.h"
#include "base/bytes32.h"
#include "base/result.h"

namespace spate::access {

// For transport::Stream::ExportKey.
inline constexpr std::string_view kExportLabel = "EXPORTER-spate-access";

// HMAC-SHA256 with the secret over "spate access 1" NUL, connection key (32), nonce (32), serial
// (8, little endian), role (1). `nonce` is the prover's, new for each connection.
struct ProofInput {
  Bytes32 connection_key;
  Bytes32 nonce;
  uint64_t serial;
  Role role;
};
Bytes32 MakeProof(const Bytes32& secret, const ProofInput& input);
// Takes as long for any wrong proof as for the right one.
bool ProofHolds(const Bytes32& secret, const ProofInput& input, const Bytes32& proof);

// A secret that follows from another one: HMAC-SHA256 with `master` over the purpose, NUL and the
// number (8, little endian). Whoever knows it learns nothing of the master or of other numbers'.
Bytes32 DeriveSecret(std::string_view master, std::string_view purpose, uint64_t number);

// A secret or a nonce, by the system's generator.
Result<Bytes32> MakeRandom();

}  // namespace spate::access
