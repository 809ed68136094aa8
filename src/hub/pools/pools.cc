// See pools.h: the flow of news and asks. What people ask for is in pools_people.cc.
#include "hub/pools/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "os/file.h"

namespace spate::hub {

using provision::PilotId;
using provision::PoolId;

namespace {

// Demand is looked at so long after the engine has stepped, once for all steps in between.
constexpr Duration kDemandAfter = Duration::Millis(200);
// An image replaces the journal's records once a day, and whenever there are Here::records.
constexpr Duration kCutEvery = Duration::Seconds(86'400);

// Six letters and digits that no other hub of a user has, as far as chance goes.
std::string TagFrom(const Bytes32& pin) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string tag;
  for (size_t i = 0; i < 6; ++i) tag += kDigits[pin[i] % kDigits.size()];
  return tag;
}

provision::NodeShape ShapeOf(const Offer& offer) {
  provision::NodeShape shape;
  shape.slots = offer.slots;
  shape.milli_cpus = offer.milli_cpus;
  shape.memory = offer.memory;
  for (const NamedOffer& named : offer.named) {
    shape.named.push_back({named.name, static_cast<uint32_t>(named.indices.size())});
  }
  shape.labels = offer.labels;
  shape.features = offer.features;
  return shape;
}

}  // namespace

Pools::Pools(Parts parts, Here here)
    : parts_(std::move(parts)),
      here_(std::move(here)),
      tag_(TagFrom(here_.access.pin())),
      caller_(parts_.commands, {.tag = tag_,
                                .program = here_.program,
                                .tell = [this](provision::Event event) { Post(std::move(event)); },
                                .find = [this](PilotId pilot) -> std::optional<BatchCaller::Known> {
                                  auto at = pilots_.find(pilot);
                                  if (at == pilots_.end()) return std::nullopt;
                                  return BatchCaller::Known{at->second.pool, at->second.joined};
                                }}) {}

Pools::~Pools() {
  *alive_ = false;
  parts_.loop.Cancel(timer_);
  parts_.loop.Cancel(demand_timer_);
  parts_.loop.Cancel(cut_timer_);
}

void Pools::Load() {
  bool sound = true;
  auto replayed = parts_.store.ReplayPools([&](const provision::Record& record) {
    sound = sound && machine_.Admits(record);
    if (!sound) return;
    machine_.Apply(record);
    Unreleased nothing;
    Note(record, nothing);
    for (PilotId pilot : nothing.ended) pilots_.erase(pilot);
  });
  if (replayed && sound) return;
  // Used numbers are known all the same.
  if (!replayed) {
    (void)parts_.store.ReplayPools([&](const provision::Record& record) {
      if (machine_.Admits(record)) machine_.Apply(record);
    });
  }
  parts_.log(fmt::format(
      "the data about the pools is damaged, so no pilots are requested; add the pools again (spate "
      "pool add), and end their batch jobs, which are called spate-POOL-{}-N: {}",
      tag_.substr(0, 6),
      replayed ? "its records do not follow from each other" : replayed.error().message));
}

void Pools::SetPolicy(PoolId pool, const PoolPolicy& policy) {
  names_[policy.name] = pool;
  if (auto set = caller_.Set(pool, policy); !set) {
    parts_.log(fmt::format("pool {} can do nothing: {}", policy.name, set.error().message));
  }
}

void Pools::Resume() {
  resumed_ = true;
  out_.Clear();
  machine_.Resume(parts_.loop.Now(), out_);
  Handle();
  TakeUpNodes();
  if (!names_.empty()) Cut();
  if (!names_.empty()) Stirred();
}

// Takes up nodes of earlier lives; the last may have ended between a pilot's record and its nodes'.
void Pools::TakeUpNodes() {
  std::vector<NodeId> over;
  const PilotId last = machine_.last_pilot();
  for (const auto& [id, node] : parts_.nodes.all()) {
    auto pilot = PilotOfName(node.row.name);
    // A removed pool's node is marked as well, so that the tables can drop it.
    const auto number = provision::PilotNumberIn(node.row.name);
    if (pilot || (number && *number <= last)) parts_.nodes.MarkPilot(id);
    if (!pilot) continue;
    if (!pilots_.contains(*pilot)) over.push_back(id);
  }
  for (NodeId node : over) parts_.nodes.Dismiss(node, "its pilot is over");
}

void Pools::Stop() {
  stopped_ = true;
  parts_.loop.Cancel(cut_timer_);
  parts_.loop.Cancel(timer_);
  parts_.loop.Cancel(demand_timer_);
}

void Pools::CloseAll(Duration patience, std::function<void()> done) {
  for (const auto& [name, pool] : names_) Post(provision::RemovePool{pool});
  AwaitEmpty(parts_.loop.Now() + patience, std::move(done));
}

void Pools::AwaitEmpty(Instant until, std::function<void()> done) {
  constexpr Duration kLook = Duration::Millis(100);
  const Instant now = parts_.loop.Now();
  if (names_.empty() || now >= until) return done();
  parts_.loop.At(now + kLook, [this, alive = alive_, until, done = std::move(done)] {
    if (*alive) AwaitEmpty(until, done);
  });
}

void Pools::Cut() {
  records_ = 0;
  parts_.loop.Cancel(cut_timer_);
  cut_timer_ = parts_.loop.At(parts_.loop.Now() + kCutEvery, [this] { Cut(); });
  parts_.store.CutPools(machine_.Images(), parts_.loop.Wall() - here_.keep, parts_.hub.Stored());
}

// ---- The step ----------------------------------------------------------------------------------

void Pools::Post(provision::Event event) {
  if (stopped_) return;
  events_.push_back(std::move(event));
  ScheduleStep();
}

void Pools::ScheduleStep() {
  if (std::exchange(step_scheduled_, true)) return;
  parts_.loop.Post([this, alive = alive_] {
    if (*alive) StepNow();
  });
}

void Pools::StepNow() {
  step_scheduled_ = false;
  if (stopped_ || !resumed_) return;
  std::vector<provision::Event> events = std::exchange(events_, {});
  out_.Clear();
  machine_.Step({parts_.loop.Now(), events}, out_);
  Handle();
}

void Pools::Handle() {
  parts_.loop.Cancel(timer_);
  timer_ = 0;
  if (out_.wake_at != Instant::Never()) {
    timer_ = parts_.loop.At(out_.wake_at, [this] { ScheduleStep(); });
  }
  Unreleased& entry = unreleased_.emplace_back();
  entry.asks = std::exchange(out_.asks, {});
  entry.waiting = std::exchange(waiting_, {});
  std::vector<provision::Record> records = std::exchange(out_.records, {});
  for (const provision::Record& record : records) Note(record, entry);
  if (reshaped_ && resumed_) TellNodesToCome();
  if (records.empty()) {
    entry.durable = true;
    return Release();
  }
  records_ += records.size();
  parts_.store.AppendPoolRecords(
      std::move(records), parts_.loop.Wall(), [this, alive = alive_](const Status& status) {
        if (!*alive) return;
        if (!status) return parts_.hub.StoreFailed(status.error());
        auto next = std::ranges::find(unreleased_, false, &Unreleased::durable);
        CHECK(next != unreleased_.end());
        next->durable = true;
        Release();
      });
  if (records_ >= here_.records) Cut();
}

void Pools::Note(const provision::Record& record, Unreleased& entry) {
  reshaped_ = reshaped_ || std::holds_alternative<provision::PoolChanged>(record) ||
              std::holds_alternative<provision::PoolKept>(record) ||
              std::holds_alternative<provision::PoolLearned>(record) ||
              std::holds_alternative<provision::PoolClosed>(record);
  if (const auto* changed = std::get_if<provision::PoolChanged>(&record)) {
    SetPolicy(changed->pool, changed->policy);
    Stirred();
  } else if (const auto* kept = std::get_if<provision::PoolKept>(&record)) {
    SetPolicy(kept->pool, kept->policy);
  } else if (const auto* still = std::get_if<provision::PilotKept>(&record)) {
    pilots_[still->pilot] = {still->pool, still->joined.has_value(), false, {}};
  } else if (const auto* forgotten = std::get_if<provision::PoolForgotten>(&record)) {
    std::erase_if(names_, [&](const auto& each) { return each.second == forgotten->pool; });
    entry.forgotten.push_back(forgotten->pool);
  } else if (const auto* intended = std::get_if<provision::PilotIntended>(&record)) {
    pilots_[intended->pilot].pool = intended->pool;
  } else if (const auto* joined = std::get_if<provision::PilotJoined>(&record)) {
    pilots_[joined->pilot].joined = true;
  } else if (const auto* again = std::get_if<provision::PilotQueuedAgain>(&record)) {
    pilots_[again->pilot].joined = false;
    entry.queued_again.push_back(*again);
  } else if (const auto* ended = std::get_if<provision::PilotEnded>(&record)) {
    entry.ended.push_back(ended->pilot);
  }
}

void Pools::Release() {
  if (std::exchange(releasing_, true)) return;
  while (!unreleased_.empty() && unreleased_.front().durable) {
    Unreleased entry = std::move(unreleased_.front());
    unreleased_.pop_front();
    Carry(std::move(entry.asks));
    for (const provision::PilotQueuedAgain& pilot : entry.queued_again) LoseAway(pilot);
    for (PilotId pilot : entry.ended) {
      auto at = pilots_.find(pilot);
      if (at != pilots_.end()) PilotGone(pilot, at->second.pool);
    }
    for (PoolId pool : entry.forgotten) caller_.Drop(pool);
    for (auto& fn : entry.waiting) fn();
  }
  releasing_ = false;
}

// ---- Demand ------------------------------------------------------------------------------------

void Pools::Stirred() {
  if (demand_timer_ != 0 || names_.empty() || stopped_ || !resumed_) return;
  demand_timer_ = parts_.loop.At(parts_.loop.Now() + kDemandAfter, [this] { TellDemand(); });
}

void Pools::TellDemand() {
  demand_timer_ = 0;
  bool first = !std::exchange(watches_, true);
  if (first) parts_.hub.WatchDemand();
  provision::DemandChanged changed{parts_.hub.DrainDemand()};
  if (first || !changed.classes.empty()) Post(std::move(changed));
}

void Pools::TellFirstDemand() {
  if (!names_.empty() || stopped_ || !resumed_) return;
  parts_.loop.Cancel(demand_timer_);
  TellDemand();
}

void Pools::TellNodesToCome() {
  reshaped_ = false;
  engine::NodesToCome told;
  for (const provision::PoolInfo& pool : machine_.Pools()) {
    if (pool.closed) continue;
    const PoolPolicy& policy = pool.policy;
    engine::NodesToCome::Kind kind{.user = policy.user == access::kEveryUser ? "" : policy.user,
                                   .labels = pool.shape.labels,
                                   .longest = provision::LongestTask(policy),
                                   .memory = pool.shape.memory};
    if (std::ranges::find(told.kinds, kind) == told.kinds.end()) {
      told.kinds.push_back(std::move(kind));
    }
  }
  parts_.hub.Post(std::move(told));
}

// ---- Nodes -------------------------------------------------------------------------------------

std::optional<std::expected<Caller, wire::Refusal>> Pools::Who(const Guest& guest) const {
  if (guest.greeting.role != wire::Role::kNode) return std::nullopt;
  // The system itself says whose process is at the other end of a UNIX socket.
  auto pilot = guest.local_user ? PilotOfName(guest.greeting.node_name)
                                : PilotAccess::PilotOf(guest.greeting.serial);
  if (!pilot) return std::nullopt;
  auto refuse = [](wire::RefusalCode code, std::string why) {
    return std::unexpected(wire::Refusal{code, std::move(why)});
  };
  auto at = pilots_.find(*pilot);
  const PoolPolicy* policy = at == pilots_.end() ? nullptr : caller_.Find(at->second.pool);
  if (guest.local_user) {
    bool theirs = policy != nullptr &&
                  (guest.user == policy->settings.account || *guest.local_user == here_.owner);
    if (policy != nullptr && !theirs) {
      return refuse(wire::RefusalCode::kCredential, "this pilot is another user's");
    }
  } else if (!guest.Proves(here_.access.SecretOf(*pilot))) {
    return refuse(wire::RefusalCode::kCredential, "the hub does not know this access");
  }
  if (policy == nullptr) return refuse(wire::RefusalCode::kRemoved, "this pilot is over");
  Caller caller;
  caller.user = policy->user.empty() ? std::string(access::kEveryUser) : policy->user;
  caller.serial = guest.greeting.serial;
  caller.pilot = *pilot;
  const std::string name = BatchCaller::NodeName(policy->name, *pilot);
  const std::string& given = guest.greeting.node_name;
  if (given != name && !given.starts_with(name + ".")) {
    return refuse(wire::RefusalCode::kName,
                  fmt::format("nodes of this pilot are called {}, or {}.HOST", name, name));
  }
  return caller;
}

std::optional<PilotId> Pools::PilotOfName(const std::string& name) const {
  return OwnsName(name) ? provision::PilotNumberIn(name) : std::nullopt;
}

bool Pools::OwnsName(const std::string& name) const {
  size_t dot = name.find('.');
  return dot != std::string::npos && names_.contains(name.substr(0, dot));
}

void Pools::NodeJoined(NodeId node, PilotId pilot, const Offer& offer) {
  nodes_[node] = {.pilot = pilot, .ended = parts_.hub.engine().EndedOn(node)};
  auto at = pilots_.find(pilot);
  if (at != pilots_.end()) {
    at->second.nodes.insert(node);
    if (at->second.leaving) parts_.hub.Post(engine::DrainNode{node});
  }
  Post(provision::NodeJoined{pilot, node, ShapeOf(offer), offer.end_of_life});
}

void Pools::NodeAway(NodeId node) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) return ForgetSoon(node);  // it was dismissed
  TellBusy(node, at->second);
  const Instant now = parts_.loop.Now();
  at->second.away = now;
  Post(provision::NodeSilent{at->second.pilot, node});
  parts_.loop.At(now + here_.lost_after, [this, alive = alive_, node, now] {
    if (!*alive) return;
    auto still = nodes_.find(node);
    if (still != nodes_.end() && still->second.away == now) NodeGone(node, Went::kLost);
  });
}

