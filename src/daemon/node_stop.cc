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

namespace spate::daemon {
namespace {

// A node ends its tasks within some seconds.
constexpr Duration kPatience = Duration::Seconds(60);

Result<RunningNode> Pick(std::vector<RunningNode> nodes, const std::string& wanted) {
  std::vector<std::string> names;
  for (RunningNode& node : nodes) {
    if (node.name == wanted) return std::move(node);
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
                "no node of yours runs on this machine; for a node that was started with --state, "
                "use the same option");
  }
  if (nodes.size() == 1) return std::move(nodes.front());
  return Fail(ErrorKind::kInvalid,
              fmt::format("several nodes run here; name one of {}", fmt::join(names, ", ")));
}

Status EndIt(const RunningNode& node) {
  const int process = node.at.process.get();
  auto process_now = os::InfoOf(node.at.pid);
  if (process_now && process_now->state == 'T') {
    return Fail(ErrorKind::kBusy,
                fmt::format("the node {0} (pid {1}) is stopped by a signal and cannot end; to let "
                            "it continue: kill -CONT {1}",
                            node.name, node.at.pid));
  }
  auto loop = TRY(os::RealLoop::Create());
  auto told = os::PidfdSignal(process, os::kSignalTerm);
  if (!told) return told.error().kind == ErrorKind::kNotFound ? Status() : told;
  loop->WatchRead(process, [&] { loop->Stop(); });
  loop->At(loop->Now() + kPatience, [&] { loop->Stop(); });
  loop->Run();
  loop->Unwatch(process);
  if (os::PidfdEnded(process)) return {};
  return Fail(
      ErrorKind::kBusy,
      fmt::format("the node {} (pid {}) was asked to end, and has not within {}: a task may "
                  "hang in the system",
                  node.name, node.at.pid, FormatDuration(kPatience)));
}

Result<int> Stop(const cli::Invocation& invocation) {
  auto options = TRY(cli::MakeNodeOptions(invocation.words));
  auto here = TRY(client::Surroundings::Find());
  const std::string base = client::StateDirOf(options.state_dir, here);
  const std::vector<std::string>& words = invocation.words.words;
  const std::string wanted = words.empty() ? "" : words[0];
  auto nodes = TRY(NodesHere(base, here.machine.facts().host_name, wanted));
  auto node = TRY(Pick(std::move(nodes), wanted));
  TRY(EndIt(node));
  fmt::print("{}: stopped\n", EscapeForScreen(node.name));
  return cli::kExitSuccess;
}

}  // namespace

// By the lock, because the machine may have had another name. A lock of another machine, on a
// shared file system, is held by no process here.
Result<std::vector<RunningNode>> NodesHere(const std::string& state, const std::string& host,
                                           const std::string& wanted) {
  std::vector<RunningNode> nodes;
  std::string folder = os::JoinPath(state, "nodes");
  auto entries = os::ListDir(folder);
  if (!entries) return nodes;
  for (const os::DirEntry& entry : *entries) {
    const size_t at = entry.name.rfind('@');
    if (at == std::string::npos) continue;
    RunningNode found{entry.name.substr(0, at), entry.name.substr(at + 1), {}};
    auto node = shepherd::ProcessOfNode(os::JoinPath(folder, entry.name));
    const bool matters = found.host == host && (wanted.empty() || wanted == found.name);
    if (!node && matters) return std::unexpected(node.error());
    if (!node || !*node) continue;
    found.at = std::move(**node);
    nodes.push_back(std::move(found));
  }
  std::ranges::sort(nodes, {}, &RunningNode::name);
  return nodes;
}

int StopNode(const cli::Invocation& invocation) {
  auto code = Stop(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
