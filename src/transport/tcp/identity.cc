#include "transport/tcp/identity.h"

#include <fmt/format.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include "base/units.h"
#include "os/file.h"
#include "transport/tcp/identity_parts.h"

namespace spate::transport {
namespace {

constexpr size_t kFileMax = 64 * 1024;

std::string Contents(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

// Dates and names are there because the format wants them: nobody looks at them.
bool Fill(X509* certificate, EVP_PKEY* key) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("spate hub");
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
         ASN1_TIME_set_string(X509_getm_notBefore(certificate), "19700101000000Z") == 1 &&
         ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

Bytes32 PinOf(const X509* certificate) {
  Bytes32 pin{};
  unsigned char* der = nullptr;
  int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size > 0) SHA256(der, static_cast<size_t>(size), pin.data());
  OPENSSL_free(der);
  return pin;
}

Identity::Identity(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Identity::Identity(Identity&&) noexcept = default;
Identity& Identity::operator=(Identity&&) noexcept = default;
Identity::~Identity() = default;

Bytes32 Identity::pin() const { return PinOf(parts_->certificate.get()); }

Result<Identity> Identity::Make() {
  StartOpenssl();
  auto parts = std::make_unique<Parts>();
  parts->key.reset(EVP_EC_gen("P-256"));
  parts->certificate.reset(X509_new());
  if (!parts->key || !parts->certificate || !Fill(parts->certificate.get(), parts->key.get())) {
    return Fail(ErrorKind::kUnavailable, "cannot make a key pair: " + DrainOpensslError());
  }
  return Identity(std::move(parts));
}

std::string Identity::ToPem() const {
  BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), parts_->key.get(), nullptr, nullptr, 0, nullptr,
                                nullptr);
  PEM_write_bio_X509(bio.get(), parts_->certificate.get());
  return Contents(bio.get());
}

Result<Identity> Identity::FromPem(std::string_view text, std::string_view name) {
  StartOpenssl();
  auto read = [text](auto function) {
    // Each looks for its own kind of block, so the order in the file does not matter. An encrypted
    // key must not ask for a password on the terminal.
    BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    pem_password_cb* no_password = [](char*, int, int, void*) { return -1; };
    return function(bio.get(), nullptr, no_password, nullptr);
  };
  auto parts = std::make_unique<Parts>();
  parts->key.reset(read(PEM_read_bio_PrivateKey));
  parts->certificate.reset(read(PEM_read_bio_X509));
  if (!parts->key || !parts->certificate ||
      X509_check_private_key(parts->certificate.get(), parts->key.get()) != 1) {
    return Fail(
        ErrorKind::kCorrupt,
        fmt::format("'{}' is not a valid private key with its certificate ({}); restore it from a "
                    "copy, or remove it",
                    EscapeForScreen(name), DrainOpensslError()));
  }
  return Identity(std::move(parts));
}

Result<Identity> Identity::LoadOrMake(const std::string& path) {
  auto text = os::ReadPrivateFile(path, kFileMax);
  if (text) return FromPem(*text, path);
  if (text.error().kind != ErrorKind::kNotFound) return std::unexpected(std::move(text.error()));
  auto made = Make();
  if (!made) return made;
  Status written = os::WriteFileAtomically(path, made->ToPem(), 0600);
  if (!written) return std::unexpected(std::move(written.error()));
  return made;
}

}  // namespace spate::transport
