// Nothing secret stands on a command line, where all users of a machine read along: a node's kit
// goes to it through the remote shell's standard input.
#include "doors/parasol/site/para_site_tools.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/options/hub_options.h"
#include "client/hub_call.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/programs/para_talk.h"
#include "doors/parasol/programs/site_programs.h"
#include "doors/parasol/site/node_asker.h"
#include "doors/parasol/site/node_kit.h"
#include "doors/parasol/site/parasol_site.h"
#include "format/lines.h"
#include "link/hub_keys.h"
#include "os/account.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "wire/field_bytes.h"

namespace spate::parasol {
namespace {

constexpr size_t kAtOnce = 64;

// The program is named on standard error, where lines of several programs meet.
void Tell(std::string_view program, std::string_view text) {
  std::string line = fmt::format("{}: {}\n", program, EscapeForScreen(text));
  (void)os::WriteAll(os::kStderr, line, "standard error");
}

std::string KitPathOf(const std::string& hub_dir, const std::string& name) {
  return os::JoinPath(os::JoinPath(hub_dir, "nodes"), name);
}

// ---- paraHub, paraHubStop ----------------------------------------------------------------------

Result<ParasolSite> SiteOf(const ParaHubOptions& options) {
  auto machines = TRY(LoadMachineList(options.machine_list, kHubColumns));
  for (const ParasolMachine& machine : machines) {
    auto found = os::ResolveBlocking({.host = machine.name, .port = kNodePort});
    if (!found) return Within(options.machine_list, std::move(found.error()));
  }
  const ParasolMachine& model = machines.front();
  ParasolSite site;
  site.ram_unit = options.ram_unit.value_or((model.ram_megabytes << 20) / model.cpus);
  site.default_ram = site.ram_unit * options.default_ram_units;
  site.machines = std::move(machines);
  return site;
}

Result<std::vector<os::Address>> ListenAt(const ParaHubOptions& options, const SitePlaces& places) {
  std::vector<os::Address> listen = {{.host = "*", .port = options.port.value_or(cli::kHubPort)}};
  if (places.socket.empty()) return listen;
  TRY(os::MakeDirs(os::DirName(places.socket), 0755));
  listen.push_back({.path = places.socket});
  return listen;
}

// Parasol's paraHubStop succeeds without a hub; here the reason is printed as well.
Result<int> WhenAway(Error error) {
  if (error.kind != ErrorKind::kUnavailable) return std::unexpected(std::move(error));
  (void)os::WriteAll(os::kStderr, "paraHubStop: " + error.message + "\n", "standard error");
  return 0;
}

}  // namespace

std::string WelcomeOf(const std::string& dir, const std::string& log) {
  std::string text = fmt::format("paraHub: the hub is up, its folder is {}, its log is {}\n",
                                 EscapeForScreen(dir), EscapeForScreen(log));
  if (os::EffectiveUser() == 0) {
    text +=
        "paraHub: it runs as root, and needs none of root's rights; spate hub start with an "
        "ordinary user is safer\n";
  }
  return text;
}

Result<SiteHub> MakeSiteHub(std::span<const std::string> args) {
  auto options = TRY(MakeParaHubOptions(args));
  auto site = TRY(SiteOf(options));
  auto here = TRY(client::Surroundings::Find());
  SitePlaces places = PlacesOfSite(here);
  auto listen = TRY(ListenAt(options, places));
  std::optional<os::Subnets> peers;
  if (!options.subnet.empty()) {
    auto parsed = os::Subnets::Parse(options.subnet);
    if (!parsed) return Within("-subnet", std::move(parsed.error()));
    peers = std::move(*parsed);
  }
  std::string log = LogOf(options.log, options.debug, places.hub_dir, here);
  return SiteHub{.here = std::move(here),
                 .site = std::move(site),
                 .dir = std::move(places.hub_dir),
                 .listen = std::move(listen),
                 .peers = std::move(peers),
                 .background = !options.debug,
                 .log = std::move(log)};
}

Result<int> RunParaHubStop(std::span<const std::string> args) {
  TRY(CheckParaHubStop(args));
  auto here = TRY(client::Surroundings::Find());
  auto target = client::NeedHub("", here.environment, client::HubDirOf("", here), SiteStart());
  if (!target) return WhenAway(std::move(target.error()));
  auto loop = TRY(os::RealLoop::Create());
  client::HubCall call(*loop, std::move(*target));
  if (auto connected = call.Connect(); !connected) return WhenAway(std::move(connected.error()));
  TRY(client::QueryOne(call, wire::StopHub()));
  // The next hub may be started at once.
  client::AwaitEnd(PlacesOfSite(here).hub_dir, [&](Duration time) { call.Pause(time); });
  return 0;
}

// ---- paraNodeStart -----------------------------------------------------------------------------

namespace {

// The access to the hub for all nodes, made when it is missing: the hub may never have run.
Result<access::Access> AccessForNodes(const ParaNodeStartOptions& options,
                                      const client::Surroundings& here,
                                      const std::string& hub_dir) {
  for (const std::string& dir : {hub_dir, os::JoinPath(hub_dir, "nodes")}) {
    TRY(os::MakeDirs(dir, 0700));
  }
  auto keys = TRY(link::HubKeys::Open(hub_dir));
  const bool lived = os::Exists(os::JoinPath(hub_dir, "hub.db"));
  if (lived && !keys.Has(link::kHubKey)) {
    return Fail(ErrorKind::kCorrupt, "the hub's key is missing: see spate hub start");
  }
  if (lived && !keys.Has(link::kNodeAccess)) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("the hub's first access files have been issued, but '{0}' is missing; make it "
                    "again: spate hub access add --role node{1} --file {0}",
                    keys.PathOf(link::kNodeAccess), os::EffectiveUser() == 0 ? " --user '*'" : ""));
  }
  auto key = TRY(keys.LoadOrMakeKey());
  const os::MachineFacts& facts = here.machine.facts();
  bool root = os::EffectiveUser() == 0;
  auto first = TRY(keys.LoadOrMake(
      key, {.hubs = {{.host = facts.host_name, .port = cli::kHubPort}},
            .user = facts.user_name,
            .node_user = root ? std::string(access::kEveryUser) : facts.user_name}));
  if (!options.hub.empty()) {
    auto hub = os::ParseAddress(options.hub, cli::kHubPort);
    if (!hub) return Within("-hub", std::move(hub.error()));
    first.node.hubs = {std::move(*hub)};
  }
  return std::move(first.node);
}

