#include "daemon/hub_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "access/access_file.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/hub_options.h"
#include "cli/options/shared.h"
#include "cli/report.h"
#include "client/hub_call.h"
#include "client/target.h"
#include "daemon/daemon_log.h"
#include "link/hub_keys.h"
#include "os/account.h"
#include "os/background.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/service_manager.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "plan/this_machine.h"
#include "present/advice.h"

namespace spate::daemon {
namespace {

// Without a bound in bytes, history may take a quarter of the disk, and 10 GB of any.
uint64_t KeepBytes(uint64_t given, const std::string& hub_dir) {
  constexpr uint64_t kLeast = uint64_t{10} << 30;
  if (given != UINT64_MAX) return given;
  auto space = os::SpaceOf(hub_dir);
  return std::max(kLeast, space ? space->total / 4 : 0);
}

constexpr uint64_t kOtherFiles = 4096;

// Without --state: who asks for the line may have to name the folder in another way.
void NoteStart(const std::string& hub_dir, const cli::Words& words) {
  std::string line = present::TextOf(Advice("hub start"));
  for (const cli::TypedOption& option : words.options) {
    if (option.opt == &cli::opt::kState || option.opt == &cli::opt::kNewKey) continue;
    line += " " + cli::DashedName(*option.opt);
    if (!option.opt->argument.empty()) line += "=" + ShellQuote(option.value);
  }
  // Without it the line is a shorter one; the hub can do without.
  (void)os::WriteFileAtomically(os::JoinPath(hub_dir, client::kStartedName), line + "\n", 0600);
}

// Nobody else may look into it; through it, to its socket, others may pass. What an earlier version
// left open is closed.
Status MakeHubDir(const std::string& dir) {
  TRY(os::MakeOwnDir(dir, os::Others::kMayPass));
  auto entries = TRY(os::ListDir(dir));
  for (const os::DirEntry& entry : entries) {
    if (entry.kind != os::FileKind::kFile) continue;
    std::string path = os::JoinPath(dir, entry.name);
    // A hub that is just ending removes some.
    auto set = os::SetPermissions(path, 0600);
    if (!set && set.error().kind != ErrorKind::kNotFound) return set;
  }
  return {};
}

constexpr std::string_view kEverywhere = "--listen '*'";

// A hub that other machines could reach must not lose them because of a forgotten option.
Status CheckReach(const cli::HubOptions& options, const std::string& hub_dir) {
  std::string access = os::JoinPath(hub_dir, link::kNodeAccess);
  if (options.says_where || !os::Exists(access)) return {};
  const std::string before = client::StartLineOf(hub_dir);
  const bool listened = before.contains(" --listen=") && !before.contains(" --listen=none");
  if (!listened && os::Exists(os::JoinPath(hub_dir, client::kStartedName)))
    return {};  // cut off already
  std::string state = options.state_dir;
  if (!state.empty()) state = " --state " + ShellQuote(state);
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("other machines have access to this hub ({} exists), but without --listen "
                  "they cannot connect to it\n{}\nTo exclude other machines: --listen none",
                  EscapeForScreen(access),
                  listened ? "Start it as before: " + before + state
                           : fmt::format("Add {} or the address used before", kEverywhere)));
}

// For a hub without a typed port. Empty: it has the usual one, or listens on this machine only.
std::string OtherPort(const std::vector<os::Address>& reached_at, bool is_new) {
  if (reached_at.empty() || reached_at.front().port == cli::kHubPort) return "";
  const uint16_t port = reached_at.front().port;
  if (!is_new) return fmt::format("spate: it listens at port {}, as its access files say\n", port);
  return fmt::format(
      "spate: port {} is taken, perhaps by another hub; this one is reached at port {}, which its "
      "access files name\n",
      cli::kHubPort, port);
}

// Text with the next steps for a person.
std::string Welcome(const hub::Service& service, std::string_view reach) {
  std::string text =
      fmt::format("spate: the hub is up, its folder is {}\n", EscapeForScreen(service.self().dir));
  const std::string start = present::TextOf(Advice("node start", "--daemon"), reach);
  if (service.self().reached_at.empty()) {
    return text +
           fmt::format(
               "spate: start a node on this machine: {}\n"
               "spate: other machines cannot reach this hub; to change that, start it with {}\n",
               start, kEverywhere);
  }
  std::string access = os::JoinPath(service.self().dir, "node.access");
  const Advice elsewhere("node start", "--daemon", "--access", "node.access");
  return text + fmt::format(
                    "spate: start a node here: {}\n"
                    "spate: start one on another machine: ssh HOST 'umask 077; cat > node.access; "
                    "{}' < {}\n",
                    start, present::TextOf(elsewhere), ShellQuote(access));
}

enum class PortWish : uint8_t { kTyped, kKnown, kAny };

// A port that was not typed is the one at which others know the hub; where nobody does yet, any
// will do if somebody has the usual one.
Result<PortWish> SetAddresses(const cli::HubOptions& options, const std::string& hub_dir,
                              hub::Door::Options& door) {
  const std::optional<uint16_t> known = KnownPort(hub_dir);
  bool is_typed = false;
  for (const std::string& text : options.listen) {
    auto address = os::ParseAddress(text, known.value_or(cli::kHubPort));
    if (!address) return Within("--listen", address.error());
    is_typed |= address->is_unix() || os::ParseAddress(text).has_value();
    door.listen.push_back(std::move(*address));
  }
  door.spare_port = !is_typed && !known;
  return is_typed ? PortWish::kTyped : known ? PortWish::kKnown : PortWish::kAny;
}

Result<int> ServeHub(const cli::Invocation& invocation) {
  auto options = TRY(cli::MakeHubOptions(invocation.words));
  auto here = TRY(client::Surroundings::Find());
  if (os::EffectiveUser() == 0 && !options.allow_root) {
    return Fail(ErrorKind::kPermission,
                "a hub needs none of root's rights and should not have them\nStart it as an "
                "ordinary user (packaging/spate-hub.service does), or with --allow-root");
  }
  HubProgram::Options with;
  const std::string reach = client::ReachOf(options.state_dir, here);
  with.reach = reach;
  with.hub.dir = client::HubDirOf(options.state_dir, here);
  // A hub that runs in the folder is the first obstacle, so this waits for the folder's lock.
  with.check = [options, dir = with.hub.dir] { return CheckReach(options, dir); };
  const PortWish wish = TRY(SetAddresses(options, with.hub.dir, with.door));
  with.door.suspect_after = options.suspect_after;
  with.door.lost_after = options.lost_after;
  with.hub.limits.node_patience = options.lost_after;
  with.hub.limits.max_frozen = options.max_frozen;
  with.hub.forget_nodes = options.forget_nodes;
  if (!options.metrics.empty()) {
    auto metrics = os::ParseAddress(options.metrics);
    if (!metrics) return Within("--metrics", metrics.error());
    with.metrics = std::move(*metrics);
  }
  with.user = here.machine.facts().user_name;
  with.node_user = with.user;
  with.new_key = options.new_key;
  with.door.host = here.machine.facts().host_name;
  with.hub.policy = options.policy;
  with.hub.keep = options.keep.age;
  with.hub.keep_bytes = KeepBytes(options.keep.bytes, with.hub.dir);
  DaemonLife life{options.daemon, options.daemon ? os::JoinPath(with.hub.dir, "log") : ""};
  return RunHub(std::move(with), life, [&](HubProgram& program) {
    NoteStart(program.service().self().dir, invocation.words);
    return Welcome(program.service(), reach) +
           (wish == PortWish::kTyped
                ? ""
                : OtherPort(program.service().self().reached_at, wish == PortWish::kAny));
  });
}

}  // namespace

