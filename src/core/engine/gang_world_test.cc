// The engine with gangs among single tasks, on nodes that come and go, that answer late or never,
// and whose parts fail; restarts at any step. It checks:
// - a gang runs whole or not at all: no part starts before all have room, each attempt has all of
//   its processes, on different nodes, and no task runs in two attempts at once;
// - no node holds more than it offers (of what runs beside the tasks that wait ahead), and one that
//   a gang is to have for itself has nothing else;
// - replay equals live, also at a restart from what is durable so far;
// - everything ends, small tasks of one user beside gangs of another, and gangs among a stream of
//   small tasks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/prng.h"
#include "core/engine/engine.h"
#include "present/why.h"

namespace spate::engine {
namespace {

constexpr uint32_t kNodes = 5;

// An attempt on a node.
struct Held {
  Attempt attempt;
  std::shared_ptr<const GangPart> part;  // null: a single task
  Needs needs;
  bool runs = false;
  Instant over = Instant::Never();  // when it ends by itself
};
using TaskKey = std::pair<JobId, TaskIndex>;
struct FakeNode {
  uint32_t slots = 0;
  bool up = false;
  bool heard = false;
  std::map<TaskKey, Held> held;
  std::vector<Event> unheard;  // what it says while nobody hears it
};

class GangWorld {
 public:
  explicit GangWorld(uint64_t seed) : prng_(seed) {
    for (uint32_t i = 1; i <= kNodes; ++i) nodes_[NodeId(i)].slots = 2 + prng_.Below(3) * 2;
    SetPolicy();
  }

