#include "daemon/node_daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "access/access_file.h"
#include "access/proof.h"
#include "base/prng.h"
#include "base/product.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "client/hub_call.h"
#include "core/model/late_ends.h"
#include "core/model/name.h"
#include "daemon/metrics_server.h"
#include "daemon/metrics_text.h"
#include "daemon/node_stop.h"
#include "daemon/pilot.h"
#include "doors/doors.h"
#include "doors/parasol/site/site_status.h"
#include "link/instance.h"
#include "link/reconnector.h"
#include "node/host.h"
#include "node/port.h"
#include "node/scratch.h"
#include "os/account.h"
#include "os/aside.h"
#include "os/background.h"
#include "os/file.h"
#include "os/find_program.h"
#include "os/own_dir.h"
#include "os/process.h"
#include "os/service_manager.h"
#include "os/signals.h"
#include "os/temp_dir.h"
#include "os/terminal.h"
#include "os/topology.h"
#include "plan/this_machine.h"
#include "pool/prologue.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "remote/pmix_meeting.h"

namespace spate::daemon {
namespace {

// The hub gives the node its number; ours is only a place for it.
constexpr NodeId kThisNode(1);
// So long a change of a user's groups may go unseen.
constexpr Duration kUserKnown = Duration::Seconds(60);
// So often the hub may hear what the node runs.
constexpr Duration kTellEvery = Duration::Seconds(1);
// So long one who starts it in the background waits for it to join.
constexpr Duration kSettle = Duration::Seconds(10);
constexpr Duration kIdleLook = Duration::Seconds(1);
// Pilots that find no hub end: nobody else would end them before their allocation does.
constexpr Duration kPilotPatience = Duration::Seconds(600);
// One that never found it has a wrong address, as a rule, and says so.
constexpr Duration kFirstPatience = Duration::Seconds(120);
constexpr Duration kSweepPatience = Duration::Seconds(5);
constexpr Duration kKeepErrors = Duration::Seconds(7 * 86400);
// Others remove a node's files on its machine when it was away for so long.
constexpr Duration kKeepScratch = Duration::Seconds(86400);

Result<Offer> OfferOfNode(const cli::NodeOptions& options, const client::Surroundings& here,
                          Instant now) {
  const os::MachineFacts& facts = here.machine.facts();
  Offer offer;
  offer.node_name = options.name.empty() ? facts.host_name : options.name;
  const cli::NodeRoom room = cli::RoomOfNode(options, facts.cores);
  offer.slots = run::FitOpenFiles(room.slots);
  offer.milli_cpus = room.milli_cpus;
  offer.memory = options.memory.value_or(facts.memory);
  std::vector<std::string> gpus = options.gpus.value_or(facts.gpus);
  if (!gpus.empty()) offer.named.push_back({"gpus", gpus});
  for (const NamedOffer& given : options.offers) {
    std::erase_if(offer.named, [&](const NamedOffer& named) { return named.name == given.name; });
    offer.named.push_back(given);
  }
  std::sort(offer.named.begin(), offer.named.end(),
            [](const NamedOffer& a, const NamedOffer& b) { return a.name < b.name; });
  TRY(run::UseGrantedGpus(facts, offer.named));
  offer.labels = options.labels;
  if (options.lifetime) offer.end_of_life = now + *options.lifetime;
  return offer;
}

// Tells the cgroups of this node's processes from those of others.
std::string WordOf(const std::string& instance) {
  std::string word;
  for (unsigned char byte : instance) word += fmt::format("{:02x}", byte);
  return word;
}

// A node at work.
class NodeDaemon {
 public:
  NodeDaemon(os::RealLoop& loop, const client::Surroundings& here, NodeRun run)
      : loop_(loop),
        here_(here),
        options_(std::move(run.options)),
        folder_(std::move(run.folder)),
        site_(std::move(run.site)) {}

  Status Open();
  // `settled`, once: the node has joined its hub, or knows why it has not so far (`away`, in
  // words).
  using Settled = std::function<Status(const std::string& away)>;
  Result<int> Run(Settled settled);
  const Offer& offer() const { return offer_; }
  // Options by which commands reach its hub here.
  const std::string& reach() const { return reach_; }

