// See pools.h: what people ask of pools, and change.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/units.h"
#include "base/utc.h"
#include "core/model/name.h"
#include "hub/pools/pools.h"
#include "os/account.h"
#include "os/file.h"
#include "pool/environment.h"

namespace spate::hub {

using provision::PilotId;
using provision::PoolId;

namespace {

constexpr size_t kPoolsOfAUser = 200;

Error Unknown(const std::string& name) {
  return {ErrorKind::kNotFound, fmt::format("the hub knows no pool '{}'", EscapeForScreen(name)),
          SeeAlso("pool list")};
}

std::string ClockTime(Instant at) { return FormatUtc(at).substr(11, 5); }

const char* StateOf(const provision::PoolInfo& pool) {
  if (pool.closed) return "closing";
  return pool.paused ? "paused" : "on";
}

// One word for a pilot, of what is durable and what the batch system said last.
const char* StateOf(const provision::PilotInfo& pilot) {
  if (pilot.unwanted) return "leaving";
  if (pilot.nodes > 0) return "joined";
  switch (pilot.status) {
    case provision::JobStatus::kInit:
      return pilot.id.empty() ? "asked" : "queued";
    case provision::JobStatus::kQueued:
      return "queued";
    case provision::JobStatus::kRunning:
      return "running";
    case provision::JobStatus::kError:
    case provision::JobStatus::kSuspended:
      return "held";
    case provision::JobStatus::kOther:
      return "running";
    case provision::JobStatus::kEnded:
      return "ended";
  }
  return "running";
}

// The event that the log shows for a record; an empty `what`: none.
class EventOf {
 public:
  PoolEvent event;

  void operator()(const provision::PoolChanged&) { event.what = "set"; }
  void operator()(const provision::PoolClosed&) { event.what = "closes"; }
  void operator()(const provision::PoolForgotten&) { event.what = "removed"; }
  void operator()(const provision::PoolPaused& record) {
    event.what = "paused";
    event.words = record.reason;
  }
  void operator()(const provision::PoolResumed&) { event.what = "resumed"; }
  void operator()(const provision::PoolLearned& record) {
    event.what = "learned";
    event.words =
        fmt::format("a node has {} slots, {:g} cpus and {}", record.shape.slots,
                    record.shape.milli_cpus / double{kMilliCpu}, FormatSize(record.shape.memory));
  }
  void operator()(const provision::PilotIntended& record) { Set(record.pilot, "requested"); }
  void operator()(const provision::PilotSubmitted& record) {
    Set(record.pilot, "queued");
    event.id = record.id;
  }
  void operator()(const provision::PilotJoined& record) {
    Set(record.pilot, "joined");
    if (record.end_of_life != Instant::Never()) {
      event.words = "until " + FormatUtc(record.end_of_life);
    }
  }
  void operator()(const provision::PilotQueuedAgain& record) {
    Set(record.pilot, "queued again");
    event.words = "the batch system will restart it";
  }
  void operator()(const provision::PilotUnwanted& record) {
    Set(record.pilot, "leaves");
    event.words = record.words.empty() ? WordOf(record.why) : record.words;
  }
  void operator()(const provision::PilotEnded& record) {
    Set(record.pilot, WordOf(record.end));
    event.words = record.words;
  }
  template <typename T>
  void operator()(const T&) {}  // an image

 private:
  void Set(PilotId pilot, const char* what) {
    event.pilot = pilot.value;
    event.what = what;
  }
};

}  // namespace

// ---- Rights ------------------------------------------------------------------------------------

bool Pools::MayChange(const Caller& caller, const PoolPolicy& policy) const {
  return caller.is_admin || caller.user == policy.settings.account;
}

Status Pools::CheckOwn(const Caller& caller, const PoolPolicy& policy,
                       std::string_view what) const {
  if (MayChange(caller, policy)) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("pool {} belongs to {}; only they and the hub's administrators {}",
                          policy.name, policy.settings.account, what));
}

bool Pools::MaySee(const Caller& caller, const PoolPolicy& policy) const {
  const std::string& user = policy.user;
  return MayChange(caller, policy) || user.empty() || user == access::kEveryUser ||
         user == caller.user;
}