void Pools::NodeGone(NodeId node, Went went) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  TellBusy(node, at->second);
  PilotId pilot = at->second.pilot;
  nodes_.erase(at);
  auto entry = pilots_.find(pilot);
  if (entry != pilots_.end()) entry->second.nodes.erase(node);
  Post(provision::NodeLeft{pilot, node, went == Went::kTookLeave});
}

void Pools::NodeTold(NodeId node) {
  auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  TellBusy(node, at->second);
  auto entry = pilots_.find(at->second.pilot);
  if (entry != pilots_.end() && entry->second.leaving) EndIfEmpty(node);
}

// Tasks may have come and gone since it was told last.
void Pools::TellBusy(NodeId node, PilotNode& known) {
  const engine::Engine& engine = parts_.hub.engine();
  const bool busy = engine.Leased(node) > 0;
  const uint64_t before = std::exchange(known.ended, engine.EndedOn(node));
  const bool worked = busy || known.ended != before;
  if (worked && known.busy != true) {
    known.busy = true;
    Post(provision::NodeBusy{known.pilot, node});
  }
  if (!busy && known.busy != false) {
    known.busy = false;
    Post(provision::NodeIdle{known.pilot, node, parts_.loop.Now()});
  }
}

void Pools::EndIfEmpty(NodeId node) {
  if (parts_.hub.engine().Leased(node) > 0) return;
  Dismiss(node, "it was let go: there is nothing for it to do");
}