  void Run() {
    for (auto& [id, node] : nodes_) Join(id);
    for (int step = 0; step < 400; ++step) {
      if (prng_.Chance(20)) Submit();
      if (prng_.Chance(6)) Break();
      if (prng_.Chance(2)) Restart();
      Advance();
    }
    for (auto& [id, node] : nodes_) {
      if (!node.up || !node.heard) Join(id);
    }
    for (int step = 0; step < 20'000 && !AllFinished(); ++step) Advance();
    EXPECT_TRUE(AllFinished()) << WhatIsLeft();
    EXPECT_GT(gangs_, 0u);
  }

 private:
  void SetPolicy() {
    policy_ = static_cast<GangPolicy>(prng_.Below(kCountOf<GangPolicy>));
    Post(ChangeGangPolicy{policy_});
  }

  void Submit() {
    SubmitJob submit{JobId(++jobs_), {}};
    JobPlan& plan = submit.plan;
    plan.task_count = static_cast<uint32_t>(1 + prng_.Below(prng_.Chance(50) ? 3 : 20));
    plan.user = prng_.Chance(50) ? "ann" : "bob";
    plan.priority = static_cast<int32_t>(prng_.Below(2));
    plan.policy.retry.retries = 20;
    plan.policy.retry.once = prng_.Chance(10);
    TaskClass of_tasks(Needs{});
    if (prng_.Chance(60)) of_tasks.needs.time = Duration::Seconds(1 + prng_.Below(60));
    if (prng_.Chance(50)) {
      const auto nodes = static_cast<uint32_t>(prng_.Below(4));
      const auto each = static_cast<uint32_t>(1 + prng_.Below(2));
      of_tasks.gang = {.procs = nodes > 0 ? nodes * each : 1 + each * 2, .nodes = nodes};
      of_tasks.gang.whole = prng_.Chance(20);
      if (prng_.Chance(20)) of_tasks.gang.start = GangShape::Start::kFirst;
      plan.task_count = std::min(plan.task_count, 5u);
      ++gangs_;
    }
    plan.requests = {of_tasks};
    plan.runs = {{0, plan.task_count, 0}};
    Post(std::move(submit));
  }

  // ---- Nodes

  void Join(NodeId id) {
    FakeNode& node = nodes_[id];
    node.up = node.heard = true;
    NodeJoined joined{id,
                      {.node_name = fmt::format("n{}", id.value),
                       .slots = node.slots,
                       .milli_cpus = node.slots * kMilliCpu},
                      {}};
    for (const auto& [task, held] : node.held) {
      joined.holds.push_back({task.first, held.attempt, {{task.second, 1}}});
    }
    Post(std::move(joined));
    for (Event& event : std::exchange(node.unheard, {})) Post(std::move(event));
    for (const auto& [task, held] : node.held) {
      if (held.part) Post(RoomTaken{id, {task.first, task.second, held.attempt}});
    }
  }
  void Break() {
    const NodeId id(static_cast<uint32_t>(1 + prng_.Below(kNodes)));
    FakeNode& node = nodes_[id];
    if (!node.up || !node.heard) return Join(id);
    if (prng_.Chance(50)) {
      node.heard = false;
      Post(NodeSilent{id, now_});
    } else {
      node.up = node.heard = false;
      node.held.clear();
      node.unheard.clear();
      Post(NodeLost{id, prng_.Chance(30)});
    }
  }
  void Say(NodeId id, Event event) {
    FakeNode& node = nodes_[id];
    if (node.heard) {
      Post(std::move(event));
    } else if (node.up) {
      node.unheard.push_back(std::move(event));
    }
  }

  void Take(const SendLease& send) {
    FakeNode& node = nodes_[send.node];
    ASSERT_TRUE(node.heard);
    for (const TaskRange& range : send.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        const TaskKey task{send.job, i};
        ASSERT_FALSE(node.held.contains(task));
        Held& held = node.held[task] = {.attempt = send.attempt, .part = send.part};
        held.needs = send.needs;
      }
    }
    if (!send.part) return;
    Post(GangSent{{send.job, send.tasks.front().first, send.attempt}});
    ++parts_[{send.job, send.tasks.front().first, send.attempt}];
    // Some never answer.
    if (prng_.Chance(90)) {
      Say(send.node, RoomTaken{send.node, {send.job, send.tasks.front().first, send.attempt}});
    }
  }
  void Take(const SendAsk& send) { Post(RoomTaken{send.node, {}}); }
  void Take(const SendGo& send) {
    FakeNode& node = nodes_[send.node];
    auto held = node.held.find({send.ref.job, send.ref.index});
    if (held == node.held.end() || held->second.attempt != send.ref.attempt) return;
    if (std::exchange(held->second.runs, true)) return;
    held->second.over = now_ + Duration::Millis(10 + prng_.Below(5'000));
    const auto& hosts = held->second.part->hosts;
    // All of them had been given their parts.
    EXPECT_EQ(parts_[send.ref], hosts.size());
  }
  void Take(const SendRecall& send) {
    GiveBack(send.node, send.job, [](const Held&, TaskIndex) { return true; }, /*stop=*/false);
  }
  void Take(const SendStop& send) {
    auto meant = [&](const Held&, TaskIndex index) {
      return send.tasks.empty() || std::ranges::any_of(send.tasks, [&](TaskRange range) {
               return index >= range.first && index < range.first + range.count;
             });
    };
    GiveBack(send.node, send.job, meant, /*stop=*/true);
  }
  void Take(const SendFreeze&) {}
  void Take(const SendResize&) {}
  void Take(const SendDrop& send) {
    for (const TaskRange& range : send.tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        auto held = nodes_[send.node].held.find({send.job, i});
        if (held == nodes_[send.node].held.end()) continue;
        if (held->second.attempt == send.attempt) nodes_[send.node].held.erase(held);
      }
    }
  }
  template <typename Meant>
  void GiveBack(NodeId id, JobId job, Meant meant, bool stop) {
    FakeNode& node = nodes_[id];
    for (auto at = node.held.begin(); at != node.held.end();) {
      const auto& [task, held] = *at;
      if (task.first != job || !meant(held, task.second) || (held.runs && !stop)) {
        ++at;
        continue;
      }
      const AttemptRef ref{job, task.second, held.attempt};
      if (held.runs) {
        Say(id, AttemptsEnded{id, {{.ref = ref, .cause = Cause::kStopped, .slot = 1}}});
      } else {
        Say(id, TasksReturned{id, job, held.attempt, {{ref.index, 1}}});
      }
      at = node.held.erase(at);
    }
  }

  // Single tasks start as there is room beside what runs, in no order; ends come by time.
  void StartSingles(FakeNode& node) {
    uint64_t cpus = 0;
    uint32_t slots = 0;
    for (const auto& [task, held] : node.held) {
      if (!held.runs && !held.part) continue;
      cpus += held.needs.milli_cpus;
      ++slots;
    }
    EXPECT_LE(slots, node.slots);
    EXPECT_LE(cpus, node.slots * kMilliCpu);
    for (auto& [task, held] : node.held) {
      if (held.runs || held.part) continue;
      if (slots + 1 > node.slots || cpus + held.needs.milli_cpus > node.slots * kMilliCpu) continue;
      held.runs = true;
      held.over = now_ + Duration::Millis(1 + prng_.Below(2'000));
      cpus += held.needs.milli_cpus;
      ++slots;
    }
  }
  void EndSome(NodeId id, FakeNode& node) {
    AttemptsEnded ends{id, {}};
    for (auto at = node.held.begin(); at != node.held.end();) {
      const auto& [task, held] = *at;
      if (!held.runs || held.over > now_) {
        ++at;
        continue;
      }
      AttemptEnd end{.ref = {task.first, task.second, held.attempt}, .slot = 1};
      end.wall = Duration::Millis(100);
      if (prng_.Chance(5)) {
        end.cause = Cause::kExit;
        end.status = 3;
      }
      ends.ends.push_back(end);
      at = node.held.erase(at);
    }
    if (!ends.ends.empty()) Say(id, std::move(ends));
  }

  // ---- Time

  void Post(Event event) { events_.push_back(std::move(event)); }

  void Advance() {
    Instant next = now_ + Duration::Millis(1 + prng_.Below(500));
    for (const auto& [id, node] : nodes_) {
      for (const auto& [task, held] : node.held) next = std::min(next, std::max(held.over, now_));
    }
    now_ = std::max(now_ + Duration::Millis(1), std::min(next, std::max(wake_at_, now_)));
    for (auto& [id, node] : nodes_) {
      if (!node.up) continue;
      StartSingles(node);
      EndSome(id, node);
    }
    Step();
  }
  void Step() {
    Output out;
    const std::vector<Event> events = std::exchange(events_, {});
    engine_->Step({now_, events}, out);
    Handle(out);
  }
  void Handle(const Output& out) {
    engine_->CheckInvariants();
    for (const Record& record : out.records) {
      Check(record);
      replica_->Apply(record);
      records_.push_back(record);
    }
    ASSERT_EQ(replica_->Digest(), engine_->Digest());
    for (const Notice& notice : out.notices) {
      const auto* refused = std::get_if<NoticeRefused>(&notice);
      if (refused != nullptr) refused_.insert(refused->job);
    }
    wake_at_ = out.wake_at;
    for (const Send& send : out.sends) {
      std::visit([this](const auto& each) { Take(each); }, send);
    }
  }
  void Restart() {
    engine_ = std::make_unique<Engine>();
    for (const Record& record : records_) engine_->Apply(record);
    ASSERT_EQ(replica_->Digest(), engine_->Digest());
    // Node reports that the engine had not heard are lost; people repeat their requests.
    std::erase_if(events_,
                  [](const Event& event) { return !std::holds_alternative<SubmitJob>(event); });
    SetPolicy();
    for (auto& [id, node] : nodes_) node.heard = false;
    Output out;
    engine_->Resume(LastNodes::kMayReturn, now_, out);
    Handle(out);
    for (auto& [id, node] : nodes_) {
      if (node.up) Join(id);
    }
  }

  void Check(const Record& record) {
    if (const auto* gang = std::get_if<GangLeased>(&record)) {
      const TaskClass of_gang = engine_->Requests(gang->job).front();
      uint32_t procs = 0;
      std::set<NodeId> on;
      for (const GangLeased::Part& part : gang->parts) {
        procs += part.procs;
        EXPECT_TRUE(on.insert(part.node).second);
      }
      EXPECT_EQ(procs, of_gang.gang.procs);
      if (of_gang.gang.nodes > 0) EXPECT_EQ(on.size(), of_gang.gang.nodes);
    }
  }
  std::string WhatIsLeft() const {
    std::string text;
    for (uint32_t id = 1; id <= jobs_; ++id) {
      for (const TaskRange& range : engine_->Unended(JobId(id))) {
        text += fmt::format("\n{}.{}: {}", id, range.first + 1,
                            present::TextOf(engine_->Explain(JobId(id), range.first, now_)));
        for (const auto& [node, fake] : nodes_) {
          auto held = fake.held.find({JobId(id), range.first});
          if (held != fake.held.end()) text += fmt::format(" (n{})", node.value);
        }
      }
    }
    return text;
  }
  bool AllFinished() const {
    for (uint32_t id = 1; id <= jobs_; ++id) {
      if (!refused_.contains(JobId(id)) && !engine_->Finished(JobId(id))) return false;
    }
    return true;
  }

  Prng prng_;
  Instant now_{1'700'000'000'000'000'000};
  Instant wake_at_ = Instant::Never();
  std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
  std::unique_ptr<Engine> replica_ = std::make_unique<Engine>();
  GangPolicy policy_ = GangPolicy::kFair;
  std::vector<Record> records_;
  std::vector<Event> events_;
  std::map<NodeId, FakeNode> nodes_;
  std::set<JobId> refused_;             // larger than all nodes that there were
  std::map<AttemptRef, size_t> parts_;  // that were given out
  uint32_t jobs_ = 0;
  uint32_t gangs_ = 0;
};

class GangWorlds : public testing::TestWithParam<uint64_t> {};

TEST_P(GangWorlds, RunWholeOrNotAtAllAndEnd) { GangWorld(GetParam()).Run(); }

INSTANTIATE_TEST_SUITE_P(Seeds, GangWorlds, testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace spate::engine
