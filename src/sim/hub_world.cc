// HubWorld: see hub_world.h. A process dies within a turn of the loop; what is left of it
// is cleared away after that turn (LookForTheDead).
#include "sim/hub_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/model/processes.h"
#include "present/why.h"
#include "sim/greed.h"
#include "wire/field_bytes.h"

namespace spate::sim {
HubWorld::HubWorld(const Options& options, Sabotage sabotage, Printer print)
    : options_(options),
      sabotage_(sabotage),
      workload_(options),
      prng_(Derive(options.seed, 6)),
      lies_(Derive(options.seed, 11)),
      clients_break_(Prng(Derive(options.seed, 12)).Chance(50)),
      witness_(workload_, options_, std::move(print)),
      report_(witness_.report()),
      disk_(std::make_shared<SimDisk>(/*is_hub=*/true, Derive(options.seed, 34))),
      people_({loop_, options_, workload_, [this](const Fact& fact) { Observe(fact); },
               [this]() -> HubProcess* { return hub_ && hub_->answers() ? hub_.get() : nullptr; },
               report_, prng_.Next()}),
      crashes_left_(options.crashes),
      store_failures_left_(options.commit_failures ? 3 : 0),
      node_crashes_left_(options.node_crashes),
      stops_left_(options.hub_stops ? 3 : 0) {
  if (options.pools == 0) return;
  batch_ = std::make_unique<SimBatch>(
      SimBatch::Parts{loop_, options_, [this](const Fact& fact) { Observe(fact); }, *this, report_,
                      Derive(options.seed, 18), sabotage});
}

Duration HubWorld::Random(Duration most) {
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(most.ns) + 1))};
}

Duration HubWorld::Gap() {
  constexpr Duration kMost[] = {Duration::Millis(3), Duration::Millis(300), Duration::Seconds(5),
                                Duration::Seconds(100)};
  return Random(kMost[prng_.Below(std::size(kMost))]);
}

void HubWorld::After(Duration wait, std::function<void()> fn) {
  loop_.At(loop_.Now() + wait, std::move(fn));
}

void HubWorld::Observe(const Fact& fact) {
  if (const auto* executed = std::get_if<Executed>(&fact); executed && !executed->orphan) {
    const BookedTask* task = witness_.book().Find(executed->order->ref);
    if (task == nullptr || !task->IsLeased(executed->order->ref.attempt, executed->node)) {
      return Observe(Executed{executed->node, executed->order, /*orphan=*/true});
    }
  }
  witness_.Observe(loop_.Now(), fact);
  Count(fact);
  const auto* changed = std::get_if<FrozenChanged>(&fact);
  if (changed && changed->frozen) PlanCrashWhileFrozen(changed->node.value - 1);
  const auto* executed = std::get_if<Executed>(&fact);
  const auto* over = std::get_if<Over>(&fact);
  if (!options_.liars || peace_ || !lies_.Chance(30)) return;
  if (executed) LieAbout(executed->order->ref, executed->node);
  if (over) LieAbout(over->ref, over->node);
}

void HubWorld::Count(const Fact& fact) {
  if (const auto* executed = std::get_if<Executed>(&fact)) {
    const bool on_pilot = !places_[executed->node.value - 1].pilot.empty();
    if (on_pilot && executed->order->part != nullptr) ++report_.parts_on_pilots;
    if (options_.glutton && workload_.IsGreedy(executed->order->ref.job)) ++report_.gluttonous;
  } else if (const auto* committed = std::get_if<Committed>(&fact)) {
    const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
    if (ended != nullptr && IsCutOff(ended->end)) ++report_.cut_off;
  }
}

// ---- The world ---------------------------------------------------------------------------------

WorldReport HubWorld::Run() {
  const Instant began = began_ = loop_.Now();
  witness_.Expect(began);
  for (uint32_t i = 0; i < options_.nodes; ++i) {
    bool late = options_.late_nodes && prng_.Chance(60);
    AddMachine(workload_.offers()[i], late ? Random(Duration::Seconds(30)) : Duration{});
  }
  if (const auto silent = SilentNodeOf(options_)) {
    AddMachine(*silent, {});
    After(kCheatIsSilent, [this] {
      if (places_.back().heard) Break(places_.size() - 1);
    });
  }
  StartHub();
  people_.Begin();
  if (options_.steer) KeepTelling();
  Live();
  if (hub_) EndHub(!witness_.Found());
  for (size_t i = 0; i < places_.size(); ++i) places_[i].machine->End(/*all=*/true);
  report_.virtual_time = loop_.Now() - began;
  return witness_.Finish(loop_.Now(), *disk_);
}

