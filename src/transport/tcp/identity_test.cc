#include "transport/tcp/identity.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/temp_dir.h"
#include "transport/tcp/openssl.h"

namespace spate::transport {
namespace {

TEST(Identity, IsMadeOnceAndLoadedLater) {
  os::TempDir dir;
  std::string path = dir.Path("hub.pem");
  auto made = Identity::LoadOrMake(path);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(os::Stat(path).value().permissions, 0600u);
  auto loaded = Identity::LoadOrMake(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->pin(), made->pin());
  EXPECT_NE(Identity::Make().value().pin(), made->pin());
}

TEST(Identity, ThePinIsThatOfThePublicKey) {
  auto identity = Identity::Make();
  ASSERT_TRUE(identity);
  std::string pem = identity->ToPem();
  // From the private key, where the identity takes the certificate's.
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  unsigned char* der = nullptr;
  int size = i2d_PUBKEY(key.get(), &der);
  ASSERT_EQ(size, 91);  // P-256, uncompressed
  Bytes32 pin;
  SHA256(der, static_cast<size_t>(size), pin.data());
  OPENSSL_free(der);
  EXPECT_EQ(identity->pin(), pin);
  EXPECT_EQ(Identity::FromPem(pem, "text").value().pin(), pin);
}

TEST(Identity, RefusesWhatIsDamagedOrOpenToOthers) {
  os::TempDir dir;
  auto made = Identity::Make();
  auto other = Identity::Make();
  ASSERT_TRUE(made && other);
  std::string pem = made->ToPem();
  size_t certificate = pem.find("-----BEGIN CERTIFICATE");
  ASSERT_NE(certificate, std::string::npos);
  for (const std::string& bad : {std::string(), pem.substr(0, certificate), pem.substr(certificate),
                                 pem.substr(0, pem.size() / 2),
                                 pem.substr(0, certificate) + other->ToPem().substr(certificate)}) {
    std::string path = dir.Write("bad.pem", bad);
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    auto loaded = Identity::LoadOrMake(path);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::kCorrupt);
    EXPECT_EQ(os::ReadFile(path, 1 << 16).value(), bad);  // never made anew over it
  }
  std::string open = dir.Write("open.pem", pem);
  ASSERT_EQ(chmod(open.c_str(), 0644), 0);
  EXPECT_EQ(Identity::LoadOrMake(open).error().kind, ErrorKind::kPermission);
}

}  // namespace
}  // namespace spate::transport