void Pools::Dismiss(NodeId node, const std::string& why) {
  parts_.nodes.Dismiss(node, why);
  NodeGone(node);
  ForgetSoon(node);
}

// The node leaves the tables with its pilot, after the engine has removed it.
void Pools::ForgetSoon(NodeId node) {
  parts_.loop.Post([this, alive = alive_, node] {
    if (*alive && !stopped_) parts_.nodes.Forget(node);
  });
}

// Its files may be read by the batch system for a moment still, which does no harm: a credential
// of a pilot that is over is good for nothing.
void Pools::PilotGone(PilotId pilot, PoolId pool) {
  std::set<NodeId> nodes = std::move(pilots_[pilot].nodes);
  pilots_.erase(pilot);
  // Also those that were lost before, perhaps in an earlier life: the engine keeps for ever that
  // they were drained, unless they are removed.
  if (const PoolPolicy* policy = caller_.Find(pool)) {
    const std::string name = BatchCaller::NodeName(policy->name, pilot);
    if (const Nodes::Node* node = parts_.nodes.FindByName(name)) nodes.insert(node->row.id);
    for (NodeId node : parts_.nodes.FindByPrefix(name + ".")) nodes.insert(node);
  }
  for (NodeId node : nodes) {
    parts_.hub.Post(engine::NodeLost{node});  // one that was silent will not come back
    Dismiss(node, "its pilot is over");
  }
  caller_.CleanUp(pool, pilot);
}