void HubWorld::Live() {
  uint64_t check_every = 16 + uint64_t{options_.tasks} * 2;
  while (!witness_.Found()) {
    if (!loop_.Step()) {
      return witness_.Find("complete", "the world stands still: nothing is under way");
    }
    witness_.Turned(loop_.Now(), [this] { return WhyStill(); });
    if (hub_ && !hub_->faults().dead()) hub_->FollowHub();
    LookForTheDead();
    if (report_.steps % check_every == 0) CheckInvariants();
    if (!peace_) {
      if (people_.Content()) MakePeace();
    } else if (report_.steps % 8 == 0 && AllQuiet()) {
      Observe(WorldDone{&hub_->engine()});
      return;
    }
  }
}

void HubWorld::LookForTheDead() {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].machine->dead()) continue;
    KillNode(i);
  }
  if (!hub_) return;
  if (hub_->faults().dead()) {
    ++report_.crashes;
    if (crashes_left_ > 0) --crashes_left_;
    EndHub(/*clean=*/false);
  } else if (hub_->store_failed()) {
    ++report_.store_failures;
    EndHub(/*clean=*/false);
  } else if (hub_->stopped()) {
    // News that came after its last word may be under way still.
    EndHub(/*clean=*/hub_->service().hub().Settled() && hub_->store().writer().queued() == 0);
  }
}

// The reason why the first queued task waits, for each job that has not ended.
std::string HubWorld::WhyStill() const {
  std::string text;
  if (!hub_) return text;
  const engine::Engine& engine = hub_->engine();
  for (const engine::JobInfo& job : engine.Jobs()) {
    for (TaskIndex i = 0; i < job.counts.total; ++i) {
      if (engine.StateOf(job.job, i) != TaskState::kQueued) continue;
      text += fmt::format("\n    {}.{}: {}", job.job.value, i + 1,
                          present::TextOf(engine.Explain(job.job, i, hub_->loop().Now())));
      if (batch_) {
        text += "; " + present::TextOf(
                           hub_->service().pools().Explain(job.user, *engine.ClassOf(job.job, i)));
      }
      break;
    }
  }
  return text;
}

void HubWorld::CheckInvariants() {
  if (hub_ && !hub_->faults().dead()) hub_->engine().CheckInvariants();
  for (NodeHost& place : places_) {
    if (place.machine->up()) place.machine->node().agent().CheckInvariants();
  }
  TellHubHolds();
}

void HubWorld::TellHubHolds() {
  if (!hub_ || !hub_->is_up() || hub_->faults().dead()) return;
  const auto& nodes = hub_->service().nodes().all();
  Observe(HubHolds{
      .pilot_nodes = static_cast<size_t>(std::ranges::count_if(
          nodes, [&](const auto& each) { return pilots_.contains(each.second.row.name); })),
      .pools = hub_->service().pools().count(),
      .pool_rows = batch_ ? disk_->PoolRows() : 0,
      .log_lines = log_lines_ + hub_->log_lines(),
      .calls = hub_->service().calls().under_way(),
      .call_bytes = hub_->service().calls().kept_bytes()});
}

// A world in which nothing happens has few turns.
void HubWorld::KeepTelling() {
  After(Duration::Seconds(20), [this] {
    TellHubHolds();
    KeepTelling();
  });
}

void HubWorld::MakePeace() {
  peace_ = true;
  uneasy_at_ = loop_.Now();
  witness_.Expect(uneasy_at_);
  for (NodeHost& place : places_) place.away = false;
  if (hub_) hub_->BreakClients(false);
  if (batch_) batch_->MakePeace();
  // Idle pilots leave, lost ones are searched for during an hour, and a query is made each 5
  // minutes. A pilot that is always kept may have to queue first.
  pools_due_ = uneasy_at_ + Duration::Seconds(2 * 3600) + options_.queue_most;
  Tick();
}

// So that time goes on while nothing is left to do.
void HubWorld::Tick() {
  After(Duration::Seconds(10), [this] { Tick(); });
}

