// Identity: who a hub is: a key pair (ECDSA, P-256) and a certificate that it signed itself. Nobody
// trusts the certificate: those who connect know the pin of the key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes32.h"
#include "base/result.h"

namespace spate::transport {

class Identity {
 public:
  // A new one.
  static Result<Identity> Make();
  // Loads the file at `path`, which must be private (os::ReadPrivateFile); makes it, with mode
  // 0600, when it is missing. One process at a time.
  static Result<Identity> LoadOrMake(const std::string& path);
  // `name` is for messages.
  static Result<Identity> FromPem(std::string_view text, std::string_view name);
  // The private key and the certificate.
  std::string ToPem() const;

  Identity(Identity&&) noexcept;
  Identity& operator=(Identity&&) noexcept;
  ~Identity();

  // SHA-256 of the public key (SubjectPublicKeyInfo, DER): the same for as long as the key is.
  Bytes32 pin() const;

  struct Parts;  // OpenSSL's
  const Parts& parts() const { return *parts_; }

 private:
  explicit Identity(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace spate::transport
