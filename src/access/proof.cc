#include "access/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>

#include "base/check.h"
#include "os/exhausted.h"

namespace spate::access {
namespace {

constexpr std::string_view kPurpose("spate access 1\0", 15);

// Not what the machine's openssl.cnf says (transport/tcp/openssl.h has the reasons).
void StartOpenssl() { OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

void Append(std::string& text, const Bytes32& bytes) { text.append(bytes.begin(), bytes.end()); }
void Append(std::string& text, uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) text += static_cast<char>(number >> shift);
}

Bytes32 Hmac(std::string_view key, std::string_view text) {
  StartOpenssl();
  Bytes32 bytes;
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, text.size(),
                          bytes.data(), &size);
  if (made == nullptr) os::EndExhausted(os::kOutOfMemory);
  CHECK(size == bytes.size());
  return bytes;
}

}  // namespace

Bytes32 MakeProof(const Bytes32& secret, const ProofInput& input) {
  std::string text(kPurpose);
  Append(text, input.connection_key);
  Append(text, input.nonce);
  Append(text, input.serial);
  text += static_cast<char>(input.role);
  return Hmac({reinterpret_cast<const char*>(secret.data()), secret.size()}, text);
}

Bytes32 DeriveSecret(std::string_view master, std::string_view purpose, uint64_t number) {
  std::string text(purpose);
  text += '\0';
  Append(text, number);
  return Hmac(master, text);
}

bool ProofHolds(const Bytes32& secret, const ProofInput& input, const Bytes32& proof) {
  Bytes32 right = MakeProof(secret, input);
  return CRYPTO_memcmp(right.data(), proof.data(), right.size()) == 0;
}

Result<Bytes32> MakeRandom() {
  StartOpenssl();
  Bytes32 bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Fail(ErrorKind::kUnavailable, "the system provides no random bytes; see getrandom(2)");
  }
  return bytes;
}

}  // namespace spate::access