// By the names of pools and groups; all that the caller may see when there are none.
Result<std::vector<PoolId>> Pools::Find(const Caller& caller,
                                        const std::vector<std::string>& names) const {
  std::vector<PoolId> found;
  auto add = [&](const auto& wants) {
    size_t before = found.size();
    for (const auto& [name, pool] : names_) {
      const PoolPolicy* policy = caller_.Find(pool);
      if (policy != nullptr && MaySee(caller, *policy) && wants(name, *policy))
        found.push_back(pool);
    }
    return found.size() > before;
  };
  if (names.empty()) add([](const auto&, const auto&) { return true; });
  for (const std::string& wanted : names) {
    bool any = add([&](const std::string& name, const PoolPolicy& policy) {
      return name == wanted || policy.settings.group == wanted;
    });
    if (!any) return std::unexpected(Unknown(wanted));
  }
  std::vector<PoolId> once;
  for (PoolId pool : found) {
    if (std::ranges::find(once, pool) == once.end()) once.push_back(pool);
  }
  return once;
}

Status Pools::CheckPlaces(const Caller& caller) const {
  if (names_.size() >= kLimits.pools) {
    return Fail(ErrorKind::kExhausted,
                fmt::format("the hub has {} pools and accepts no more", names_.size()),
                Remedy("; to remove one: {}", Advice("pool remove")));
  }
  if (caller.is_admin) return {};
  auto theirs = std::ranges::count_if(names_, [&](const auto& each) {
    const PoolPolicy* policy = caller_.Find(each.second);
    return policy != nullptr && policy->settings.account == caller.user;
  });
  if (static_cast<size_t>(theirs) < kPoolsOfAUser) return {};
  return Fail(ErrorKind::kExhausted,
              fmt::format("user {} has {} pools and may add no more", caller.user, theirs),
              Remedy("; to remove one: {}", Advice("pool remove")));
}

// Nodes on other machines need an address.
Status Pools::CheckReach(const PoolPolicy& policy) const {
  for (const std::string& text : policy.settings.addresses) {
    if (auto address = os::ParseAddress(text); !address)
      return Within("--address", address.error());
  }
  if (!AddressesOf(policy.settings).empty()) return {};
  return Fail(ErrorKind::kUnavailable,
              "the hub listens only at its socket on this machine, where no pilot could reach it\n"
              "Start it again, so that it listens on the network",
              Remedy(": {}, then {} (jobs and nodes continue)", Advice("hub stop"),
                     Advice("hub start", "--daemon", "--listen", "*")));
}

// A pilot runs what it is given as its account, but for root's.
Status Pools::CheckServes(const PoolPolicy& policy) {
  const std::string& user = policy.user;
  const std::string& account = policy.settings.account;
  if (user == account || account == "root") return {};
  return Fail(
      ErrorKind::kPermission,
      fmt::format("pilots of {0} would run the tasks of {1} as {0}; only root's pools serve "
                  "others, each as themselves",
                  account, user == access::kEveryUser || user.empty() ? "all" : user),
      Remedy(" (a hub that runs as root: {})", Advice("hub start", "--allow-root")));
}

std::string Pools::FolderIn(const std::string& home, const std::string& pool) const {
  return os::JoinPath(home, fmt::format(".spate/pools/{}-{}", tag_, pool));
}