void Pools::LoseAway(const provision::PilotQueuedAgain& pilot) {
  auto entry = pilots_.find(pilot.pilot);
  if (entry == pilots_.end()) return;
  for (NodeId node : std::set<NodeId>(entry->second.nodes)) {
    const auto at = nodes_.find(node);
    if (at == nodes_.end() || !at->second.away || *at->second.away > pilot.at) continue;
    parts_.hub.Post(engine::NodeLost{node});
    NodeGone(node, Went::kLost);
  }
}

// ---- Asks --------------------------------------------------------------------------------------

std::vector<os::Address> Pools::AddressesOf(const PoolSettings& settings) const {
  std::vector<os::Address> addresses;
  for (const std::string& text : settings.addresses) {
    if (auto address = os::ParseAddress(text)) addresses.push_back(std::move(*address));
  }
  if (addresses.empty()) addresses = here_.reached_at();
  if (settings.system == "local") {
    os::Address socket;
    socket.path = os::JoinPath(here_.dir, "socket");
    addresses.insert(addresses.begin(), socket);
  }
  return addresses;
}

std::string Pools::AccessText(PilotId pilot, PoolId pool) const {
  const PoolPolicy* policy = caller_.Find(pool);
  if (policy == nullptr) return "";
  access::Access access;
  access.hubs = AddressesOf(policy->settings);
  access.pin = here_.access.pin();
  access.serial = PilotAccess::SerialOf(pilot);
  access.role = access::Role::kNode;
  access.user = policy->user.empty() ? std::string(access::kEveryUser) : policy->user;
  access.secret = here_.access.SecretOf(pilot);
  return access::FormatAccess(access);
}

