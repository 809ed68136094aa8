// The kit that paraNodeStart passes to a node over standard input (node_kit.h) stays in the node's
// folder, so that the node can be started again by hand, or when its machine starts.
#include "doors/parasol/site/site_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "cli/options/hub_options.h"
#include "core/model/name.h"
#include "doors/parasol/formats/machine_list.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

constexpr size_t kSiteKitMost = 256 << 10;

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    size_t end = std::min(path.find(':'), path.size());
    if (end > 0) parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

// Several nodes may run on one machine when their names are addresses of its loopback, as on the
// machine of somebody who tries a site.
std::vector<os::Address> PortsOf(const std::string& name, uint16_t port) {
  auto numbers = os::ResolveBlocking({.host = name, .port = port});
  bool loopback = numbers && std::ranges::all_of(*numbers, [](const os::SocketAddress& number) {
                    return number.IsThisMachine();
                  });
  if (loopback) return {{.host = name, .port = port}};
  return {{.host = "*", .port = port}};
}

Result<std::optional<NodeKit>> TakeKit(bool from_stdin, const std::string& path) {
  if (from_stdin) {
    auto text = TRY(os::ReadToEnd(os::kStdin, kSiteKitMost, "standard input"));
    auto kit = TRY(ParseNodeKit(text, "standard input"));
    TRY(SaveNodeKit(path, kit));
    return kit;
  }
  if (!os::Exists(path)) return std::nullopt;
  auto kit = TRY(LoadNodeKit(path));
  return kit;
}

}  // namespace

Result<ParaNodeStart> ReadParaNode(std::span<const std::string> args) {
  auto options = TRY(MakeParaNodeOptions(args));
  auto here = TRY(client::Surroundings::Find());
  const std::string& host = here.machine.facts().host_name;
  std::string name = options.name.empty() ? here.environment.GetOr("HOST", host) : options.name;
  (void)TRY(ReadName(name, "name of a machine"));
  return ParaNodeStart{std::move(options), std::move(here), std::move(name)};
}

Result<SiteNode> MakeSiteNode(const ParaNodeStart& start, const std::string& folder) {
  const ParaNodeOptions& options = start.options;
  SiteNode site;
  if (!options.hub.empty()) {
    auto hub = os::ParseAddress(options.hub, cli::kHubPort);
    if (!hub) return Within("-hub", std::move(hub.error()));
    site.hub = std::move(*hub);
  }
  site.listen = PortsOf(start.name, options.port.value_or(kNodePort));
  site.keep_errors = options.keep_errors;
  site.tasks.user_path = PartsOf(options.user_path);
  site.tasks.sys_path = PartsOf(options.sys_path);
  site.tasks.environment = options.environment;
  site.tasks.umask = static_cast<int>(options.umask);
  site.temp_dir = os::JoinPath(start.here.cwd, options.temp_dir);
  site.tasks.host = start.name;
  if (auto info = os::Stat(site.temp_dir); !info || info->kind != os::FileKind::kDir) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("the folder for temporary files, '{}', is not there; make it, or name "
                            "another one with -tempDir=DIR",
                            EscapeForScreen(site.temp_dir)));
  }
  auto kit = TRY(TakeKit(options.kit_from_stdin, os::JoinPath(folder, "kit")));
  site.kit = std::move(kit);
  return site;
}

}  // namespace spate::parasol