Result<PoolPolicy> Pools::NewPolicy(const Caller& caller, const wire::AddPool& asked) const {
  if (auto name = CheckPoolName(asked.name); !name) return std::unexpected(name.error());
  if (names_.contains(asked.name)) {
    return Fail(ErrorKind::kExists, fmt::format("there is a pool '{}' already", asked.name),
                Remedy("; {} changes it, {} makes room", Advice("pool set", asked.name),
                       Advice("pool remove", asked.name)));
  }
  if (auto places = CheckPlaces(caller); !places) return std::unexpected(places.error());
  // Nodes of this name would be taken for its pilots.
  for (NodeId id : parts_.nodes.FindByPrefix(asked.name + ".")) {
    const Nodes::Node& node = parts_.nodes.all().at(id);
    if (node.is_pilot || !node.channel) continue;
    return Fail(ErrorKind::kExists,
                fmt::format("there is a node '{}', as pilots of a pool '{}' would be called; give "
                            "the pool another name",
                            EscapeForScreen(node.row.name), asked.name));
  }
  PoolPolicy policy;
  policy.name = asked.name;
  policy.settings.system = asked.system;
  policy.settings.account = is_root() ? caller.user : here_.user;
  if (!is_root() && caller.user != here_.user && !caller.is_admin) {
    return Fail(ErrorKind::kPermission,
                fmt::format("this hub runs as {0} and could submit pilots only as {0}; ask {0} to "
                            "add a pool for you (--user {1}), or start a hub of your own",
                            here_.user, caller.user));
  }
  policy.user = policy.settings.account;
  const auto user = asked.wish.Get(asked.wish.values.user);
  if (user && *user != caller.user && !caller.is_admin) {
    return Fail(ErrorKind::kPermission, "only administrators add pools for others (--user)");
  }
  if (auto changed = hub::Change(policy, asked.wish); !changed) {
    return std::unexpected(changed.error());
  }
  if (auto serves = CheckServes(policy); !serves) return std::unexpected(serves.error());
  if (auto reach = CheckReach(policy); !reach) return std::unexpected(reach.error());
  return policy;
}

// ---- Changes -----------------------------------------------------------------------------------

// A pool has its folder where its user can write.
void Pools::Add(const Caller& caller, const wire::AddPool& asked, Tried done) {
  if (auto policy = NewPolicy(caller, asked); !policy) return done(std::unexpected(policy.error()));
  if (asked.wish.Sets(asked.wish.values.settings.folder))
    return AddIn("", caller, asked, std::move(done));
  if (!is_root() || caller.user == here_.user) {
    return AddIn(os::JoinPath(here_.dir, "pools/" + asked.name), caller, asked, std::move(done));
  }
  parts_.commands.FindHome(caller.user, [this, alive = alive_, caller, asked,
                                         done = std::move(done)](Result<std::string> home) {
    if (!*alive) return;
    if (home) return AddIn(FolderIn(*home, asked.name), caller, asked, done);
    done(Within("a pool needs a folder of its user (--folder names one)", home.error()));
  });
}

void Pools::AddIn(const std::string& folder, const Caller& caller, wire::AddPool asked,
                  Tried done) {
  if (!folder.empty()) asked.wish.Set(asked.wish.values.settings.folder, folder);
  // Much may have changed while the home folder was looked for.
  auto policy = NewPolicy(caller, asked);
  if (!policy) return done(std::unexpected(policy.error()));
  Compare(*policy, asked,
          [this, policy = *policy, asked, done = std::move(done)](auto differences) {
            TryNew(policy, asked, std::move(differences), done);
          });
}

// Variables that decide which batch system is found may differ between the hub and the caller.
void Pools::Compare(const PoolPolicy& policy, const wire::AddPool& asked,
                    std::function<void(std::vector<PoolDifference>)> done) {
  if (asked.variables.empty() || pool::SubmitCommandOf(asked.system).empty()) return done({});
  pool::CommandLine print{.argv = pool::PrintDecisive(asked.system), .name = "sh"};
  parts_.commands.Run(std::move(print), policy.settings.account, Duration::Seconds(10),
                      [alive = alive_, asked, own_command = !policy.settings.submit_command.empty(),
                       done = std::move(done)](const pool::Outcome& outcome) {
                        if (!*alive) return;
                        std::vector<PoolVariable> hubs =
                            pool::ReadDecisive(asked.system, outcome.out);
                        if (own_command && !hubs.empty()) hubs.front().name.clear();
                        done(pool::DifferencesOf(asked.variables, hubs));
                      });
}

