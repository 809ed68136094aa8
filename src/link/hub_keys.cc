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
    auto secret = TRY(access::MakeRandom());
    made.secret = secret;
    TRY(access::SaveAccess(path, made));
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
  return transport::Identity::LoadOrMake(PathOf(kHubKey));
}

Status HubKeys::Replace(const transport::Identity& key) const {
  for (const char* name : {kAdminAccess, kNodeAccess}) {
    if (!Has(name)) continue;
    auto known = TRY(access::LoadAccess(PathOf(name)));
    known.pin = key.pin();
    TRY(access::SaveAccess(PathOf(name), known));
  }
  return os::WriteFileAtomically(PathOf(kHubKey), key.ToPem(), 0600);
}

Result<FirstAccess> HubKeys::LoadOrMake(const transport::Identity& key,
                                        const NewAccess& wanted) const {
  access::Access like;
  like.hubs = wanted.hubs;
  like.pin = key.pin();
  like.serial = kAdminSerial;
  like.role = access::Role::kAdmin;
  like.user = wanted.user;
  auto admin = TRY(LoadOrMakeOne(PathOf(kAdminAccess), like));
  like.serial = kNodeSerial;
  like.role = access::Role::kNode;
  like.user = wanted.node_user;
  auto node = TRY(LoadOrMakeOne(PathOf(kNodeAccess), like));
  return FirstAccess{std::move(admin), std::move(node)};
}

}  // namespace spate::link