 private:
  std::string ScratchOf(std::string_view prefix) const;
  Result<std::string> FindScratch();
  void FindKeptDir();
  Result<os::Account> AccountOf(const std::string& user);
  node::ProcessExecutorOptions TaskOptions();
  node::HostOptions::Cpus Cpus();
  Status OpenHost();
  void Connected(link::Connector::Met met);
  void Lost(const link::Ended& ended);
  void Settle(const std::string& away);
  void TellNoHub(const std::string& text);
  void WatchTime();
  void LookIdle();
  // Ends it when no hub comes for so long.
  void AwaitHub(Duration patience);
  Duration HubPatience() const;
  // Ends the tasks, tells the hub, and stops.
  void Leave(const std::string& why);
  void LeaveTasks();
  // At the start there must be a hub, or a file that names one; later it may be away.
  enum class When : uint8_t { kStart, kLater };
  Result<link::Target> FindTarget(When when) const;
  Result<link::Target> FindAccess(When when) const;
  Status OpenPort();
  Status OpenMetrics();
  void Sweep();
  void SweepKept();
  void FindTmp();
  // A node that was removed from the hub comes back only when somebody starts it again. A site's
  // node waits to be added.
  bool LeaveIfRemoved(const std::optional<wire::Refusal>& refusal);