std::optional<uint16_t> KnownPort(const std::string& hub_dir) {
  auto access = access::LoadAccess(os::JoinPath(hub_dir, link::kNodeAccess));
  if (!access || access->hubs.front().is_unix()) return std::nullopt;
  return access->hubs.front().port;
}

Result<int> RunHub(HubProgram::Options options, const DaemonLife& life,
                   const std::function<std::string(HubProgram&)>& welcome) {
  os::SetUmask(0077);
  TRY(MakeHubDir(options.hub.dir));
  auto background = TRY(EnterBackground(life));
  run::FitOpenFiles(100'000);
  // The journal, strangers and those who read for clients need files, too.
  uint64_t files = os::GetOpenFileLimit().now;
  options.door.connections = std::max(files / 3, files - std::min<uint64_t>(files, kOtherFiles));
  options.door.strangers = std::clamp<size_t>(files / 8, 1, options.door.strangers);
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  int code = cli::kExitSuccess;
  options.hub.log = [reach = options.reach](const LogText& line) {
    LogLine(present::TextOf(line, reach));
  };
  options.stopped = [&](int how) {
    code = how;
    loop->Stop();
  };
  const std::string reach = options.reach;
  auto opened = HubProgram::Open(*loop, std::move(options));
  if (!opened) return std::unexpected(present::Reached(opened.error(), reach));
  auto program = std::move(*opened);
  os::ServiceManager manager(*loop, os::Environment::OfProcess());
  for (int signal : {os::kSignalInt, os::kSignalTerm}) {
    loop->OnSignal(signal, [&] {
      manager.Stopping();
      program->Stop();
    });
  }
  // In the background no terminal can end it, whatever nohup was for.
  if (background) os::RestoreSignal(os::kSignalHup);
  loop->OnSignal(os::kSignalHup, [&] { LogAnew(life); });
  (void)os::WriteAll(os::kStderr, welcome(*program), "standard error");
  TRY(BeginLog(background, life));
  LogLine(fmt::format("the hub is up, life {}", program->service().self().epoch.value));
  manager.Ready();
  loop->Run();
  return code;
}

int StartHub(const cli::Invocation& invocation) {
  auto code = ServeHub(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
