// The access file: what somebody needs to reach a hub, and to prove who they are. The format is in
// docs/formats/access.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes32.h"
#include "base/result.h"
#include "base/role.h"
#include "base/time.h"
#include "os/address.h"
#include "os/environment.h"

namespace spate::access {

using spate::Role;

// The user of a node that takes every user's tasks.
inline constexpr std::string_view kEveryUser = "*";

struct Access {
  std::vector<os::Address> hubs;  // one hub, in the order to try; at least one
  Bytes32 pin{};                  // of the hub's key
  uint64_t serial = 0;            // names the credential; from 1
  Role role = Role::kClient;
  std::string user;  // who its owner is to the hub
  Instant expires = Instant::Never();
  Bytes32 secret{};  // never in a log, a message or on a command line

  friend bool operator==(const Access&, const Access&) = default;
};

// `name` is for errors: "NAME, line 3: ...".
Result<Access> ParseAccess(std::string_view text, std::string_view name);
// Text that ParseAccess reads back the same, but for parts of a second of `expires`.
std::string FormatAccess(const Access& access);

// The file must be private (os::ReadPrivateFile).
Result<Access> LoadAccess(const std::string& path);
// Atomically, with mode 0600.
Status SaveAccess(const std::string& path, const Access& access);

// kPermission when it has expired, with what to do.
Status CheckExpiry(const Access& access, Instant now);

// Path of the access file of a node, or of others: `option` (of --access), $SPATE_HUB, a file in
// the user's folder for settings ($XDG_CONFIG_HOME/spate or ~/.config/spate), or in /etc/spate. The
// first two are taken at their word; of the others it is the first that exists, may be read, and is
// no other role's: node.access, of nodes alone, then access. kNotFound names the places searched.
enum class AccessOf : uint8_t { kNode, kOthers };
Result<std::string> FindAccessFile(std::string_view option, const os::Environment& environment,
                                   AccessOf whose, const std::string& system_folder = "/etc/spate");

}  // namespace spate::access