  os::RealLoop& loop_;
  const client::Surroundings& here_;
  const cli::NodeOptions options_;
  const std::string folder_;
  const uint32_t umask_ = os::CurrentUmask();  // before our own
  std::optional<parasol::SiteNode> site_;
  node::KeptStreams kept_;
  std::optional<node::KnownUsers> users_;
  std::string hub_dir_;
  std::string reach_;  // options that reach a hub with that folder
  std::string instance_;
  std::string bash_;          // its file; empty: the machine has none
  std::string tmp_;           // where its folders for temporary files are
  std::string scratch_word_;  // in their names
  Offer offer_;
  JobId spread_;  // the last job that has tasks whose cpus are spread
  std::unique_ptr<node::Host> host_;
  std::unique_ptr<link::Reconnector> reconnector_;
  Instant no_hub_told_;  // in the log; 0: there was a hub since
  std::string no_hub_reason_;
  Duration no_hub_pause_;
  std::optional<parasol::SiteStatus> status_;  // of a site
  std::unique_ptr<node::Port> port_;           // null: nobody reaches it
  std::unique_ptr<MetricsServer> metrics_;     // null: not asked for
  os::TimerId sweep_timer_ = 0;
  std::unique_ptr<os::Aside<bool>> sweeper_;
  Instant busy_at_;
  bool leaving_ = false;
  os::TimerId hub_timer_ = 0;
  bool never_joined_ = true;
  Settled settled_;              // empty: it was called
  std::optional<Error> failed_;  // to settle
};

Result<link::Target> NodeDaemon::FindTarget(When when) const {
  if (!site_) return FindAccess(when);
  auto target =
      site_->kit ? Result<link::Target>(link::Target::Of(site_->kit->hub)) : FindAccess(when);
  if (target && site_->hub) target->hubs = {*site_->hub};
  return target;
}

Result<link::Target> NodeDaemon::FindAccess(When when) const {
  bool named = !options_.access.empty() || !here_.environment.GetOr("SPATE_HUB", "").empty();
  auto file = access::FindAccessFile(options_.access, here_.environment, access::AccessOf::kNode);
  if (file) return link::Target::Of(TRY(access::LoadAccess(*file)));
  if (!file && named) return std::unexpected(file.error());
  auto hub = client::FindLocalHub(hub_dir_);
  if (hub) return link::Target::Of(*hub);
  if (when == When::kLater) return link::Target::Of(client::SocketOf(hub_dir_));
  if (site_) {
    fmt::print(stderr,
               "spate: no hub here yet, so the node waits for one; for a hub on another machine, "
               "start the node from there: echo 'HOST CPUS' | paraNodeStart stdin\n");
    return link::Target::Of(client::SocketOf(hub_dir_));
  }
  return Fail(ErrorKind::kUnavailable,
              "there is no hub: none of yours runs here, and there is no access file for a node\n"
              "Start a hub here",
              Remedy(": {}\nFor one elsewhere, name an access file that was made there: {} ({})",
                     Advice("hub start", "--daemon"), Advice("node start", "--access", "FILE"),
                     Advice("hub access add", "--role", "node")));
}

// A name of this node's own in its folder for temporary files.
std::string NodeDaemon::ScratchOf(std::string_view prefix) const {
  return os::JoinPath(tmp_, std::string(prefix) + scratch_word_);
}

// All users of the machine see the names. If another user has made such a folder since this node
// last ran, the node chooses another name and remembers it. The folder is made at once, so that
// nobody else can make it before a task needs it.
Result<std::string> NodeDaemon::FindScratch() {
  const std::string path = os::JoinPath(folder_, "scratch");
  scratch_word_ = WordOf(instance_).substr(0, node::kScratchWord);
  if (os::Exists(path)) {
    const std::string known = TRY(os::ReadFile(path, node::kScratchWord));
    if (known.size() == node::kScratchWord) scratch_word_ = known;
  }
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    const std::string folder = ScratchOf(node::kTaskScratch);
    if (!node::IsTaken(ScratchOf(node::kStderrScratch))) {
      Status made = node::MakeScratch(folder, os::EffectiveUser() == 0);
      if (!made && !node::IsTaken(folder)) return std::unexpected(std::move(made.error()));
      if (made && i > 0) made = os::WriteFileAtomically(path, scratch_word_, 0600);
      if (made) return folder;
    }
    auto random = TRY(access::MakeRandom());
    const std::string fresh(random.begin(), random.end());
    scratch_word_ = WordOf(fresh).substr(0, node::kScratchWord);
    LogLine(fmt::format("{} is another user's; this node's tasks use {} instead",
                        EscapeForScreen(folder), ScratchOf(node::kTaskScratch)));
  }
  return Fail(ErrorKind::kExists,
              fmt::format("others take this node's names in {}: start it with a --tmp where they "
                          "may not write",
                          tmp_));
}

// A pilot's log names a missing TMPDIR before (StartPilot).
void NodeDaemon::FindTmp() {
  const bool chosen = !options_.tmp.empty();
  tmp_ = os::JoinPath(here_.cwd, chosen ? options_.tmp : here_.environment.GetOr("TMPDIR", "/tmp"));
  if (chosen || os::Exists(tmp_)) return;
  if (!options_.pilot) LogLine(fmt::format("$TMPDIR '{}' is missing; using /tmp", tmp_));
  tmp_ = "/tmp";
}

// All hubs give out the same numbers, so a node that was not told where to keep streams has a
// folder of its own for them.
void NodeDaemon::FindKeptDir() {
  kept_.name = parasol::KeptName;
  kept_.is_name = parasol::IsKeptName;
  kept_.dir = site_ ? site_->temp_dir : ScratchOf(node::kStderrScratch);
  kept_.makes_dir = !site_;
  kept_.account = [this](const std::string& user) { return AccountOf(user); };
  if (site_) site_->tasks.account = kept_.account;
  offer_.temp_dir = kept_.dir;
}

// The account that tasks know: the machine is not asked again for each.
Result<os::Account> NodeDaemon::AccountOf(const std::string& user) {
  if (!users_) return os::AccountByName(user);
  auto known = TRY(users_->Find(user));
  return os::Account{known.name, known.user, known.group, known.home, known.shell};
}

node::ProcessExecutorOptions NodeDaemon::TaskOptions() {
  node::ProcessExecutorOptions with;
  with.node_folder = folder_;
  with.task_open_files = here_.open_files;
  with.node_id = WordOf(instance_);
  with.node_name = offer_.node_name;
  with.task_folders = ScratchOf(node::kTaskScratch);
  with.another_task_folder = [this] { return FindScratch(); };
  with.ends = offer_.end_of_life;
  // A node that is not root runs all that the hub gives it as itself: its access is for that user.
  if (os::EffectiveUser() == 0) {
    with.users = node::TaskUserRules{.users = options_.users, .allow_root = options_.allow_root};
    users_.emplace(loop_, node::LookUpUser, kUserKnown);
    with.users->look_up = [this](const std::string& name) { return users_->Find(name); };
  }
  with.drops_foreign = true;
  with.can_visit = true;
  if (options_.pilot) {
    with.variables = pool::ChangedVariables(here_.environment);
    // No later node has its name, and its tasks run again as soon as the batch system knows of its
    // end. Some systems do not kill what a dead process leaves behind.
    with.adopt_patience = {};
  }
  with.on_trouble = [](std::string text) { LogLine(text); };
  return with;
}

agent::Binding BindingOf(cli::BindTo bind) {
  switch (bind) {
    case cli::BindTo::kNone:
      return agent::Binding::kNone;
    case cli::BindTo::kCore:
      return agent::Binding::kCore;
    case cli::BindTo::kNuma:
      return agent::Binding::kNuma;
  }
  return agent::Binding::kNone;
}

node::HostOptions::Cpus NodeDaemon::Cpus() {
  agent::Binding binding = BindingOf(options_.bind);
  os::MachineTopology machine;
  if (binding != agent::Binding::kNone) machine = os::ReadTopology();
  if (!machine.problem.empty()) LogLine(machine.problem);
  return {.packer = {machine.topology, binding},
          .variable = "SPATE_CPU_LIST",
          .floats = binding != agent::Binding::kNone,
          .on_split = [this](const AttemptRef& ref, uint32_t count) {
            if (std::exchange(spread_, ref.job) == ref.job) return;
            LogLine(fmt::format(
                "the {} cpus of task {}.{} are spread over the machine: no better ones are free",
                count, ref.job.value, ref.index + 1));
          }};
}

Status NodeDaemon::OpenHost() {
  node::HostOptions with{.id = kThisNode,
                         .offer = offer_,
                         .tasks = TaskOptions(),
                         .machine = &here_.machine,
                         .cgroup = options_.cgroup,
                         .cpus = Cpus(),
                         .puts = os::JoinPath(folder_, "puts"),
                         .users = users_ ? &*users_ : nullptr,
                         .tell_every = kTellEvery,
                         .kept = kept_,
                         .umask = static_cast<int>(umask_)};
  with.dialects = doors::DialectsOfNode(
      site_ ? site_->tasks : parasol::NodeTasks{.host = offer_.node_name}, bash_);
  if (options_.pilot) with.doubt = node::kDoubtInBatchJobs;
  auto host = node::Host::Open(loop_, std::move(with));
  if (!host && host.error().kind == ErrorKind::kBusy) {
    const std::string stop = present::TextOf(Advice("node stop", offer_.node_name), reach_);
    return Within(fmt::format("node {} already runs here; to stop it: {}; to start another one, "
                              "give it a name with --name",
                              offer_.node_name, stop),
                  std::move(host.error()));
  }
  if (!host) return std::unexpected(std::move(host.error()));
  host_ = std::move(*host);
  if (site_) {
    status_.emplace(host_->node(), kept_, offer_.slots);
    host_->SetEvents(status_->events());
  }
  return {};
}

Status NodeDaemon::Open() {
  os::SetUmask(0077);
  hub_dir_ = client::HubDirOf(options_.state_dir, here_);
  reach_ = client::ReachOf(options_.state_dir, here_);
  loop_.OnClockStep([](const os::ClockStep&) {});  // expiry and ages of files are by Loop::Wall
  offer_ = TRY(OfferOfNode(options_, here_, loop_.Now()));
  bash_ = os::FindBash();
  TRY(FindTarget(When::kStart));
  auto instance = TRY(link::LoadOrMakeInstance(os::JoinPath(folder_, "instance")));
  instance_ = std::move(instance);
  // Folders and files of tasks are made there by this process, for whatever user.
  FindTmp();
  if (os::Exists(tmp_)) TRY(os::CheckWay(tmp_, "--tmp DIR"));
  // Tasks without files of their own run without the folder.
  if (auto found = FindScratch(); !found) {
    if (found.error().kind == ErrorKind::kExists) return std::unexpected(found.error());
    LogLine(found.error().message);
  }
  FindKeptDir();
  // Before what an earlier process left is taken over: where this fails, that goes on.
  TRY(OpenPort());
  TRY(OpenHost());
  TRY(OpenMetrics());
  const node::Host::AdoptedNow adopted = TRY(host_->Adopt());
  for (const std::string& problem : adopted.problems) LogLine(problem);
  if (adopted.tasks > 0) {
    LogLine(fmt::format("took over {} of the node's last process",
                        present::CountOf(adopted.tasks, "task")));
  }
  link::Self self{ProductVersion(), wire::Role::kNode, offer_.node_name, instance_};
  if (options_.pilot) self.features.emplace_back(kEndsLate);
  if (bash_.empty()) {
    LogLine("no bash: lines that need it run on other nodes");
  } else {
    self.features.emplace_back(kBashFeature);
  }
  if (Status serves = remote::CheckPmix(); serves) {
    self.features.emplace_back(kPmixFeature);
  } else if (serves.error().kind != ErrorKind::kNotFound) {
    LogLine(fmt::format("no MPI programs by PMIx: {}", serves.error().message));
  }
  auto seed = static_cast<uint64_t>(loop_.Now().ns);
  reconnector_ = std::make_unique<link::Reconnector>(
      loop_, link::NodeOptions(std::move(self), [this] { return FindTarget(When::kLater); }),
      Prng(seed),
      link::Reconnector::Events{[this](link::Connector::Met met) { Connected(std::move(met)); },
                                [this](const Error& error, Duration) {
                                  const std::string text = present::TextOf(error, reach_);
                                  Settle("waits for its hub: " + text);
                                  TellNoHub(text);
                                },
                                [this](const link::Connector::Failure& failure) {
                                  const std::string text = present::TextOf(failure.error, reach_);
                                  Settle("is refused by its hub: " + text);
                                  LogLine("the hub refuses this node: " + text);
                                  LeaveIfRemoved(failure.refusal);
                                }});
  return {};
}

// At once, and then at growing intervals: nobody reads a log of days without a hub. A new reason is
// logged after a minute at most.
void NodeDaemon::TellNoHub(const std::string& text) {
  constexpr Duration kFirst = Duration::Seconds(60);
  constexpr Duration kMost = Duration::Seconds(3600);
  const Instant now = loop_.Now();
  const bool first = no_hub_told_ == Instant{};
  const bool same = text == no_hub_reason_;
  if (!first && now - no_hub_told_ < (same ? no_hub_pause_ : kFirst)) return;
  no_hub_pause_ = first || !same ? kFirst : std::min(no_hub_pause_ * 2, kMost);
  no_hub_told_ = now;
  no_hub_reason_ = text;
  LogLine("no hub yet: " + text);
}

Status NodeDaemon::OpenPort() {
  const bool asked = site_ && site_->kit;
  if (!asked && options_.gang_port == 0) return {};
  node::Port::Options options{.folder = folder_, .port = options_.gang_port.value_or(0)};
  if (asked) {
    options.site = {.listen = site_->listen,
                    .key = site_->kit->key,
                    .access = site_->kit->port,
                    .peers = std::nullopt};
    if (site_->hub) {
      auto hub = os::ResolveBlocking(*site_->hub);
      if (!hub) return Within("-hub", hub.error());
      options.site->peers = os::Subnets::Of(*hub);
    }
  }
  node::Port::Events events;
  events.report = [this] { return status_ ? status_->Report() : NodeReport(); };
  events.stop = [this] { Leave("paraNodeStop asked it to"); };
  events.log = [](const std::string& text) { LogLine(text); };
  auto port = node::Port::Open(loop_, ProductVersion(), std::move(options), std::move(events));
  if (!port && port.error().kind == ErrorKind::kBusy) {
    return Within("this node may run already (paraNodeStatus asks it, paraNodeStop ends it)",
                  std::move(port.error()));
  }
  port_ = TRY(std::move(port));
  return {};
}

Status NodeDaemon::OpenMetrics() {
  if (options_.metrics.empty()) return {};
  auto at = os::ParseAddress(options_.metrics);
  if (!at) return Within("--metrics", at.error());
  auto text = [this] {
    const node::Node& node = host_->node();
    const NodeMetrics now{.connected = host_->channel() != nullptr,
                          .slots = offer_.slots,
                          .running = static_cast<uint32_t>(node.agent().Runs().size()),
                          .waiting = node.agent().waiting(),
                          .held = node.HoldsEnds(),
                          .program = ProductVersion()};
    return NodeMetricsText(now) + ProcessMetricsText();
  };
  auto trouble = [](const Error& error) { LogLine("metrics: " + error.message); };
  auto opened = MetricsServer::Open(loop_, *at, text, trouble);
  if (!opened) return Within("--metrics", opened.error());
  metrics_ = std::move(*opened);
  LogLine(fmt::format("metrics are at http://{}/metrics", metrics_->address().Text()));
  return {};
}

// Nobody else removes what tasks of a node that is there wrote to stderr.
void NodeDaemon::SweepKept() {
  constexpr Duration kEvery = Duration::Seconds(3600);
  std::set<std::string> running;
  for (const agent::Run& run : host_->node().agent().Runs()) {
    running.insert(kept_.name(run.ref.job, run.ref.index));
  }
  Duration keep = site_ ? site_->keep_errors : kKeepErrors;
  node::RemoveOldKept(kept_, loop_.Wall() - keep, running);
  sweep_timer_ = loop_.At(loop_.Now() + kEvery, [this] { Sweep(); });
}

// Files of nodes and runs that were killed and will not come back for them.
void NodeDaemon::Sweep() {
  for (const std::string& own : {kept_.dir, ScratchOf(node::kTaskScratch)}) {
    if (site_ && own == kept_.dir) continue;
    if (auto marked = node::MarkScratch(own); !marked) LogLine(marked.error().message);
  }
  auto work = [places = host_->cgroup_places(), tmp = tmp_,
               before = loop_.Wall() - kKeepScratch]() -> Result<bool> {
    os::SweepCgroups(places, kSweepPatience);
    node::SweepScratch(tmp, before);
    return true;
  };
  sweeper_ = std::make_unique<os::Aside<bool>>(loop_, std::move(work), [](const Result<bool>&) {});
  SweepKept();
}

void NodeDaemon::Connected(link::Connector::Met met) {
  if (leaving_) return;
  no_hub_told_ = {};
  const auto& features = met.welcome.features;
  const bool is_old = std::ranges::find(features, link::kLongStreams) == features.end();
  if (port_) host_->node().SetRemote(port_->ListenFor(met.self, met.welcome.listens_at));
  host_->Connect(
      std::move(met.connection), [this](const link::Ended& ended) { Lost(ended); },
      is_old ? link::kOldHubsStream : UINT64_MAX);
  loop_.Cancel(std::exchange(hub_timer_, 0));
  never_joined_ = false;
  // Once the hub has been sent what the node is: a command that follows then finds it there.
  loop_.Post([this, hub = met.hub.Text()] {
    Settle("");
    LogLine(fmt::format("joined the hub at {}", hub));
  });
}

void NodeDaemon::Settle(const std::string& away) {
  if (!settled_) return;
  auto told = std::exchange(settled_, nullptr)(away);
  if (told) return;
  failed_ = std::move(told.error());
  Leave(failed_->message);
}

void NodeDaemon::Lost(const link::Ended& ended) {
  host_->Disconnect();
  if (leaving_) return loop_.Stop();
  const Remedy remedy = ended.refusal ? ended.refusal->remedy : Remedy();
  LogLine(present::TextOf(LogText("the hub is unreachable: " + ended.text, remedy), reach_));
  if (LeaveIfRemoved(ended.refusal)) return;
  AwaitHub(HubPatience());
  reconnector_->Call();
}

Duration NodeDaemon::HubPatience() const {
  return options_.hub_patience.value_or(options_.pilot ? kPilotPatience : Duration::Max());
}

void NodeDaemon::AwaitHub(Duration patience) {
  if (patience == Duration::Max() || hub_timer_ != 0) return;
  hub_timer_ = loop_.At(loop_.Now() + patience, [this, patience] {
    hub_timer_ = 0;
    std::string why = fmt::format("no hub was found for {}", FormatDuration(patience));
    if (!options_.pilot || !never_joined_) return Leave(why);
    failed_ = Error{ErrorKind::kUnavailable,
                    why +
                        "; see the error above. Nodes must be able to reach the address that "
                        "the hub gave them",
                    Remedy(" ({})", Advice("pool set", "NAME", "--address", "HOST"))};
    Leave(why);
  });
}

void NodeDaemon::WatchTime() {
  if (offer_.end_of_life != Instant::Never()) {
    loop_.At(offer_.end_of_life, [this] { Leave("its lifetime has expired"); });
  }
  busy_at_ = loop_.Now();
  if (options_.idle_exit) LookIdle();
}

void NodeDaemon::LookIdle() {
  if (leaving_) return;
  Instant now = loop_.Now();
  const node::Node& node = host_->node();
  const bool busy = node.agent().busy() + node.agent().waiting() > 0;
  if (busy || node.HoldsEnds()) busy_at_ = now;
  if (now - busy_at_ >= *options_.idle_exit) return Leave("there was nothing to do");
  loop_.At(now + std::min(kIdleLook, *options_.idle_exit), [this] { LookIdle(); });
}

void NodeDaemon::Leave(const std::string& why) {
  if (leaving_) return loop_.Stop();
  leaving_ = true;
  LogLine("the node ends: " + why);
  loop_.Cancel(sweep_timer_);
  wire::Ends cut_off = host_->CutOff(why);
  node::RemoveIfUnused(ScratchOf(node::kTaskScratch));
  if (kept_.makes_dir) node::RemoveIfUnused(kept_.dir);
  link::HubChannelTcp* hub = host_->channel();
  if (hub == nullptr) return loop_.Stop();
  if (!cut_off.ends.empty()) hub->Send(std::move(cut_off));
  hub->Send(wire::Leaving{});
  hub->connection().Close();  // Lost() comes when all was said
}

bool NodeDaemon::LeaveIfRemoved(const std::optional<wire::Refusal>& refusal) {
  bool removed = refusal && refusal->code == wire::RefusalCode::kRemoved;
  if (removed && !site_) Leave("it was removed from the hub");
  return removed && !site_;
}

void NodeDaemon::LeaveTasks() {
  leaving_ = true;
  LogLine("node stopping; the next node with its name adopts its tasks");
  host_->LeaveForAdoption();
  loop_.Stop();
}

Result<int> NodeDaemon::Run(Settled settled) {
  settled_ = std::move(settled);
  // A hub that says nothing.
  loop_.At(loop_.Now() + kSettle, [this] { Settle("waits for its hub, which does not answer"); });
  WatchTime();
  AwaitHub(options_.pilot && !options_.hub_patience ? kFirstPatience : HubPatience());
  Sweep();
  for (int signal : {os::kSignalTerm, os::kSignalInt}) {
    loop_.OnSignal(signal, [this] { Leave("it was asked to"); });
  }
  os::RestoreSignal(os::kSignalQuit);  // of a script's `&` it is ignored
  loop_.OnSignal(os::kSignalQuit, [this] { LeaveTasks(); });
  // It serves as soon as its hub is there, which may be started after it.
  os::ServiceManager manager(loop_, here_.environment);
  manager.Ready();
  reconnector_->Call();
  loop_.Run();
  manager.Stopping();
  if (failed_) return std::unexpected(std::move(*failed_));
  return cli::kExitSuccess;
}

// The words of this very command, for the nodes of other hosts.
Result<std::vector<std::string>> OwnWords(const cli::Invocation& invocation) {
  auto program = TRY(os::OwnProgram());
  std::vector<std::string> words = {program, "node", "start"};
  for (const cli::TypedOption& option : invocation.words.options) {
    words.push_back(cli::DashedName(*option.opt));
    if (!option.opt->argument.empty()) words.push_back(option.value);
  }
  return words;
}

Result<int> StartPilot(const cli::Invocation& invocation, const client::Surroundings& here,
                       cli::NodeOptions options) {
  auto grant = ReadGrant(here.environment);
  if (grant && !grant->launches.empty()) {
    auto words = TRY(OwnWords(invocation));
    return RunLaunches(grant->launches, words);
  }
  const std::string& host = here.machine.facts().host_name;
  auto loop = TRY(os::RealLoop::Create());
  if (grant) ApplyGrant(*grant, here.environment, host, loop->Now(), options);
  // The node's folder disappears with the process: a pilot never comes back.
  os::TempDir folder;
  if (!folder.problem().empty()) {
    LogLine(fmt::format("node {} on {}: {}", options.name, host, folder.problem()));
  }
  return RunNode(here, {std::move(options), folder.path(), {}});
}

Result<int> ServeNode(const cli::Invocation& invocation) {
  auto options = TRY(cli::MakeNodeOptions(invocation.words));
  if (options.pilot) TRY(TakePrologue());
  auto here = TRY(client::Surroundings::Find());
  const std::string& host = here.machine.facts().host_name;
  if (options.pilot) return StartPilot(invocation, here, std::move(options));
  if (auto name = ReadName(host, "node name"); options.name.empty() && !name) {
    return Within("the name of this machine",
                  {name.error().kind, name.error().message + "; name the node with --name"});
  }
  // Tasks' folders are below it, for whatever user; what the node relies on is not.
  if (!options.tmp.empty()) {
    TRY(os::MakeDirs(os::JoinPath(here.cwd, options.tmp)));
  }
  std::string state = client::StateDirOf(options.state_dir, here);
  auto folder = MakeNodeFolder(state, options.name.empty() ? host : options.name, host);
  if (!folder) {
    return std::unexpected(
        present::Reached(folder.error(), client::ReachOf(options.state_dir, here)));
  }
  DaemonLife life{options.daemon, options.daemon ? os::JoinPath(*folder, "log") : ""};
  return RunNode(here, {std::move(options), std::move(*folder), std::move(life)});
}

}  // namespace