// A node keeps its key and the access to its port for good: it may run already.
Result<NodeKit> KitFor(const std::string& hub_dir, const std::string& name,
                       const access::Access& hub) {
  std::string path = KitPathOf(hub_dir, name);
  auto kit =
      os::Exists(path) ? LoadNodeKit(path) : MakeNodeKit(hub, {.host = name, .port = kNodePort});
  if (!kit) return kit;
  bool is_new = kit->hub != hub || !os::Exists(path);
  kit->hub = hub;
  if (!is_new) return kit;
  TRY(SaveNodeKit(path, *kit));
  return kit;
}

std::vector<std::string> StartCommand(const ParaNodeStartOptions& options,
                                      const ParasolMachine& machine) {
  std::vector<std::string> words = options.rsh;
  words.push_back(machine.name);
  words.push_back(options.exe);
  words.push_back("start");
  words.push_back("-node=" + machine.name);
  words.push_back(fmt::format("-cpu={}", machine.cpus));
  if (machine.ram_megabytes > 0) words.push_back(fmt::format("-ram={}", machine.ram_megabytes));
  if (machine.temp_dir.starts_with('/')) {
    words.push_back("-tempDir=" + ShellQuote(machine.temp_dir));
  }
  if (!options.hub.empty()) words.push_back("hub=" + ShellQuote(options.hub));
  if (options.port) words.push_back(fmt::format("-port={}", *options.port));
  words.insert(words.end(), options.passed.begin(), options.passed.end());
  words.push_back(fmt::format("-access={}", kStdinName));
  return words;
}

// One machine's start. `done` gets why it failed, or nothing.
class Starter {
 public:
  using Done = std::function<void(const std::string& why)>;
  Starter(os::RealLoop& loop, const std::vector<std::string>& words, std::string kit, Done done)
      : loop_(loop), done_(std::move(done)) {
    constexpr Duration kPatience = Duration::Seconds(120);
    os::Child::Events events;
    events.output = [this](int, std::string_view bytes) { Take(bytes); };
    events.ended = [this](int status) { Exited(status); };
    os::Child::Options options{
        .spawn = {.argv = words}, .pipes = os::Child::Pipes::kOneText, .input = std::move(kit)};
    auto child = os::Child::Start(loop_, std::move(options), std::move(events));
    if (!child) {
      loop_.Post([this, why = child.error().message] { Finish(why); });
      return;
    }
    child_ = std::move(*child);
    timer_ = loop_.At(loop_.Now() + kPatience, [this] { Finish("it took more than 2 minutes"); });
  }
  ~Starter() { loop_.Cancel(timer_); }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

 private:
  void Take(std::string_view bytes) {
    constexpr size_t kMost = 64 << 10;
    if (output_.size() < kMost) output_ += bytes;
  }
  void Exited(int status) {
    if (status == 0) return Finish("");
    std::string why(format::TrimBlanks(output_));
    bool exited = (status & 0x7f) == 0;
    if (why.empty()) {
      why =
          exited ? fmt::format("exit code {}", status >> 8 & 0xff) : os::SignalName(status & 0x7f);
    }
    Finish(why);
  }
  void Finish(const std::string& why) {
    Done done = std::move(done_);
    done(why);
  }

  os::RealLoop& loop_;
  Done done_;
  std::unique_ptr<os::Child> child_;
  std::string output_;
  os::TimerId timer_ = 0;
};

}  // namespace