void Pools::TryNew(const PoolPolicy& policy, const wire::AddPool& asked,
                   std::vector<PoolDifference> differences, Tried done) {
  caller_.Try(policy, asked.test || asked.dry_run,
              [this, policy, asked, differences = std::move(differences),
               done = std::move(done)](Result<PoolTrial> trial) {
                bool fails = !trial || (!trial->passed && !asked.dry_run);
                if (trial) trial->differences = differences;
                if (trial && fails) {
                  trial = Fail(ErrorKind::kInvalid,
                               fmt::format("{} would refuse a pilot of pool {}, so the pool was "
                                           "not added (--no-test adds it anyway): {}{}",
                                           asked.system, asked.name, trial->words,
                                           pool::TextOf(differences)));
                }
                if (fails || asked.dry_run) return done(std::move(trial));
                // Somebody else may have been quicker while the test ran.
                if (names_.contains(policy.name)) {
                  return done(Fail(ErrorKind::kExists, "a pool of this name was added meanwhile"));
                }
                PoolId pool = machine_.NextPool();
                for (const auto& [name, taken] : names_) {
                  pool = PoolId(std::max(pool.value, taken.value + 1));
                }
                TellFirstDemand();
                names_[policy.name] = pool;  // so that nobody else takes it before the step
                Post(provision::SetPool{pool, policy, false});
                WhenDurable([done, trial = std::move(trial)] { done(trial); });
              });
}

void Pools::Try(const Caller& caller, const std::string& name, Tried done) {
  auto found = Find(caller, {name});
  if (!found) return done(std::unexpected(found.error()));
  const PoolPolicy& policy = *caller_.Find(found->front());
  // The test runs a command as the pool's user, and its answer shows what that has in the pilot.
  if (Status own = CheckOwn(caller, policy, "test it"); !own)
    return done(std::unexpected(own.error()));
  caller_.Try(policy, true, std::move(done));
}

Status Pools::ChangeOne(PoolId pool, const wire::ChangePools& asked, const Caller& caller) {
  PoolPolicy policy = *caller_.Find(pool);
  if (!MayChange(caller, policy)) {
    return Fail(ErrorKind::kPermission,
                fmt::format("pool {} belongs to {}; only they and the hub's administrators change "
                            "it",
                            policy.name, policy.settings.account));
  }
  switch (asked.change) {
    case wire::ChangePools::Change::kPause:
      Post(provision::PausePool{
          pool, asked.reason.empty() ? fmt::format("{} paused it", caller.user) : asked.reason});
      return {};
    case wire::ChangePools::Change::kResume:
      Post(provision::ResumePool{pool});
      return {};
    case wire::ChangePools::Change::kRemove:
      Post(provision::RemovePool{pool});
      return {};
    case wire::ChangePools::Change::kSet:
      break;
  }
  const PoolPolicy& values = asked.wish.values;
  if (asked.wish.Sets(values.user) && values.user != policy.user && !caller.is_admin) {
    return Fail(ErrorKind::kPermission, "only administrators let pools serve others (--user)");
  }
  if (auto changed = hub::Change(policy, asked.wish); !changed) return changed;
  if (auto serves = CheckServes(policy); !serves) return serves;
  if (auto reach = CheckReach(policy); !reach) return reach;
  bool other_nodes = asked.wish.Sets(values.settings.options) || asked.wish.Sets(values.shape) ||
                     asked.wish.Sets(values.settings.host);
  Post(provision::SetPool{pool, policy, other_nodes});
  return {};
}

Status Pools::Change(const Caller& caller, const wire::ChangePools& asked) {
  if (asked.names.empty()) return Fail(ErrorKind::kInvalid, "no pool was named");
  auto found = Find(caller, asked.names);
  if (!found) return std::unexpected(found.error());
  for (PoolId pool : *found) {
    if (auto changed = ChangeOne(pool, asked, caller); !changed) return changed;
  }
  return {};
}

void Pools::WhenDurable(std::function<void()> fn) {
  waiting_.push_back(std::move(fn));
  ScheduleStep();
}

// ---- Questions ---------------------------------------------------------------------------------

PilotFacts Pools::FactsOf(const provision::PilotInfo& pilot) const {
  PilotFacts facts;
  facts.pilot = pilot.pilot.value;
  facts.id = pilot.id;
  facts.state = StateOf(pilot);
  facts.why = pilot.words;
  facts.nodes = pilot.nodes;
  const os::Loop& loop = parts_.loop;
  facts.since = loop.ToWall(pilot.intended);
  if (pilot.joined) facts.joined = loop.ToWall(*pilot.joined);
  if (pilot.idle) facts.idle = loop.ToWall(*pilot.idle);
  if (pilot.end_of_life != Instant::Never()) facts.until = loop.ToWall(pilot.end_of_life);
  return facts;
}

