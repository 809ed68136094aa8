// World: see world.h. Run goes BeginLife, LiveOn, EndLife until all is done or something is found.
#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "sim/machine.h"

namespace spate::sim {
namespace {

constexpr Instant kBeginning{1600000000LL * 1000000000};
}  // namespace

World::World(const Options& options, Sabotage sabotage, Printer print)
    : options_(options),
      sabotage_(sabotage),
      workload_(options),
      prng_(Derive(options.seed, 6)),
      witness_(workload_, options_, std::move(print)),
      report_(witness_.report()),
      disk_(std::make_shared<SimDisk>(/*is_hub=*/false, Derive(options.seed, 34))),
      now_(kBeginning),
      crashes_left_(options.crashes),
      store_failures_left_(options.commit_failures ? 3 : 0) {}

Duration World::Random(Duration most) {
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(most.ns) + 1))};
}

WorldReport World::Run() {
  while (!done_ && !witness_.Found()) {
    BeginLife();
    LiveOn();
    EndLife(/*clean=*/!life_->faults.dead() && !life_->person->store_failed());
  }
  return witness_.Finish(now_, *disk_);
}

// ---- Lives -------------------------------------------------------------------------------------

void World::BeginLife() {
  uint64_t crash_at = PlanCrash(options_, report_.lives, crashes_left_, prng_);
  life_ = std::make_unique<Life>(now_, crash_at);
  Life& life = *life_;
  ++report_.lives;
  witness_.Expect(now_);
  auto sink = [this](const Fact& fact) { Observe(fact); };
  life.store = std::make_unique<SimStore>(StoreParts{life.loop, life.faults, sink, disk_,
                                                     options_.commit_min, options_.commit_max,
                                                     prng_.Next(), sabotage_});
  if (store_failures_left_ > 0 && prng_.Chance(50)) {
    --store_failures_left_;
    life.store->writer().FailAfter(prng_.Below(prng_.Chance(50) ? 5 : 10 + options_.tasks));
  }
  life.person = std::make_unique<Person>(Person::Parts{life.loop, life.faults, *life.store,
                                                       workload_, options_, sink, memory_,
                                                       [this](bool blocked) {
                                                         for (SimNode& each : life_->nodes) {
                                                           if (each.node)
                                                             each.node->SetOutputBlocked(blocked);
                                                         }
                                                       },
                                                       prng_.Next(), sabotage_});
  Epoch epoch(report_.lives);
  life.hub =
      std::make_unique<hub::Hub>(life.loop, *life.store, *life.person, epoch, options_.limits());
  Observe(LifeBegan{epoch});
  Status replayed = life.store->Begin();
  if (replayed) replayed = life.hub->Replay();
  if (!replayed)
    return witness_.Find("replay", "the journal cannot be read: " + replayed.error().message);
  // The hub read the same records; that it keeps them is what check_replay compares.
  Status told =
      life.store->Replay([&](const engine::Record& record) { Observe(Replayed{&record}); });
  CHECK(told.has_value());
  Observe(ReplayDone{});
  life.hub->Resume(engine::LastNodes::kEnded);
  life.person->SitDown(*life.hub);
  life.nodes.resize(options_.nodes);
  for (size_t i = 0; i < life.nodes.size(); ++i) BringUp(i);
}

void World::LiveOn() {
  Life& life = *life_;
  uint64_t steps = 0;
  // Costs as much as the whole state, so it is seldom in large worlds.
  uint64_t check_every = 16 + uint64_t{options_.tasks} * 2;
  while (!witness_.Found()) {
    if (!life.faults.Alive()) return;
    Person::Wish wish = life.person->Check();
    if (wish != Person::Wish::kGoOn) {
      done_ = wish == Person::Wish::kDone;
      return;
    }
    if (!life.loop.Step()) {
      witness_.Find("complete",
                    "the world stands still: nothing is under way, and not all is done");
    }
    witness_.Turned(life.loop.Now(), [] { return ""; });
    if (!life.faults.dead() && ++steps % check_every == 0) CheckInvariants();
  }
}

void World::CheckInvariants() {
  life_->hub->engine().CheckInvariants();
  for (SimNode& each : life_->nodes) {
    if (each.node) each.node->agent().CheckInvariants();
  }
}