bool HubWorld::AllThere() const {
  return hub_ && hub_->answers() && people_.Content() &&
         std::all_of(places_.begin(), places_.end(),
                     [](const NodeHost& place) { return place.gone || place.heard; });
}

bool HubWorld::AllQuiet() {
  if (!AllThere()) uneasy_at_ = loop_.Now();
  if (loop_.Now() - uneasy_at_ < Duration::Seconds(60)) return false;
  for (const NodeHost& place : places_) {
    if (place.machine->idle()) continue;
    witness_.Find("losses",
                  "node " + place.machine->offer().node_name + " still runs what nobody waits for");
    return false;
  }
  return hub_->service().hub().Settled() && PoolsAtRest();
}

bool HubWorld::PoolsAtRest() {
  if (!batch_) return true;
  std::string why;
  for (const SimPool& pool : workload_.pools()) {
    if (batch_->Alive(pool.name) != pool.at_rest()) why = "pilots of pool " + pool.name;
  }
  for (const auto& [id, node] : hub_->service().nodes().all()) {
    bool pilot = pilots_.contains(node.row.name);
    if (pilot && !batch_->IsAlive(node.row.name)) why = "node " + node.row.name;
  }
  if (why.empty()) return true;
  if (loop_.Now() < pools_due_) return false;
  Observe(PoolsDue{});
  if (!witness_.Found()) witness_.Find("left", "all work is done, but not at rest: " + why);
  return false;
}

// ---- The hub -----------------------------------------------------------------------------------

void HubWorld::StartHub() {
  if (hub_) return;
  uint64_t crash_at = PlanCrash(options_, report_.lives, peace_ ? 0 : crashes_left_, prng_);
  Duration ahead;
  if (options_.node_clocks) ahead = Random(Duration::Seconds(600)) - Duration::Seconds(300);
  clock_ahead_ = wall_ahead_ = ahead;
  ++report_.lives;
  hub_ = std::make_unique<HubProcess>(HubProcess::Parts{
      loop_, options_, workload_, [this](const Fact& fact) { Observe(fact); }, disk_, people_,
      report_.lives, ahead, crash_at, prng_.Next(), sabotage_, batch_.get()});
  if (store_failures_left_ > 0 && !peace_ && prng_.Chance(50)) {
    --store_failures_left_;
    hub_->store().writer().FailAfter(prng_.Below(prng_.Chance(50) ? 5 : 10 + options_.tasks));
  }
  if (auto up = hub_->Resume(); !up) {
    witness_.Find("replay", "the journal cannot be read: " + up.error().message);
    return;
  }
  hub_->BreakClients(!peace_ && clients_break_);
  people_.SeeHub();
  PlanHubTroubles();
}