PoolFacts Pools::FactsOf(const provision::PoolInfo& info, bool pilots) const {
  PoolFacts facts;
  facts.policy = info.policy;
  if (facts.policy.user.empty()) facts.policy.user = access::kEveryUser;
  facts.policy.shape = {};
  const PoolSettings settings = std::exchange(facts.policy.settings, {});
  facts.group = settings.group;
  facts.system = settings.system;
  facts.account = settings.account;
  facts.options = settings.options;
  facts.state = StateOf(info);
  facts.why = info.words;
  facts.trouble = info.trouble;
  facts.avoids = info.avoided;
  facts.queued = info.queued;
  facts.joined = info.joined;
  facts.leaving = info.leaving;
  facts.wanted = info.wanted;
  facts.slots = info.shape.slots;
  facts.cpus = info.shape.milli_cpus / double{kMilliCpu};
  facts.memory = info.shape.memory;
  if (info.next_submit > parts_.loop.Now()) {
    facts.next_submit = parts_.loop.ToWall(info.next_submit);
  }
  for (const provision::PilotInfo& pilot : machine_.Pilots(info.pool)) {
    facts.nodes += pilot.nodes;
    if (facts.why.empty() && std::string_view(StateOf(pilot)) == "held") {
      facts.why = fmt::format("pilot {} is held{}{}", pilot.pilot.value,
                              pilot.words.empty() ? "" : ": ", pilot.words);
    }
    if (pilots) facts.pilots.push_back(FactsOf(pilot));
  }
  return facts;
}

Result<std::vector<PoolFacts>> Pools::Describe(const Caller& caller,
                                               const std::vector<std::string>& names,
                                               bool pilots) const {
  auto found = Find(caller, names);
  if (!found) return std::unexpected(found.error());
  std::vector<PoolFacts> facts;
  for (PoolId pool : *found) {
    auto info = machine_.Info(pool);
    if (info) facts.push_back(FactsOf(*info, pilots));
  }
  return facts;
}

Result<std::vector<PoolEvent>> Pools::Log(const Caller& caller, const std::string& name,
                                          uint32_t most) const {
  auto found = Find(caller, {name});
  if (!found) return std::unexpected(found.error());
  most = std::min<uint32_t>(most, store::PoolRows::kRowsOfPool);
  std::vector<PoolEvent> events;
  for (PoolId pool : *found) {
    auto rows = parts_.store.ReadPoolLog(pool, most);
    if (!rows) return std::unexpected(rows.error());
    for (const store::PoolLogRow& row : *rows) {
      EventOf visit;
      std::visit(visit, row.record);
      if (visit.event.what.empty()) continue;
      visit.event.at = row.at;
      visit.event.pool = caller_.Find(pool)->name;
      events.push_back(std::move(visit.event));
    }
  }
  std::ranges::stable_sort(events, {}, &PoolEvent::at);
  if (events.size() > most) events.erase(events.begin(), events.end() - most);
  return events;
}

void Pools::ReadOutput(const Caller& caller, const std::string& name, PilotId pilot,
                       std::function<void(Result<std::string>)> done) {
  auto found = Find(caller, {name});
  if (!found) return done(std::unexpected(found.error()));
  if (found->size() > 1) {
    return done(Fail(ErrorKind::kInvalid,
                     fmt::format("{} is a group of {} pools; name the pool of the pilot",
                                 EscapeForScreen(name), found->size()),
                     SeeAlso("pool list")));
  }
  const PoolPolicy& policy = *caller_.Find(found->front());
  if (Status own = CheckOwn(caller, policy, "read what its pilots write"); !own) {
    return done(std::unexpected(own.error()));
  }
  caller_.ReadOutput(policy, pilot, std::move(done));
}

