#include "link/hub_keys.h"

#include <fmt/format.h>

#include "access/proof.h"
#include "base/units.h"
#include "os/process.h"

namespace spate::link {
namespace {

// Numbers of the two, so that files that are older than the hub fit.
constexpr uint64_t kAdminSerial = 1;
constexpr uint64_t kNodeSerial = 2;

Result<access::Access> LoadOrMakeOne(const std::string& path, const access::Access& wanted) {
  if (!os::Exists(path)) {
    access::Access made = wanted;
    auto secret = access::MakeRandom();
    if (!secret) return std::unexpected(std::move(secret.error()));
    made.secret = *secret;
    if (auto saved = access::SaveAccess(path, made); !saved) return std::unexpected(saved.error());
    return made;
  }
  auto found = access::LoadAccess(path);
  if (!found) return found;
  if (found->pin == wanted.pin && found->serial == wanted.serial && found->role == wanted.role) {
    return found;
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not the first access of the hub with this key; remove it, and "
                          "a new one is made",
                          EscapeForScreen(path)));
}

}  // namespace

Result<HubKeys> HubKeys::Open(const std::string& dir) {
  auto lock =
      os::FileLock::TryLock(os::JoinPath(dir, "key.lock"), fmt::format("process {}", os::OwnPid()));
  if (!lock) return std::unexpected(std::move(lock.error()));
  return HubKeys(dir, std::move(*lock));
}

Result<transport::Identity> HubKeys::LoadOrMakeKey() const {
  return transport::Identity::LoadOrMake(PathOf("key.pem"));
}

Result<FirstAccess> HubKeys::LoadOrMake(const transport::Identity& key,
                                        const NewAccess& wanted) const {
  access::Access like;
  like.hubs = wanted.hubs;
  like.pin = key.pin();
  like.serial = kAdminSerial;
  like.role = access::Role::kAdmin;
  like.user = wanted.user;
  auto admin = LoadOrMakeOne(PathOf(kAdminAccess), like);
  if (!admin) return std::unexpected(std::move(admin.error()));
  like.serial = kNodeSerial;
  like.role = access::Role::kNode;
  like.user = wanted.node_user;
  auto node = LoadOrMakeOne(PathOf(kNodeAccess), like);
  if (!node) return std::unexpected(std::move(node.error()));
  return FirstAccess{std::move(*admin), std::move(*node)};
}

}  // namespace spate::link