void HubWorld::PlanHubTroubles() {
  auto plan = [this](Duration most, std::function<void()> fn) {
    After(Random(most), [this, life = report_.lives, fn = std::move(fn)] {
      if (!peace_ && hub_ && report_.lives == life && !hub_->loop().suspended()) fn();
    });
  };
  if (options_.suspend && prng_.Chance(70)) {
    plan(Duration::Seconds(20), [this] {
      const auto time = Duration::Micros(Random(options_.patience * 2).micros());
      if (prng_.Chance(50)) return Sleep(time);
      Observe(HubSuspended{time});
      hub_->loop().Suspend(time);
    });
  }
  for (int i = 0; options_.node_clocks && i < 3; ++i) {
    plan(Duration::Seconds(60), [this] {
      const auto by = Duration::Millis(Random(Duration::Seconds(600)).millis() - 300'000);
      wall_ahead_ = wall_ahead_ + by;
      Observe(ClockMoved{clock_ahead_, wall_ahead_});
      if (sabotage_ != Sabotage::kDeafToClock) hub_->loop().SetClock(by);
    });
  }
  if (stops_left_ > 0 && prng_.Chance(70)) {
    --stops_left_;
    plan(Duration::Seconds(30), [this] { StopHub(); });
  }
}

// The clocks move before anything else happens at that time.
void HubWorld::Sleep(Duration time) {
  Observe(HubSuspended{time, /*machine=*/true});
  After(time, [this, time, life = report_.lives] {
    if (!hub_ || report_.lives != life) return;
    clock_ahead_ = clock_ahead_ - time;
    Observe(ClockMoved{clock_ahead_, wall_ahead_});
  });
  hub_->loop().Sleep(time);
}

void HubWorld::StopHub() {
  Observe(Remark{"the hub is stopped"});
  hub_->service().Stop();
}

void HubWorld::EndHub(bool clean) {
  if (report_.lives == 1) report_.first_life_points = hub_->faults().points();
  bool found = witness_.Found();
  if (!hub_->is_up()) return;  // its journal could not be read
  log_lines_ += hub_->log_lines();
  uint64_t live = hub_->engine().Digest();
  HubProcess::Digests digests = hub_->Die(clean, prng_);
  for (NodeHost& place : places_) DropHubEnd(place);
  report_.digest = live;
  if (found || sabotage_ == Sabotage::kLoseCommit) digests.replayed = digests.live;
  Observe(LifeEnded{clean, digests.live, digests.replayed});
  const store::HubCheck check = store::CheckJournal(disk_->db(), disk_->place);
  Observe(JournalChecked{&check});
  hub_ = nullptr;
  After(Gap(), [this] { StartHub(); });
}

// ---- Nodes -------------------------------------------------------------------------------------

// The disk has a row of this node from now on.
void HubWorld::Know(store::NodeRow row) {
  const bool lives = hub_ && hub_->is_up() && !hub_->faults().dead();
  if (lives) return hub_->store().writer().Know(std::move(row));
  disk_->nodes.push_back(std::move(row));
}

void HubWorld::AddMachine(Offer offer, Duration wait) {
  size_t index = places_.size();
  NodeId id(static_cast<uint32_t>(index + 1));
  Machine::Parts parts{loop_,     options_,
                       workload_, [this](const Fact& fact) { Observe(fact); },
                       sabotage_, Duration::Seconds(options_.watched() ? 3 : 0)};
  // Its name has its number, whenever it comes first.
  Know({.id = id, .name = offer.node_name, .created = loop_.Now()});
  NodeHost& place = places_.emplace_back();
  place.machine = std::make_unique<Machine>(std::move(parts), id, std::move(offer), prng_.Next());
  After(wait, [this, index] { StartNode(index); });
}

void HubWorld::StartNode(size_t index) {
  NodeHost& place = places_[index];
  if (place.machine->up() || place.gone) return;
  uint64_t crash_at = 0;
  if (node_crashes_left_ > 0 && !peace_ && prng_.Chance(70)) {
    --node_crashes_left_;
    crash_at = 1 + prng_.Below(prng_.Chance(30) ? 20 : 20 + options_.tasks * 4);
  }
  ++place.processes;
  place.machine->Start(crash_at);
  Call(index);
  PlanNodeTroubles(index);
}

void HubWorld::PlanNodeTroubles(size_t index) {
  if (!places_[index].pilot.empty()) return;
  if (options_.leaving && index > 0 && prng_.Chance(40)) {
    After(Random(Duration::Seconds(60)), [this, index, processes = places_[index].processes] {
      const NodeHost& place = places_[index];
      if (!peace_ && place.processes == processes && place.machine->up()) LeaveHub(index);
    });
  }
  if (options_.remove && index > 0 && prng_.Chance(30)) {
    After(Random(Duration::Seconds(60)), [this, index] {
      constexpr size_t kMostNodes = 16;
      if (!peace_ && !places_[index].gone && places_.size() < kMostNodes) AdoptOtherName(index);
    });
  }
}

void HubWorld::KillNode(size_t index) {
  ++report_.node_crashes;
  if (!places_[index].pilot.empty()) return ExitPilot(index);
  EndNode(index, !prng_.Chance(options_.adopt_percent));
  After(Gap(), [this, index] { StartNode(index); });
}

// A node with frozen tasks hears and says little, so it hardly dies by itself.
void HubWorld::PlanCrashWhileFrozen(size_t index) {
  if (node_crashes_left_ == 0 || peace_ || !lies_.Chance(20)) return;
  --node_crashes_left_;
  After(Duration{static_cast<int64_t>(lies_.Below(2'000'000'000))},
        [this, index, processes = places_[index].processes] {
          const NodeHost& place = places_[index];
          if (!peace_ && place.processes == processes && place.machine->up()) KillNode(index);
        });
}

void HubWorld::EndNode(size_t index, bool all) {
  NodeHost& place = places_[index];
  if (place.heard) Unheard(place);
  place.machine->End(all);
  // Its messages may still arrive.
  if (place.state && prng_.Chance(50)) place.state->hub_deaf = true;
  place.link.second = nullptr;
  if (!place.link.first) return;
  hub_->loop().At(hub_->loop().Now() + Random(Duration::Millis(prng_.Chance(50) ? 5 : 2000)),
                  [this, index, state = place.state] {
                    if (places_[index].state == state) DropHubEnd(places_[index]);
                  });
}

void HubWorld::LeaveHub(size_t index) {
  NodeHost& place = places_[index];
  Observe(Remark{place.machine->offer().node_name + " leaves"});
  place.machine->Leave(place.machine->connected() ? place.link.second.get() : nullptr);
  // It ends when all was said, or when it has waited long enough.
  After(Random(Duration::Seconds(1)), [this, index, processes = place.processes] {
    if (places_[index].processes != processes) return;
    EndNode(index, /*all=*/true);
    After(Gap(), [this, index] { StartNode(index); });
  });
}

void HubWorld::AdoptOtherName(size_t index) {
  NodeHost& place = places_[index];
  Observe(Remark{place.machine->offer().node_name + " takes another name"});
  Offer offer = place.machine->offer();
  offer.node_name += "x";
  EndNode(index, /*all=*/true);
  place.gone = true;
  AddMachine(std::move(offer), Gap());
}

// ---- Pilots ------------------------------------------------------------------------------------

// A node of this name may have been here, before it was requeued.
void HubWorld::StartPilot(const std::string& name, Instant end) {
  auto [at, added] = pilots_.try_emplace(name, places_.size());
  const size_t index = at->second;
  const NodeId id(static_cast<uint32_t>(index + 1));
  if (added) {
    places_.emplace_back().pilot = name;
    Know({.id = id, .name = name, .created = loop_.Now(), .forgotten = loop_.Now()});
  }
  NodeHost& place = places_[index];
  if (place.machine && place.machine->up()) return;
  const auto& pools = workload_.pools();
  auto pool = std::ranges::find(pools, name.substr(0, name.find('.')), &SimPool::name);
  CHECK(pool != pools.end());
  Offer offer = pool->offer;
  offer.node_name = name;
  offer.end_of_life = end;
  Machine::Parts parts{loop_,     options_,
                       workload_, [this](const Fact& fact) { Observe(fact); },
                       sabotage_, /*tell_every=*/Duration::Seconds(3)};
  place.machine = std::make_unique<Machine>(std::move(parts), id, std::move(offer), prng_.Next());
  place.gone = false;
  StartNode(index);
}

void HubWorld::EndPilot(const std::string& name) {
  auto at = pilots_.find(name);
  if (at == pilots_.end()) return;
  NodeHost& place = places_[at->second];
  if (place.machine->up()) EndNode(at->second, /*all=*/true);
  place.gone = true;
}

void HubWorld::ExitPilot(size_t index) {
  const std::string name = places_[index].pilot;
  EndPilot(name);
  batch_->Exited(name);
}

// Nodes come by the hub's socket: of root, and pilots of whom the hub runs as.
hub::Guest HubWorld::GuestOf(const NodeHost& place) {
  hub::Guest guest;
  guest.greeting.role = wire::Role::kNode;
  guest.greeting.node_name = place.machine->offer().node_name;
  guest.greeting.instance = guest.greeting.node_name;
  if (!place.pilot.empty()) guest.greeting.instance += fmt::format(" {}", place.processes);
  guest.local_user = place.pilot.empty() ? 0 : HubProcess::kHubUser;
  guest.user = place.pilot.empty() ? "root" : "hub";
  if (place.pilot.empty() && place.machine->offer().user == GreedyUser()) {
    guest.local_user = HubProcess::kHubUser + 1;
    guest.user = GreedyUser();
  }
  return guest;
}

// ---- Links -------------------------------------------------------------------------------------

void HubWorld::Call(size_t index) {
  uint32_t calls = ++places_[index].calls;
  After(Random(Duration::Millis(prng_.Chance(50) ? 5 : 2000)), [this, index, calls] {
    NodeHost& place = places_[index];
    if (place.calls != calls || !place.machine->up() || place.machine->dead()) return;
    if (MayConnect(place)) {
      Connect(index);
    } else {
      Call(index);
    }
  });
}

bool HubWorld::MayConnect(const NodeHost& place) const {
  return hub_ && hub_->answers() && !place.away;
}

void HubWorld::Connect(size_t index) {
  NodeHost& place = places_[index];
  DropHubEnd(place);  // it may not have noticed that the last one is no more
  const hub::Guest guest = GuestOf(place);
  hub::Service& service = hub_->service();
  auto owner = service.Who(guest);
  if (!owner) {
    Observe(Remark{"a pilot is refused: " + owner.error().reason});
    return owner.error().code == wire::RefusalCode::kRemoved ? ExitPilot(index) : Call(index);
  }
  auto admitted = service.AdmitNode(guest.greeting, *owner);
  if (!admitted) {
    Observe(Remark{"a node is refused: " + admitted.error().reason});
    bool ends = !place.pilot.empty() && admitted.error().code == wire::RefusalCode::kRemoved;
    return ends ? ExitPilot(index) : Call(index);
  }
  CHECK(*admitted == place.machine->id());
  place.state = std::make_shared<LinkState>(
      LinkState{options_.link_latency, options_.echo_percent, Prng(prng_.Next())});
  place.link = MakeLink(loop_, place.state, {hub_->loop(), hub_->faults()}, place.machine->side());
  place.heard = true;
  Observe(NodeHeard{place.machine->id()});
  auto cut = [this, index, state = place.state](bool ends) {
    loop_.Post([this, index, state, ends] {
      if (places_[index].state != state || !places_[index].heard) return;
      if (ends && !places_[index].pilot.empty()) return ExitPilot(index);
      Break(index);
    });
  };
  auto ear = std::make_unique<Ear>(
      *place.link.first, [this, index](const wire::ToHub& said) { return Admit(index, said); }, cut,
      [this, id = place.machine->id()](const wire::Ask&) { Observe(NodeAsked{id}); }, sabotage_);
  place.ear = ear.get();
  service.NodeArrived(*admitted, {std::move(ear), "the simulator", "1", wire::OwnFeatures()},
                      *owner);
  place.machine->Connect(*place.link.second);
  if (!peace_ && options_.silent_node && index == 1 && place.pilot.empty()) {
    After(Random(Duration::Seconds(3)), [this, index, state = place.state] {
      if (peace_ || silences_left_ == 0) return;
      if (places_[index].state == state && places_[index].heard) FallSilent(index);
    });
  }
  if (peace_ || options_.node_life.ns == 0) return;
  After(Random(options_.node_life * 2), [this, index, state = place.state] {
    if (peace_ || places_[index].state != state || !places_[index].heard) return;
    if (cuts_left_ > 0) Part(index);
  });
}

void HubWorld::FallSilent(size_t index) {
  // When a link gives up a peer that sends no sign of life.
  constexpr Duration kGivenUp = Duration::Seconds(20);
  NodeHost& place = places_[index];
  --silences_left_;
  ++report_.silent_nodes;
  Observe(Remark{place.machine->offer().node_name + " falls silent"});
  Unheard(place);
  place.state->hub_deaf = place.state->node_deaf = true;
  place.away = true;
  // A gang may need its machine.
  After(kGivenUp + Random(options_.patience * 3), [this, index] { places_[index].away = false; });
  After(kGivenUp, [this, index, state = place.state] {
    if (places_[index].state != state) return;
    LoseLink(index);
    state->hub_deaf = state->node_deaf = true;
  });
}

void HubWorld::Part(size_t index) {
  --cuts_left_;
  ++report_.cuts;
  bool alone = prng_.Chance(70);
  Duration away = prng_.Chance(70) ? Gap() : Random(options_.patience * 3);
  for (size_t i = 0; i < places_.size(); ++i) {
    if (i != index && (alone || prng_.Chance(30))) continue;
    if (places_[i].heard) Break(i);
    places_[i].away = true;
    After(away, [this, i] { places_[i].away = false; });
  }
}

void HubWorld::LieAbout(const AttemptRef& ref, NodeId holder) {
  size_t liar = lies_.Below(places_.size());
  if (liar == holder.value - 1) return;
  // A false report of a node on its own part is a lie that nobody could see through.
  const BookedTask* task = witness_.book().Find(ref);
  if (task != nullptr && task->HasPart(ref.attempt, NodeId(static_cast<uint32_t>(liar + 1))))
    return;
  if (sabotage_ == Sabotage::kBelieveLies) liar = holder.value - 1;
  Duration wait{static_cast<int64_t>(lies_.Below(lies_.Chance(50) ? 1'000 : 2'000'000'000))};
  After(wait, [this, liar, lie = MakeLie(ref)] {
    NodeHost& place = places_[liar];
    if (!peace_ && place.heard && place.link.second) place.link.second->Send(lie);
  });
}

bool HubWorld::Admit(size_t index, const wire::ToHub& said) {
  const bool cheats = options_.cheat && index == options_.nodes;
  const bool silent = cheats && loop_.Now() - began_ < kCheatIsSilent;
  if (silent && !std::holds_alternative<wire::Hello>(said)) return false;
  if (sabotage_ == Sabotage::kLoseStarts) {
    const auto* state = std::get_if<wire::NodeState>(&said);
    const bool tells_runs = state != nullptr && !state->runs.empty();
    if (tells_runs || std::holds_alternative<wire::Running>(said)) return false;
  }
  if (const auto* room = std::get_if<wire::RoomTaken>(&said)) {
    if (sabotage_ == Sabotage::kLoseRooms) return false;
    constexpr Duration kNoRoomFor = Duration::Seconds(200);
    const bool roomless = options_.roomless && index == 0 && loop_.Now() - began_ < kNoRoomFor;
    if (roomless && !peace_) return false;
    Observe(RoomHeard{places_[index].machine->id(), room->ref});
  }
  if (const auto* answer = std::get_if<wire::AnswerPiece>(&said))
    return AdmitAnswer(index, *answer);
  LieBefore(index, said);
  return true;
}

void HubWorld::Ear::Send(wire::ToNode message) {
  if (const auto* freeze = std::get_if<wire::Freeze>(&message)) {
    const Sabotage deaf = freeze->frozen ? Sabotage::kDeafToFreeze : Sabotage::kDeafToThaw;
    if (sabotage_ == deaf) return;
  }
  if (const auto* ask = std::get_if<wire::Ask>(&message)) asked_(*ask);
  std::optional<wire::Go> early;
  const auto* lease = std::get_if<wire::Lease>(&message);
  if (sabotage_ == Sabotage::kGoEarly && lease != nullptr && lease->part != nullptr) {
    early = wire::Go{lease->epoch, {lease->job, lease->tasks.front().first, lease->attempt}};
  }
  inner_.Send(std::move(message));
  if (early) inner_.Send(*early);
}

// Nodes answer late, twice or never, answer other questions, and name tasks that are not theirs.
bool HubWorld::AdmitAnswer(size_t index, const wire::AnswerPiece& answer) {
  if (!options_.steer || peace_ || !lies_.Chance(40)) return true;
  auto later = [&](Duration most, wire::AnswerPiece piece) {
    After(Duration{static_cast<int64_t>(lies_.Below(static_cast<uint64_t>(most.ns)))},
          [this, index, state = places_[index].state, piece = std::move(piece)] {
            NodeHost& place = places_[index];
            if (place.state == state && place.heard && place.ear) place.ear->Inject(piece);
          });
  };
  constexpr Duration kLate = Duration::Seconds(15);  // longer than the hub waits
  ++report_.odd_answers;
  switch (lies_.Below(5)) {
    case 0:
      return false;
    case 1:
      later(kLate, answer);
      return false;
    case 2:
      later(kLate, answer);
      return true;
    case 3: {
      wire::AnswerPiece other = answer;
      other.id += 1 + lies_.Below(3);
      later(Duration::Millis(10), std::move(other));
      return true;
    }
    default:
      if (auto listed = NameOthers(answer)) {
        later(Duration::Millis(10), std::move(*listed));
        return false;
      }
      return true;
  }
}

// Lists of processes name all tasks that run anywhere, also those that the node does not have.
std::optional<wire::AnswerPiece> HubWorld::NameOthers(const wire::AnswerPiece& answer) {
  auto listed = wire::FromBytes<NodeProcesses>("an answer", answer.bytes);
  if (!listed || listed->boot.empty()) return std::nullopt;
  for (const auto& [id, job] : witness_.book().jobs()) {
    for (size_t i = 0; i < job.tasks.size() && listed->attempts.size() < 50; ++i) {
      if (job.tasks[i].state != TaskState::kLeased) continue;
      listed->attempts.push_back({.job = id,
                                  .task = static_cast<uint32_t>(i + 1),
                                  .attempt = job.tasks[i].attempt.value,
                                  .user = "",
                                  .processes = {{.pid = 1, .command = "a lie"}}});
    }
  }
  wire::AnswerPiece lie = answer;
  lie.bytes = wire::BytesOf(*listed);
  if (lie.bytes.size() > wire::kAnswerPiece) return std::nullopt;
  return lie;
}

void HubWorld::LieBefore(size_t index, const wire::ToHub& truth) {
  const auto* ends = std::get_if<wire::Ends>(&truth);
  if (!options_.liars || peace_ || ends == nullptr || ends->ends.empty() || !lies_.Chance(30)) {
    return;
  }
  const AttemptRef ref = ends->ends.front().ref;
  size_t liar = lies_.Below(places_.size());
  const NodeHost& place = places_[liar];
  if (liar == index || !place.heard || !place.ear) return;
  const BookedTask* task = witness_.book().Find(ref);  // who speaks first may be a liar, too
  if (task == nullptr || task->IsLeased(ref.attempt, place.machine->id())) return;
  if (task->HasPart(ref.attempt, place.machine->id())) return;
  place.ear->Inject(MakeLie(ref));
}

wire::ToHub HubWorld::MakeLie(const AttemptRef& ref) {
  if (lies_.Chance(40)) return wire::Returned{0, ref.job, ref.attempt, {{ref.index, 1}}};
  AttemptEnd end{.ref = ref, .cause = lies_.Chance(50) ? Cause::kSuccess : Cause::kExit, .slot = 1};
  end.status = end.cause == Cause::kExit ? 1 : 0;
  auto output = std::make_shared<TaskOutput>();
  output->out = {.bytes = "a lie\n", .total = 6};
  end.stdout_total = output->out.total;
  return wire::Ends{0, {std::move(end)}, {std::move(output)}};
}

void HubWorld::Unheard(NodeHost& place) {
  place.heard = false;
  place.unheard_at = loop_.Now();
  Observe(NodeUnheard{place.machine->id()});
}

void HubWorld::Break(size_t index) {
  Unheard(places_[index]);
  LoseLink(index);
}

void HubWorld::LoseLink(size_t index) {
  NodeHost& place = places_[index];
  // Messages under way may get lost in either direction, or in both.
  place.state->hub_deaf = prng_.Chance(60);
  place.state->node_deaf = prng_.Chance(60);
  Duration most = prng_.Chance(40)   ? Duration::Millis(5)
                  : prng_.Chance(60) ? Duration::Seconds(1)
                                     : Duration::Seconds(10);
  After(Random(most), [this, index, state = place.state] {
    NodeHost& then = places_[index];
    if (then.state != state || !then.machine->up() || !then.machine->connected()) return;
    then.machine->Disconnect();
    then.link.second = nullptr;
    Call(index);
  });
  if (!hub_) return;  // it has died meanwhile
  hub_->loop().At(hub_->loop().Now() + Random(most), [this, index, state = place.state] {
    if (places_[index].state == state) DropHubEnd(places_[index]);
  });
}

// The hub's end of the link is no more, and the hub has noticed.
void HubWorld::DropHubEnd(NodeHost& place) {
  if (!place.link.first) return;
  NodeId id = place.machine->id();
  if (place.heard) {  // the hub itself ends
    Unheard(place);
    place.state->node_deaf = prng_.Chance(50);
    size_t index = id.value - 1;
    After(Random(Duration::Seconds(1)), [this, index, state = place.state] {
      NodeHost& then = places_[index];
      if (then.state != state || !then.machine->up() || !then.machine->connected()) return;
      then.machine->Disconnect();
      then.link.second = nullptr;
      Call(index);
    });
  }
  if (hub_ && !hub_->faults().dead() && !hub_->store_failed()) {
    // It may have noticed by the silence.
    Duration quiet = prng_.Chance(50) ? Duration{} : Random(loop_.Now() - place.unheard_at);
    hub_->service().NodeGone(id, "it is cut", quiet);
  }
  place.state->hub_deaf = true;
  place.ear = nullptr;
  place.link.first = nullptr;
}

}  // namespace spate::sim
