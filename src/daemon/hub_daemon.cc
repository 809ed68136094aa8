#include "daemon/hub_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/hub_options.h"
#include "cli/report.h"
#include "client/hub_call.h"
#include "daemon/daemon_log.h"
#include "os/account.h"
#include "os/background.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "run/local_job.h"

namespace spate::daemon {
namespace {

constexpr uint64_t kOtherFiles = 4096;

constexpr const char* kStartedName = "started";
constexpr size_t kLineBytes = 64 << 10;

// Without --state: who asks for the line may have to name the folder in another way.
void NoteStart(const std::string& hub_dir, const cli::Words& words) {
  std::string line = "spate hub start";
  for (const cli::TypedOption& option : words.options) {
    if (option.opt == cli::Opt::kState) continue;
    line += " " + cli::DashedName(option.opt);
    if (!cli::Definition(option.opt).argument.empty()) line += "=" + ShellQuote(option.value);
  }
  // Without it the line is a shorter one; the hub can do without.
  (void)os::WriteFileAtomically(os::JoinPath(hub_dir, kStartedName), line + "\n", 0600);
}

// Nobody else may look into it; through it, to its socket, others may pass. What an earlier version
// left open is closed.
Status MakeHubDir(const std::string& dir) {
  if (auto made = os::MakeOwnDir(dir, os::Others::kMayPass); !made) return made;
  auto entries = os::ListDir(dir);
  if (!entries) return std::unexpected(entries.error());
  for (const os::DirEntry& entry : *entries) {
    if (entry.kind != os::FileKind::kFile) continue;
    std::string path = os::JoinPath(dir, entry.name);
    if (auto closed = os::SetPermissions(path, 0600); !closed) return closed;
  }
  return {};
}

// What a person does next.
std::string Welcome(const hub::Service& service) {
  std::string text =
      fmt::format("spate: the hub is up, its folder is {}\n", EscapeForScreen(service.self().dir));
  if (service.self().reached_at.empty()) {
    return text + "spate: start a node on this machine: spate node start --daemon\n";
  }
  std::string access = os::JoinPath(service.self().dir, "node.access");
  return text + fmt::format(
                    "spate: start a node here: spate node start --daemon\n"
                    "spate: start one on another machine: ssh HOST 'umask 077; cat > node.access; "
                    "spate node start --daemon --access node.access' < {}\n",
                    ShellQuote(access));
}

Result<std::vector<os::Address>> AddressesOf(const cli::HubOptions& options) {
  std::vector<os::Address> addresses;
  for (const std::string& text : options.listen) {
    auto address = os::ParseAddress(text, cli::kHubPort);
    if (!address) return Within("--listen", address.error());
    addresses.push_back(std::move(*address));
  }
  return addresses;
}

Result<int> ServeHub(const cli::Invocation& invocation) {
  auto options = cli::MakeHubOptions(invocation.words);
  if (!options) return std::unexpected(options.error());
  auto here = client::Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  if (os::EffectiveUser() == 0 && !options->allow_root) {
    return Fail(ErrorKind::kPermission,
                "a hub needs none of root's rights and should not have them\nStart it as an "
                "ordinary user (packaging/spate-hub.service does), or with --allow-root");
  }
  auto addresses = AddressesOf(*options);
  if (!addresses) return std::unexpected(addresses.error());

  HubProgram::Options with;
  with.hub.dir = client::HubDirOf(options->state_dir, *here);
  with.hub.listen = std::move(*addresses);
  with.hub.suspect_after = options->suspect_after;
  with.hub.lost_after = options->lost_after;
  with.hub.forget_nodes = options->forget_nodes;
  if (!options->metrics.empty()) {
    auto metrics = os::ParseAddress(options->metrics);
    if (!metrics) return Within("--metrics", metrics.error());
    with.metrics = std::move(*metrics);
  }
  with.user = here->machine.facts().user_name;
  with.node_user = with.user;
  with.hub.host = here->machine.facts().host_name;
  with.hub.policy = options->policy;
  with.hub.keep = options->keep.age;
  with.hub.keep_bytes = options->keep.bytes;
  DaemonLife life{options->daemon, options->daemon ? os::JoinPath(with.hub.dir, "log") : ""};
  return RunHub(std::move(with), life, [&](const hub::Service& service) {
    NoteStart(service.self().dir, invocation.words);
    return Welcome(service);
  });
}

}  // namespace

Result<int> RunHub(HubProgram::Options options, const DaemonLife& life,
                   const std::function<std::string(hub::Service&)>& welcome) {
  os::SetUmask(0077);
  if (auto made = MakeHubDir(options.hub.dir); !made) return std::unexpected(made.error());
  std::optional<os::Background> background;
  if (life.background) {
    auto entered = os::Background::Enter();
    if (!entered) return std::unexpected(entered.error());
    background = std::move(*entered);
  }
  run::FitOpenFiles(100'000);
  // The journal, strangers and those who read for clients need files, too.
  uint64_t files = os::GetOpenFileLimit().now;
  options.hub.connections = std::max(files / 3, files - std::min<uint64_t>(files, kOtherFiles));
  options.hub.strangers = std::clamp<size_t>(files / 8, 1, options.hub.strangers);
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  int code = cli::kExitSuccess;
  options.hub.log = LogLine;
  options.hub.stopped = [&](int how) {
    code = how;
    (*loop)->Stop();
  };
  auto program = HubProgram::Open(**loop, std::move(options));
  if (!program) return std::unexpected(program.error());
  hub::Service& service = (*program)->service();
  for (int signal : {os::kSignalInt, os::kSignalTerm}) {
    (*loop)->OnSignal(signal, [&] { (*program)->Stop(); });
  }
  // In the background no terminal can end it, whatever nohup was for.
  if (background) os::RestoreSignal(os::kSignalHup);
  (*loop)->OnSignal(os::kSignalHup, [&] { LogAnew(life); });
  (void)os::WriteAll(os::kStderr, welcome(service), "standard error");
  if (auto on = BeginLog(background, life); !on) return std::unexpected(on.error());
  LogLine(fmt::format("the hub is up, life {}", service.self().epoch.value));
  (*loop)->Run();
  return code;
}

std::string StartLineOf(const std::string& hub_dir) {
  auto line = os::ReadFile(os::JoinPath(hub_dir, kStartedName), kLineBytes);
  if (!line || line->empty()) return std::string(client::kStartHub);
  return line->substr(0, line->find('\n'));
}

int StartHub(const cli::Invocation& invocation) {
  auto code = ServeHub(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