void World::EndLife(bool clean) {
  Life& life = *life_;
  bool found = witness_.Found();
  report_.digest = life.hub->engine().Digest();
  if (!found) CheckInvariants();
  if (clean && done_) Observe(WorldDone{&life.hub->engine()});
  if (!clean) {
    if (life.faults.dead()) ++report_.crashes;
    if (life.faults.dead() && crashes_left_ > 0) --crashes_left_;
    if (life.person->store_failed()) ++report_.store_failures;
  }
  if (report_.lives == 1) report_.first_life_points = life.faults.points();
  life.faults.Die();
  // Any prefix of the queue may have been durable; of none is the usual case.
  size_t also_durable = prng_.Chance(50) ? 0 : prng_.Below(life.store->writer().queued() + 1);
  life.store->writer().End(also_durable, clean && life.store->writer().queued() == 0);
  for (SimNode& each : life.nodes) TakeDown(each);
  LifeEnded ended{clean, report_.digest, report_.digest};
  if (!found && sabotage_ != Sabotage::kLoseCommit) ended.replayed_digest = ReplayedDigest();
  Observe(ended);
  const store::HubCheck check = store::CheckJournal(disk_->db(), disk_->place);
  Observe(JournalChecked{&check});
  report_.virtual_time = report_.virtual_time + (life.loop.Now() - now_);
  now_ = life.loop.Now();
  life_ = nullptr;
  now_ = now_ + Random(Duration::Seconds(5));
  if (options_.clock_steps_back && prng_.Chance(30)) now_ = now_ - Random(Duration::Seconds(60));
}

// The digest of what a reader of the disk sees, and of what was under way to it.
uint64_t World::ReplayedDigest() {
  engine::Engine engine(options_.limits());
  auto apply = [&](const engine::Record& record) { engine.Apply(record); };
  if (!disk_->Visit(ReadAs(sabotage_, apply))) return 0;
  for (const engine::Record& record : life_->store->writer().Pending()) engine.Apply(record);
  engine.CheckInvariants();
  return engine.Digest();
}

// ---- Nodes -------------------------------------------------------------------------------------

void World::BringUp(size_t index) {
  SimNode& each = life_->nodes[index];
  os::Loop& loop = life_->loop;
  each.id = NodeId(static_cast<uint32_t>(index + 1));
  each.link = std::make_shared<LinkState>(
      LinkState{options_.link_latency, options_.echo_percent, Prng(prng_.Next())});
  LinkSide side{loop, life_->faults};
  each.ends = MakeLink(loop, each.link, side, side);
  life_->hub->Connect(each.id, *each.ends.first);
  const Offer& offer = workload_.offers()[index];
  Observe(NodeUp{each.id, &offer});
  auto sink = [this](const Fact& fact) { Observe(fact); };
  each.executor = std::make_unique<MockExecutor>(
      MockExecutor::Parts{loop, workload_, sink, each.id, offer.slots, options_.executor_latency,
                          prng_.Next(), sabotage_});
  each.node = std::make_unique<node::Node>(
      each.id, offer, node::Node::Parts{loop, *each.executor, LoadOf(options_, prng_.Next())},
      options_.limits());
  each.executor->Attach(life_->faults, *each.node);
  each.node->Connect(*each.ends.second);
  if (options_.node_life.ns == 0 || cuts_left_ == 0) return;
  loop.At(loop.Now() + Random(options_.node_life * 2), [this, index] {
    if (life_->faults.Alive()) Cut(index);
  });
}

void World::Cut(size_t index) {
  SimNode& each = life_->nodes[index];
  os::Loop& loop = life_->loop;
  if (cuts_left_ > 0) --cuts_left_;
  ++report_.cuts;
  each.link->hub_deaf = each.link->node_deaf = true;
  Observe(NodeCut{each.id});
  life_->hub->Disconnect(each.id, engine::LastNodes::kEnded);
  Duration downtime = Random(prng_.Chance(30) ? Duration{} : options_.node_life);
  if (!options_.orphans_live_on) {
    TakeDown(each);
  } else {
    each.executor->SetOrphan();
    downtime = downtime + Random(options_.node_life);
  }
  loop.At(loop.Now() + downtime, [this, index] {
    TakeDown(life_->nodes[index]);
    if (life_->faults.Alive()) BringUp(index);
  });
}

void World::TakeDown(SimNode& each) {
  if (each.executor) each.executor->KillAll();
  each.node = nullptr;
  each.executor = nullptr;
  each.ends = {};
}

}  // namespace spate::sim