Result<std::string> MakeNodeFolder(const std::string& state, const std::string& name,
                                   const std::string& host) {
  // Its lock would not show that the machine has a node already.
  auto running = TRY(NodesHere(state, host, "@"));  // not a name: folders of any are skipped
  for (const RunningNode& node : running) {
    if (node.host == host || node.name != (name == host ? node.host : name)) continue;
    return Fail(ErrorKind::kBusy,
                fmt::format("the node {} already runs on this machine, since before the machine's "
                            "name changed from {} to {}",
                            EscapeForScreen(node.name), EscapeForScreen(node.host), host),
                Remedy("; to stop it: {}", Advice("node stop", node.name)));
  }
  std::string folder = os::JoinPath(state, fmt::format("nodes/{}@{}", name, host));
  TRY(os::MakeOwnDir(folder));
  return folder;
}

Result<int> RunNode(const client::Surroundings& here, NodeRun run) {
  const DaemonLife life = run.life;
  auto background = TRY(EnterBackground(life));
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  NodeDaemon node(*loop, here, std::move(run));
  if (auto opened = node.Open(); !opened) {
    return std::unexpected(present::Reached(opened.error(), node.reach()));
  }
  // In the background no terminal can end it, whatever nohup was for.
  if (background) os::RestoreSignal(os::kSignalHup);
  loop->OnSignal(os::kSignalHup, [&] { LogAnew(life); });
  if (!background) TRY(BeginLog(background, life));
  const bool seen = os::LookAtTerminal(os::kStderr, here.environment).is_terminal;
  // The starter may submit as soon as this returns: it returns when the node has joined.
  return node.Run([&](const std::string& away) -> Status {
    if (background || seen) {
      cli::PrintMessage(
          fmt::format("node {} {} with {}; {}", node.offer().node_name,
                      away.empty() ? "serves" : EscapeForScreen(away) + ", then serves",
                      present::CountOf(node.offer().slots, "slot"),
                      background ? "its log is " + EscapeForScreen(life.log)
                                 : "its log follows; Ctrl-C stops it"));
    }
    return background ? BeginLog(background, life) : Status();
  });
}

int StartNode(const cli::Invocation& invocation) {
  auto code = ServeNode(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::daemon
