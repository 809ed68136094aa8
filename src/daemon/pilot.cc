#include "daemon/pilot.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "daemon/daemon_log.h"
#include "os/child.h"
#include "os/file.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "pool/pools.h"
#include "pool/prologue.h"

namespace spate::daemon {
namespace {

constexpr size_t kMostOfFile = 1 << 20;
// A node ends its tasks before the batch system would.
constexpr Duration kMargin = Duration::Seconds(5);

}  // namespace

Status TakePrologue() {
  const os::Environment now = os::Environment::OfProcess();
  const std::string path = now.GetOr("SPATE_PILOT_BEFORE", "");
  if (path.empty()) return {};
  auto before = os::ReadFile(path, kMostOfFile);
  if (!before) return Within("the environment before the prologue", std::move(before.error()));
  (void)os::RemoveFile(path);
  std::string names;
  for (const std::string& name : pool::ChangedNames(*before, now)) {
    names += (names.empty() ? "" : " ") + name;
  }
  os::SetOfProcess("SPATE_PILOT_BEFORE", "");
  os::SetOfProcess("SPATE_PILOT_CHANGED", names);
  if (!names.empty())
    LogLine("tasks have what the prologue and the wrapper changed: " + EscapeForScreen(names));
  return {};
}

std::optional<pool::Grant> ReadGrant(const os::Environment& environment) {
  std::vector<pool::GrantFile> files;
  for (std::string& path : pool::GrantFiles(environment)) {
    auto text = os::ReadFile(path, kMostOfFile);
    if (text) files.push_back({std::move(path), std::move(*text)});
  }
  return pool::GrantOf(environment, files);
}

void ApplyGrant(const pool::Grant& grant, const os::Environment& environment,
                const std::string& host, Instant now, cli::NodeOptions& options) {
  if (grant.ends != Instant::Never()) {
    Duration left = std::max(grant.ends - now - kMargin, Duration::Seconds(1));
    options.lifetime = std::min(options.lifetime.value_or(left), left);
  }
  if (grant.cpus) {
    const cli::NodeRoom room = cli::RoomOfNode(options, static_cast<uint32_t>(*grant.cpus));
    options.milli_cpus = room.milli_cpus;
    options.slots = {cli::SlotRule::Form::kCount, room.slots};
  }
  if (grant.memory && !options.memory) options.memory = grant.memory;
  if (grant.gpus && !options.gpus) options.gpus = grant.gpus;
  if (!pool::IsPart(environment)) return;
  const std::string& name = grant.host.empty() ? host : grant.host;
  options.name += "." + name.substr(0, name.find('.'));
}

Result<int> RunLaunches(const std::vector<pool::Launch>& launches,
                        const std::vector<std::string>& node_command) {
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  std::vector<std::unique_ptr<os::Child>> running;
  size_t left = launches.size();
  int code = 0;
  os::Child::Events events;
  // The batch system keeps the nodes' messages as this pilot's output.
  events.output = [](int, std::string_view text) {
    (void)os::WriteAll(os::kStderr, text, "errors");
  };
  events.ended = [&](int status) {
    if (code == 0) code = os::ExitStatusOf(status);
    if (--left == 0) loop->Stop();
  };
  for (const pool::Launch& launch : launches) {
    std::vector<std::string> argv = launch.argv;
    for (const std::string& word : node_command) {
      argv.push_back(launch.quoted ? ShellQuote(word) : word);
    }
    os::Child::Options options{.spawn = {.argv = std::move(argv)},
                               .pipes = os::Child::Pipes::kOneText};
    running.push_back(TRY(os::Child::Start(*loop, std::move(options), events)));
    LogLine(fmt::format("starts {}",
                        launch.host.empty() ? "a node on each host" : "a node on " + launch.host));
  }
  for (int signal : {os::kSignalInt, os::kSignalTerm}) {
    loop->OnSignal(signal, [&running] {
      for (auto& child : running) child->Signal(os::kSignalTerm);
    });
  }
  loop->Run();
  return code;
}

}  // namespace spate::daemon
