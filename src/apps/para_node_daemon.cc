// What paraNodeStart gives a node over standard input (node_kit.h) stays in the node's folder, so
// that the node can be started again by hand, or when its machine starts.
#include "apps/para_node_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "access/access_file.h"
#include "apps/node_daemon.h"
#include "apps/parasol_site.h"
#include "base/units.h"
#include "doors/parasol/programs/site_programs.h"
#include "os/account.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::apps {
namespace {

constexpr size_t kKitMost = 256 << 10;

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
    auto text = os::ReadToEnd(os::kStdin, kKitMost, "standard input");
    if (!text) return std::unexpected(std::move(text.error()));
    auto kit = ParseNodeKit(*text, "standard input");
    if (!kit) return std::unexpected(std::move(kit.error()));
    if (auto saved = SaveNodeKit(path, *kit); !saved) return std::unexpected(saved.error());
    return std::move(*kit);
  }
  if (!os::Exists(path)) return std::nullopt;
  auto kit = LoadNodeKit(path);
  if (!kit) return std::unexpected(std::move(kit.error()));
  return std::move(*kit);
}

Result<SiteNode> SiteNodeOf(const cli::ParaNodeOptions& options, const std::string& name,
                            const Surroundings& here) {
  SiteNode site;
  if (!options.hub.empty()) {
    auto hub = os::ParseAddress(options.hub, cli::kHubPort);
    if (!hub) return Within("-hub", std::move(hub.error()));
    site.hub = std::move(*hub);
  }
  site.listen = PortsOf(name, options.port.value_or(cli::kNodePort));
  site.keep_errors = options.keep_errors;
  site.tasks.user_path = PartsOf(options.user_path);
  site.tasks.sys_path = PartsOf(options.sys_path);
  site.tasks.environment = options.environment;
  site.tasks.umask = static_cast<int>(options.umask);
  site.tasks.temp_dir = os::JoinPath(here.cwd, options.temp_dir);
  site.tasks.host = name;
  if (auto info = os::Stat(site.tasks.temp_dir); !info || info->kind != os::FileKind::kDir) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("the folder for temporary files, '{}', is not there; make it, or name "
                            "another one with -tempDir=DIR",
                            EscapeForScreen(site.tasks.temp_dir)));
  }
  return site;
}

cli::NodeOptions NodeOptionsOf(const cli::ParaNodeOptions& options, const std::string& name) {
  cli::NodeOptions node;
  node.name = name;
  node.slots = cli::SlotRule{cli::SlotRule::Form::kCount, options.cpus};
  node.milli_cpus = options.cpus * kMilliCpu;
  node.memory = options.memory;
  node.tmp = options.temp_dir;
  // As Parasol's nodes do.
  node.allow_root = true;
  return node;
}

}  // namespace

Result<int> RunParaNode(std::span<const std::string> args) {
  auto options = cli::MakeParaNodeOptions(args);
  if (!options) return std::unexpected(std::move(options.error()));
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(std::move(here.error()));
  const std::string& host = here->machine.facts().host_name;
  std::string name = options->name.empty() ? here->environment.GetOr("HOST", host) : options->name;
  if (!format::IsMachineName(name)) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is no name of a machine", EscapeForScreen(name)));
  }
  auto folder = MakeNodeFolder(PlacesOfSite(*here).node_state, name, host);
  if (!folder) return std::unexpected(std::move(folder.error()));
  auto site = SiteNodeOf(*options, name, *here);
  if (!site) return std::unexpected(std::move(site.error()));
  auto kit = TakeKit(options->kit_from_stdin, os::JoinPath(*folder, "kit"));
  if (!kit) return std::unexpected(std::move(kit.error()));
  site->kit = std::move(*kit);
  DaemonLife life{!options->debug, LogOf(options->log, options->debug, *folder, *here)};
  return RunNode(*here, {NodeOptionsOf(*options, name), std::move(*folder), std::move(life),
                         std::move(*site)});
}

}  // namespace spate::apps
