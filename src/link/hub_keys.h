// The first credentials of a hub: an administrator's and that of its nodes, as files in its folder
// for its owner to pass on. Nodes may be started before their hub ever was: whoever does that makes
// the hub's key and these files, and the hub takes them up.
#pragma once

#include <string>
#include <vector>

#include "access/access_file.h"
#include "base/result.h"
#include "os/file.h"
#include "transport/tcp/identity.h"

namespace spate::link {

inline constexpr const char* kHubKey = "key.pem";
inline constexpr const char* kAdminAccess = "admin.access";
inline constexpr const char* kNodeAccess = "node.access";

struct FirstAccess {
  access::Access admin, node;
};
// For what is missing.
struct NewAccess {
  std::vector<os::Address> hubs;
  std::string user;       // of the administrator
  std::string node_user;  // whose tasks nodes take; "*": everybody's
};

// The folder of a hub, while its key and first credentials are made: by one process at a time.
class HubKeys {
 public:
  // The folder is there. kBusy: another process does this at this moment.
  static Result<HubKeys> Open(const std::string& dir);
  // Makes the key when it is missing.
  Result<transport::Identity> LoadOrMakeKey() const;
  // Replaces the key. The first access files keep their credentials, and get the new pin.
  Status Replace(const transport::Identity& key) const;
  // Makes what is missing. kInvalid: what is there is of another key.
  Result<FirstAccess> LoadOrMake(const transport::Identity& key, const NewAccess& wanted) const;
  bool Has(const char* name) const { return os::Exists(PathOf(name)); }
  std::string PathOf(const char* name) const { return os::JoinPath(dir_, name); }

 private:
  HubKeys(std::string dir, os::FileLock lock) : dir_(std::move(dir)), lock_(std::move(lock)) {}

  std::string dir_;
  os::FileLock lock_;
};

}  // namespace spate::link
