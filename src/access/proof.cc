#include "access/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>

#include "base/check.h"

namespace spate::access {
namespace {

constexpr std::string_view kPurpose("spate access 1\0", 15);

// Not what the machine's openssl.cnf says (transport/tcp/openssl.h has the reasons).
void StartOpenssl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

void Append(std::string& text, const Bytes32& bytes) { text.append(bytes.begin(), bytes.end()); }

}  // namespace

Bytes32 MakeProof(const Bytes32& secret, const ProofInput& input) {
  StartOpenssl();
  std::string text(kPurpose);
  Append(text, input.connection_key);
  Append(text, input.nonce);
  for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(input.serial >> shift);
  text += static_cast<char>(input.role);
  Bytes32 proof;
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), data, text.size(),
             proof.data(), &size) != nullptr);
  CHECK(size == proof.size());
  return proof;
}

bool ProofHolds(const Bytes32& secret, const ProofInput& input, const Bytes32& proof) {
  Bytes32 right = MakeProof(secret, input);
  return CRYPTO_memcmp(right.data(), proof.data(), right.size()) == 0;
}

Result<Bytes32> MakeRandom() {
  StartOpenssl();
  Bytes32 bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Fail(ErrorKind::kUnavailable, "the system gives no random bytes; see getrandom(2)");
  }
  return bytes;
}

}  // namespace spate::access
