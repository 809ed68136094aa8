#include "doors/parasol/site/node_kit.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "access/proof.h"
#include "base/units.h"
#include "os/file.h"

namespace spate::parasol {
namespace {

constexpr size_t kKitMost = 256 << 10;
constexpr uint64_t kPortSerial = 1;  // a port has one access

// The parts, in this order, each behind a line of its own.
constexpr std::array<std::string_view, 3> kParts = {"[hub]\n", "[port]\n", "[key]\n"};

std::unexpected<Error> NotOne(std::string_view name, std::string_view why) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("{} is not what paraNodeStart gives a node: {}; start the node with it",
                          EscapeForScreen(name), why));
}

}  // namespace

Result<NodeKit> MakeNodeKit(const access::Access& hub, const os::Address& port) {
  auto key = TRY(transport::Identity::Make());
  auto secret = TRY(access::MakeRandom());
  NodeKit kit{.hub = hub, .port = {}, .key = key.ToPem()};
  kit.port.hubs = {port};
  kit.port.pin = key.pin();
  kit.port.serial = kPortSerial;
  kit.port.role = access::Role::kAdmin;
  kit.port.user = "site";
  kit.port.secret = secret;
  return kit;
}

std::string FormatNodeKit(const NodeKit& kit) {
  return fmt::format("{}{}{}{}{}{}", kParts[0], access::FormatAccess(kit.hub), kParts[1],
                     access::FormatAccess(kit.port), kParts[2], kit.key);
}

Result<NodeKit> ParseNodeKit(std::string_view text, std::string_view name) {
  std::array<std::string_view, kParts.size()> parts;
  for (size_t i = 0; i < kParts.size(); ++i) {
    if (!text.starts_with(kParts[i])) {
      return NotOne(name,
                    fmt::format("there is no line {}", kParts[i].substr(0, kParts[i].size() - 1)));
    }
    text.remove_prefix(kParts[i].size());
    size_t end = i + 1 < kParts.size() ? text.find(kParts[i + 1]) : text.size();
    parts[i] = text.substr(0, end);
    text.remove_prefix(parts[i].size());
  }
  auto hub = TRY(access::ParseAccess(parts[0], fmt::format("{}, part hub", name)));
  auto port = TRY(access::ParseAccess(parts[1], fmt::format("{}, part port", name)));
  auto key = TRY(transport::Identity::FromPem(parts[2], name));
  if (hub.role != access::Role::kNode || port.role != access::Role::kAdmin ||
      key.pin() != port.pin) {
    return NotOne(name, "its parts do not belong together");
  }
  return NodeKit{std::move(hub), std::move(port), std::string(parts[2])};
}

Result<NodeKit> LoadNodeKit(const std::string& path) {
  auto text = TRY(os::ReadPrivateFile(path, kKitMost));
  return ParseNodeKit(text, path);
}

Status SaveNodeKit(const std::string& path, const NodeKit& kit) {
  return os::WriteFileAtomically(path, FormatNodeKit(kit), 0600);
}

}  // namespace spate::parasol