void Pools::Carry(std::vector<provision::Ask> asks) {
  std::map<PoolId, std::vector<provision::Cancel>> cancels;
  for (provision::Ask& ask : asks) {
    if (const auto* submit = std::get_if<provision::Submit>(&ask)) {
      caller_.Submit(*submit, AccessText(submit->pilot, submit->pool));
    } else if (const auto* query = std::get_if<provision::Query>(&ask)) {
      caller_.Query(*query);
    } else if (const auto* cancel = std::get_if<provision::Cancel>(&ask)) {
      cancels[cancel->pool].push_back(*cancel);
    } else if (const auto* let_go = std::get_if<provision::LetGo>(&ask)) {
      LetGo(let_go->pilot);
    } else if (const auto* away = std::get_if<provision::TurnAway>(&ask)) {
      Dismiss(away->node, "its pilot is over");
    }
  }
  for (const auto& [pool, all] : cancels) caller_.Cancel(pool, all);
}

void Pools::LetGo(PilotId pilot) {
  auto at = pilots_.find(pilot);
  if (at == pilots_.end()) return;
  at->second.leaving = true;
  for (NodeId node : std::set<NodeId>(at->second.nodes)) {
    parts_.hub.Post(engine::DrainNode{node});
    EndIfEmpty(node);
  }
}

}  // namespace spate::hub