Result<int> RunParaNodeStart(std::span<const std::string> args) {
  auto options = TRY(MakeParaNodeStartOptions(args));
  auto machines = TRY(LoadMachineList(options.machine_list, kNodeStartColumns));
  auto here = TRY(client::Surroundings::Find());
  std::string hub_dir = PlacesOfSite(here).hub_dir;
  auto hub = TRY(AccessForNodes(options, here, hub_dir));
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());

  size_t failed = 0;
  std::vector<std::unique_ptr<Starter>> starters(machines.size());
  ForEachAtOnce(*loop, machines.size(), kAtOnce, [&](size_t i, std::function<void()> done) {
    const ParasolMachine& machine = machines[i];
    auto ended = [&, i, done](const std::string& why) {
      if (!why.empty()) {
        ++failed;
        Tell("paraNodeStart", fmt::format("{} failed: {}", machines[i].name, why));
      }
      starters[i].reset();
      done();
    };
    auto kit = KitFor(hub_dir, machine.name, hub);
    if (!kit) return ended(kit.error().message);
    std::vector<std::string> words = StartCommand(options, machine);
    (void)ParaPrint(fmt::format("{}\n", fmt::join(words, " ")));
    starters[i] = std::make_unique<Starter>(*loop, words, FormatNodeKit(*kit), ended);
  });
  if (failed == 0) return 0;
  return Fail(ErrorKind::kUnavailable,
              fmt::format("paraNodeStart: {} of {} machines failed", failed, machines.size()));
}

// ---- paraNodeStop, paraNodeStatus --------------------------------------------------------------

namespace {

// Answers of the nodes, in the order of the machines, as NodeAsker gives them.
using Answers = std::vector<Result<std::string>>;
Result<Answers> AskNodes(const std::vector<ParasolMachine>& machines, std::optional<uint16_t> port,
                         const wire::Question& question) {
  auto here = TRY(client::Surroundings::Find());
  std::string hub_dir = PlacesOfSite(here).hub_dir;
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  Answers answers(machines.size());
  std::vector<std::unique_ptr<NodeAsker>> askers(machines.size());
  ForEachAtOnce(*loop, machines.size(), kAtOnce, [&](size_t i, std::function<void()> done) {
    const std::string& name = machines[i].name;
    auto kit = LoadNodeKit(KitPathOf(hub_dir, name));
    if (!kit) {
      answers[i] = kit.error().kind == ErrorKind::kNotFound
                       ? Fail(ErrorKind::kNotFound, "paraNodeStart has not started it from here")
                       : std::unexpected(kit.error());
      return done();
    }
    kit->port.hubs = {{.host = name, .port = port.value_or(kNodePort)}};
    askers[i] = std::make_unique<NodeAsker>(*loop, kit->port, question,
                                            [&, i, done](Result<std::string> got) {
                                              answers[i] = std::move(got);
                                              askers[i].reset();
                                              done();
                                            });
  });
  return answers;
}

Result<NodeStatus> StatusOf(const Result<std::string>& answer) {
  constexpr int64_t kTick = 10'000'000;  // nanoseconds
  if (!answer) return std::unexpected(answer.error());
  auto report = TRY(wire::FromBytes<NodeReport>("the node's report", *answer));
  NodeStatus status;
  status.cpus = report.slots;
  status.busy = report.running.size();
  for (std::string& what : report.running) {
    status.job_ids.push_back(what.substr(0, what.find(' ')));
    status.running.push_back(std::move(what));
  }
  for (NodeReport::Ended& end : report.ended) {
    status.recent.push_back({std::move(end.what), end.status,
                             static_cast<uint64_t>(end.user.ns / kTick),
                             static_cast<uint64_t>(end.system.ns / kTick)});
  }
  return status;
}

}  // namespace

Result<int> RunParaNodeStop(std::span<const std::string> args) {
  auto options = TRY(MakeParaNodeStopOptions(args));
  auto machines = TRY(LoadMachineList(options.machine_list, kNodeNameColumns));
  std::string text;
  for (const ParasolMachine& machine : machines) {
    text += fmt::format("Telling {} to quit \n", machine.name);
  }
  TRY(ParaPrint(text));
  auto answers = TRY(AskNodes(machines, options.port, wire::StopNode()));
  size_t failed = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) continue;
    ++failed;
    Tell("paraNodeStop",
         fmt::format("{} failed: {}", machines[i].name, answers[i].error().message));
  }
  return failed == 0 ? 0 : kParasolExitError;
}

Result<int> RunParaNodeStatus(std::span<const std::string> args) {
  auto options = TRY(MakeParaNodeStatusOptions(args));
  auto machines = TRY(LoadMachineList(options.machine_list, kNodeNameColumns));
  auto answers = TRY(AskNodes(machines, options.port, wire::LookAtNode()));
  std::vector<NodeStatus> nodes;
  for (size_t i = 0; i < answers.size(); ++i) {
    auto status = StatusOf(answers[i]);
    if (!status) Tell("paraNodeStatus", machines[i].name + ": " + status.error().message);
    nodes.push_back(status ? std::move(*status) : NodeStatus{.reachable = false});
    nodes.back().name = machines[i].name;
  }
  TRY(ParaPrint(NodeStatusText(nodes, options.lengthy)));
  return 0;
}

}  // namespace spate::parasol
