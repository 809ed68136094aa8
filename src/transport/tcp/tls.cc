#include "transport/tcp/tls.h"

#include "transport/tcp/identity_parts.h"
#include "transport/tcp/tls_parts.h"

namespace spate::transport {
namespace {

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
    return Fail(ErrorKind::kUnavailable, "cannot set up TLS: " + TakeOpensslError());
  }
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // one system call for a record, not two
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_cert_list(context, kCertificateBytesMax);
  return parts;
}

}  // namespace

Tls::Tls(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tls::~Tls() = default;

Result<std::unique_ptr<Tls>> Tls::ForHub(const Identity& identity) {
  auto parts = MakeParts(true);
  if (!parts) return std::unexpected(std::move(parts.error()));
  SSL_CTX* context = (*parts)->context.get();
  if (SSL_CTX_use_certificate(context, identity.parts().certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, identity.parts().key.get()) != 1) {
    return Fail(ErrorKind::kInvalid, "cannot use the hub's key for TLS: " + TakeOpensslError());
  }
  return std::unique_ptr<Tls>(new Tls(std::move(*parts)));
}

Result<std::unique_ptr<Tls>> Tls::ForClient(const Bytes32& pin) {
  auto parts = MakeParts(false);
  if (!parts) return std::unexpected(std::move(parts.error()));
  (*parts)->pin = pin;
  SSL_CTX* context = (*parts)->context.get();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, CheckPin, parts->get());
  return std::unique_ptr<Tls>(new Tls(std::move(*parts)));
}

}  // namespace spate::transport
