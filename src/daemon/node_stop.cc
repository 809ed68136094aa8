// A node is found by the lock of its folder, which names its process. Its own end is the one of
// TERM (node_daemon.h).
#include "daemon/node_stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/hub_options.h"
#include "cli/report.h"
#include "client/surroundings.h"
#include "os/file.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "shepherd/rendezvous.h"

namespace spate::daemon {
namespace {

// A node ends its tasks within some seconds.
constexpr Duration kPatience = Duration::Seconds(60);

struct Running {
  std::string name;
  os::Pid pid = 0;
};

// The nodes of this machine with folders below `base`.
std::vector<Running> NodesIn(const std::string& base, const std::string& host) {
  std::vector<Running> nodes;
  std::string folder = os::JoinPath(base, "nodes");
  auto entries = os::ListDir(folder);
  if (!entries) return nodes;
  std::string suffix = "@" + host;
  for (const os::DirEntry& entry : *entries) {
    if (!entry.name.ends_with(suffix)) continue;
    auto pid = shepherd::OwnerOf(os::JoinPath(folder, entry.name));
    std::string name = entry.name.substr(0, entry.name.size() - suffix.size());
    if (pid) nodes.push_back({std::move(name), *pid});
  }
  std::ranges::sort(nodes, {}, &Running::name);
  return nodes;
}

Result<Running> Pick(const std::vector<Running>& nodes, const std::string& wanted) {
  std::vector<std::string> names;
  for (const Running& node : nodes) {
    if (node.name == wanted) return node;
    names.push_back(EscapeForScreen(node.name));
  }
  if (!wanted.empty()) {
    std::string here =
        names.empty() ? "" : fmt::format(" (those that do: {})", fmt::join(names, ", "));
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("no node '{}' of yours runs on this machine{}", EscapeForScreen(wanted), here),
        Remedy("; for one elsewhere use {} there, or {} here", Advice("node stop"),
               Advice("node remove", wanted)));
  }
  if (nodes.empty()) {
    return Fail(ErrorKind::kNotFound,
                "no node of yours runs on this machine; one that was started with --state or --tmp "
                "is found with the same option");
  }
  if (nodes.size() == 1) return nodes.front();
  return Fail(ErrorKind::kInvalid,
              fmt::format("several nodes run here; name one of {}", fmt::join(names, ", ")));
}

Status EndIt(const Running& node) {
  auto process = TRY(os::PidfdOpen(node.pid));
  auto loop = TRY(os::RealLoop::Create());
  auto told = os::PidfdSignal(process.get(), os::kSignalTerm);
  if (!told) return told.error().kind == ErrorKind::kNotFound ? Status() : told;
  loop->WatchRead(process.get(), [&] { loop->Stop(); });
  loop->At(loop->Now() + kPatience, [&] { loop->Stop(); });
  loop->Run();
  loop->Unwatch(process.get());
  if (os::PidfdEnded(process.get())) return {};
  return Fail(
      ErrorKind::kBusy,
      fmt::format("the node {} (pid {}) was asked to end, and has not within {}: a task may "
                  "hang in the system",
                  node.name, node.pid, FormatDuration(kPatience)));
}

Result<int> Stop(const cli::Invocation& invocation) {
  auto options = TRY(cli::MakeNodeOptions(invocation.words));
  auto here = TRY(client::Surroundings::Find());
  std::string base = options.tmp.empty() ? client::StateDirOf(options.state_dir, here)
                                         : os::JoinPath(here.cwd, options.tmp);
  const std::vector<std::string>& words = invocation.words.words;
  auto node =
      TRY(Pick(NodesIn(base, here.machine.facts().host_name), words.empty() ? "" : words[0]));
  TRY(EndIt(node));
  fmt::print("{}: stopped\n", EscapeForScreen(node.name));
  return cli::kExitSuccess;
}

}  // namespace

int StopNode(const cli::Invocation& invocation) {
  auto code = Stop(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
