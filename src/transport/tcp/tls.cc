#include "transport/tcp/tls.h"

#include <string_view>

#include "transport/tcp/identity_parts.h"
#include "transport/tcp/tls_parts.h"

namespace spate::transport {
namespace {

constexpr size_t kReadAhead = 64 * 1024;
constexpr long kCertificateBytesMax = 8 * 1024;  // ours have about 400

// In place of looking for a chain of authorities. That the peer has the private key too is the
// handshake's business.
int CheckPin(X509_STORE_CTX* store, void* arg) {
  const auto& parts = *static_cast<const Tls::Parts*>(arg);
  X509* certificate = X509_STORE_CTX_get0_cert(store);
  bool same = certificate != nullptr && PinOf(certificate) == parts.pin;
  X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
  return same ? 1 : 0;
}

Result<std::unique_ptr<Tls::Parts>> MakeParts(bool is_hub) {
  StartOpenssl();
  auto parts = std::make_unique<Tls::Parts>();
  parts->is_hub = is_hub;
  parts->context.reset(SSL_CTX_new(is_hub ? TLS_server_method() : TLS_client_method()));
  parts->socket = MakeStreamBioMethod();
  SSL_CTX* context = parts->context.get();
  if (context == nullptr || !parts->socket ||
      SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
    return Fail(ErrorKind::kUnavailable, "cannot set up TLS: " + DrainOpensslError());
  }
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One system call for some records, not two for each.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAhead);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_cert_list(context, kCertificateBytesMax);
  return parts;
}

using SessionPtr = std::unique_ptr<SSL_SESSION, Freer<SSL_SESSION_free>>;

// A name that all shared secrets have: which one it is, both ends know before.
constexpr std::string_view kSharedName = "spate";
// The only suite with them, as a secret is bound to its hash.
constexpr const char* kSharedSuite = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kSharedSuiteId[] = {0x13, 0x01};

// A session that begins with the secret of this end; null: out of memory.
SSL_SESSION* SharedSession(SSL* ssl) {
  const auto* parts = static_cast<const Tls::Parts*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  SessionPtr session(SSL_SESSION_new());
  const SSL_CIPHER* suite = SSL_CIPHER_find(ssl, kSharedSuiteId);
  bool made =
      session != nullptr && suite != nullptr &&
      SSL_SESSION_set1_master_key(session.get(), parts->secret.data(), parts->secret.size()) == 1 &&
      SSL_SESSION_set_cipher(session.get(), suite) == 1 &&
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) == 1;
  return made ? session.release() : nullptr;
}

int UseSharedSession(SSL* ssl, const EVP_MD* hash, const unsigned char** name, size_t* size,
                     SSL_SESSION** session) {
  *session = nullptr;
  // Asked once more, when the listener wants another group: with another hash there is none.
  if (hash != nullptr && EVP_MD_get_type(hash) != NID_sha256) return 1;
  *name = reinterpret_cast<const unsigned char*>(kSharedName.data());
  *size = kSharedName.size();
  *session = SharedSession(ssl);
  return *session != nullptr ? 1 : 0;
}

int FindSharedSession(SSL* ssl, const unsigned char* name, size_t size, SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(name), size) != kSharedName) return 1;
  *session = SharedSession(ssl);
  return *session != nullptr ? 1 : 0;
}

}  // namespace

Tls::Tls(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tls::~Tls() = default;

Result<std::unique_ptr<Tls>> Tls::ForHub(const Identity& identity) {
  auto parts = TRY(MakeParts(true));
  SSL_CTX* context = parts->context.get();
  if (SSL_CTX_use_certificate(context, identity.parts().certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, identity.parts().key.get()) != 1) {
    return Fail(ErrorKind::kInvalid, "cannot use the hub's key for TLS: " + DrainOpensslError());
  }
  return std::unique_ptr<Tls>(new Tls(std::move(parts)));
}

Result<std::unique_ptr<Tls>> Tls::ForClient(const Bytes32& pin) {
  auto parts = TRY(MakeParts(false));
  parts->pin = pin;
  SSL_CTX* context = parts->context.get();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, CheckPin, parts.get());
  return std::unique_ptr<Tls>(new Tls(std::move(parts)));
}

// A listener without a certificate can let nobody in but by the secret. A caller takes no
// certificate: it knows no authority.
Result<std::unique_ptr<Tls>> Tls::ForSharedSecret(End end, const Bytes32& secret) {
  auto parts = TRY(MakeParts(end == End::kListener));
  parts->secret = secret;
  SSL_CTX* context = parts->context.get();
  SSL_CTX_set_app_data(context, parts.get());
  if (SSL_CTX_set_ciphersuites(context, kSharedSuite) != 1) {
    return Fail(ErrorKind::kUnavailable, "cannot set up TLS: " + DrainOpensslError());
  }
  if (end == End::kListener) {
    SSL_CTX_set_psk_find_session_callback(context, FindSharedSession);
  } else {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(context, UseSharedSession);
  }
  return std::unique_ptr<Tls>(new Tls(std::move(parts)));
}

}  // namespace spate::transport