// The state of a pool explains more than the lack of its nodes.
void AppendPools(Why& to, Why pools) {
  const bool of_pools = !pools.empty() && pools.front().kind >= ReasonKind::kPoolPaused;
  const size_t missing = !to.empty() && to.back().kind == ReasonKind::kNodesMissing ? 1 : 0;
  const Reason last = to.size() <= missing ? Reason() : to[to.size() - 1 - missing];
  const bool lacks_pool = last.kind == ReasonKind::kLacksLabel && !last.names.empty() &&
                          last.names.front().starts_with(kPoolLabel);
  const bool of_nodes = !to.empty() && to.front().kind >= ReasonKind::kNoNodeJoined &&
                        to.front().kind < ReasonKind::kOnOtherNode &&
                        to.front().kind != ReasonKind::kSomeCannotRun;
  if (of_pools && (last.kind == ReasonKind::kNoNodeJoined || (of_nodes && lacks_pool))) to.clear();
  if (of_pools && of_nodes) std::swap(to, pools);  // what waits for a pilot, first
  AppendNext(to, std::move(pools));
}

Why Pools::Explain(const std::string& user, const TaskClass& of_tasks) const {
  constexpr size_t kMost = 5;
  std::vector<Reason> serving, others;  // those whose pilots can run it come first
  const std::string* gone = OtherPool(of_tasks.needs, {});
  for (const auto& [name, pool] : names_) {
    auto info = machine_.Info(pool);
    if (!info || info->closed) continue;
    if (OtherPool(of_tasks.needs, info->policy.shape.labels) != nullptr) continue;
    gone = nullptr;
    if (serving.size() == kMost || !provision::Serves(info->policy, user)) continue;
    auto misfit = machine_.WhyNot(pool, of_tasks, user);
    if (info->paused) {
      auto& to = misfit ? others : serving;
      to.push_back({ReasonKind::kPoolPaused, {}, {}, {name, info->words}});
    } else if (misfit) {
      others.push_back(std::move(*misfit));
    } else {
      serving.push_back(StateReason(name, pool, *info));
    }
  }
  if (gone != nullptr) return {{ReasonKind::kPoolGone, {}, {}, {gone->substr(kPoolLabel.size())}}};
  Why why;
  for (Reason& each : serving) AppendNext(why, {std::move(each)});
  for (size_t i = 0; serving.empty() && i < std::min(others.size(), kMost); ++i) {
    AppendNext(why, {std::move(others[i])});
  }
  return why;
}

Reason Pools::StateReason(const std::string& name, PoolId pool,
                          const provision::PoolInfo& info) const {
  const provision::PilotInfo* first = nullptr;
  uint32_t unsent = 0;
  const auto pilots = machine_.Pilots(pool);
  for (const provision::PilotInfo& pilot : pilots) {
    if (pilot.joined || pilot.unwanted) continue;
    if (pilot.id.empty()) {
      ++unsent;
    } else if (first == nullptr || pilot.intended < first->intended) {
      first = &pilot;
    }
  }
  return {ReasonKind::kPoolState,
          {info.joined, info.queued - std::min(unsent, info.queued), unsent},
          {},
          {name, first != nullptr ? ClockTime(first->intended) : "",
           first != nullptr && first->words != info.trouble ? first->words : "",
           info.words != info.trouble ? info.words : "", info.trouble}};
}

Why Pools::WhyStalled(JobId job, Why stalled) const {
  if (stalled.empty() && (names_.empty() || parts_.nodes.connected() > 0)) return stalled;
  const engine::Engine& engine = parts_.hub.engine();
  auto info = engine.Info(job);
  auto request = engine.NewestRequest(job);
  bool waits = info && request && info->held == HoldReason::kNone && info->after.empty() &&
               info->counts.queued > 0 && info->counts.leased == 0;
  if (!waits) return stalled;
  Why pools = Explain(info->user, *request);
  if (pools.empty()) return stalled;
  // The state of the pools says more than "no node is connected".
  if (parts_.nodes.connected() == 0) stalled.clear();
  AppendPools(stalled, std::move(pools));
  return stalled;
}

std::map<std::string, uint64_t> Pools::CountPilots() const {
  std::map<std::string, uint64_t> counts;
  for (const auto& [name, pool] : names_) {
    for (const provision::PilotInfo& pilot : machine_.Pilots(pool)) ++counts[StateOf(pilot)];
  }
  return counts;
}

}  // namespace spate::hub
