// A program that has other things of the names that libspate_mw.a has inside: functions of its own
// that are called as OpenSSL's, and this system's SQLite and libcrypto.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sqlite3.h>

#include <cstdio>
#include <string>

#include "spate/mw.h"

extern "C" {

int SSL_new() { return 1; }
int SSL_CTX_new() { return 2; }
int ZSTD_compress() { return 3; }
int hwloc_topology_init() { return 4; }

}  // extern "C"

namespace spate::hub {

class Service {  // NOLINT: not ours
 public:
  void Stop() { ++stopped; }
  int stopped = 0;
};

}  // namespace spate::hub

namespace {

int AsMaster(spate::mw::master&) { return 0; }

bool SystemsLibrariesWork() {
  sqlite3* database = nullptr;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) return false;
  if (sqlite3_exec(database, "CREATE TABLE t (x)", nullptr, nullptr, nullptr) != SQLITE_OK)
    return false;
  sqlite3_close(database);
  unsigned char digest[EVP_MAX_MD_SIZE];
  return EVP_Digest("abc", 3, digest, nullptr, EVP_sha256(), nullptr) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  spate::hub::Service service;
  service.Stop();
  const int sum =
      SSL_new() + SSL_CTX_new() + ZSTD_compress() + hwloc_topology_init() + service.stopped;
  std::printf("%d\n", sum);
  const bool before = SystemsLibrariesWork();
  const int status = spate::mw::run(argc, argv, AsMaster);
  std::printf("%d %d %d\n", before, status, SystemsLibrariesWork());
  return 0;
}
