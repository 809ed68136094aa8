// For tests: a ledger over a real engine, and slaves that do what a test tells them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/ledger/ledger.h"

namespace spate::mw {

class World {
 public:
  explicit World(uint32_t packet = 1) : ledger_(packet) {}

  engine::HoldReason HeldOf(JobId job) const { return engine_.Held(job); }
  Ledger& ledger() { return ledger_; }
  std::vector<result> results;
  std::vector<task> unrunnable;
  std::vector<slave_info> arrived, lost;

  uint64_t Submit(policy how = {}, std::string arguments = "") {
    return SubmitAll(1, how, arguments);
  }
  // The last one's number.
  uint64_t SubmitAll(size_t count, policy how = {}, const std::string& arguments = "") {
    std::vector<task> tasks;
    for (size_t i = 0; i < count; ++i) {
      tasks.push_back({.id = {++last_task_}, .algorithm = "a", .how = how, .arguments = arguments});
    }
    ledger_.Submit(std::move(tasks));
    Step();
    return last_task_;
  }
  group Arrive(uint64_t slave, Offer offer = {.slots = 1}) {
    const group joined = ledger_.Arrived({slave});
    offer = ledger_.Offers({slave}, std::move(offer));
    slots_[slave] = offer.slots;
    events_.emplace_back(engine::NodeJoined{Node(slave), std::move(offer), {}});
    Step();
    return joined;
  }
  void Lose(uint64_t slave) {
    leases_.erase(slave);
    events_.emplace_back(engine::NodeLost{Node(slave)});
    ledger_.Disconnected({slave});
    Step();
  }
  // The numbers of those that were cancelled.
  std::vector<uint64_t> Cancel(const std::vector<task_id>& tasks) {
    std::vector<uint64_t> ids;
    for (const task& each : ledger_.Cancel(tasks)) ids.push_back(each.id.value);
    Step();
    return ids;
  }
  // From now on it returns nothing that it is asked for.
  void Stop(uint64_t slave) { stopped_.insert(slave); }
  void Free(uint64_t slave) {
    EXPECT_TRUE(ledger_.Free({slave}));
    Step();
  }
  void Hold(bool held) {
    ledger_.Hold(held);
    Step();
  }
  void Pass(Duration time) {
    now_ = now_ + time;
    Step();
  }
  // Packets that a slave computes: those that came first, as many as fit into its slots.
  size_t Computing(uint64_t slave) {
    size_t count = 0;
    uint64_t slots = slots_[slave];
    for (const AttemptRef& ref : leases_[slave]) {
      const uint64_t takes = SlotsOf(ref);
      if (takes > slots) break;
      slots -= takes;
      ++count;
    }
    return count;
  }
  // The tasks of a packet that a slave computes, the first or a later one; it has begun it.
  std::vector<uint64_t> Begin(uint64_t slave, size_t nth = 0) {
    if (nth >= Computing(slave)) return {};
    const AttemptRef ref = leases_[slave][nth];
    ledger_.Begun(ref, now_);
    const std::string row = ledger_.Row(ref.job, ref.index);
    auto calls = ReadCalls(row);
    if (calls && !calls->empty() && calls->front().counts_losses) {
      EXPECT_TRUE(MayBegin(slave, nth));
    }
    return ledger_.TasksOf(ref.job, ref.index);
  }
  // The slave asks whether it may begin a packet, in whatever order.
  bool MayBegin(uint64_t slave, size_t nth = 0) {
    return ledger_.Begins(leases_.at(slave).at(nth));
  }
  // The slave has computed its first packet, or a later one. Its tasks; empty: it has none.
  std::vector<uint64_t> Compute(uint64_t slave, CallEnd end = CallEnd::kDone,
                                Duration time = Duration::Millis(1), size_t nth = 0) {
    std::vector<uint64_t> tasks = Begin(slave, nth);
    if (nth >= Computing(slave)) return {};
    const AttemptRef ref = leases_[slave][nth];
    leases_[slave].erase(leases_[slave].begin() + static_cast<std::ptrdiff_t>(nth));
    auto calls = ReadCalls(ledger_.Row(ref.job, ref.index));
    EXPECT_TRUE(calls);
    std::string answers;
    for (const Call& call : *calls) AddAnswer(answers, {call.task, end, time, "value"});
    outputs_[ref] = answers;
    now_ = now_ + time;
    events_.emplace_back(engine::AttemptsEnded{Node(slave), {{.ref = ref, .wall = time}}});
    Step();
    return tasks;
  }
  // The slave has this one answer to its first packet.
  void AnswerFor(uint64_t slave, const Answer& answer) {
    Begin(slave);
    const AttemptRef ref = leases_[slave].front();
    leases_[slave].erase(leases_[slave].begin());
    AddAnswer(outputs_[ref], answer);
    events_.emplace_back(engine::AttemptsEnded{Node(slave), {{.ref = ref, .wall = answer.time}}});
    Step();
  }
  std::vector<uint64_t> ComputeAll(uint64_t slave) {
    std::vector<uint64_t> all;
    for (auto tasks = Compute(slave); !tasks.empty(); tasks = Compute(slave)) {
      all.insert(all.end(), tasks.begin(), tasks.end());
    }
    return all;
  }
  void Speculate() {
    ledger_.Speculate(now_);
    Step();
  }
  size_t Leased(uint64_t slave) { return leases_[slave].size(); }

 private:
  static NodeId Node(uint64_t slave) { return NodeId(static_cast<uint32_t>(slave)); }

  void DrainEffects() {
    Ledger::Effects effects = ledger_.DrainEffects();
    std::ranges::move(effects.events, std::back_inserter(events_));
    std::ranges::move(effects.results, std::back_inserter(results));
    std::ranges::move(effects.unrunnable, std::back_inserter(unrunnable));
    std::ranges::move(effects.arrived, std::back_inserter(arrived));
    std::ranges::move(effects.lost, std::back_inserter(lost));
    for (JobId job : effects.over) EXPECT_TRUE(engine_.Unload(job));
  }
  void Step() {
    DrainEffects();
    for (int round = 0; round < 100; ++round) {
      engine::Output out;
      std::vector<engine::Event> events = std::exchange(events_, {});
      engine_.Step({now_, events}, out);
      if (ledger_.size() < 1000) engine_.CheckInvariants();
      for (const engine::Record& record : out.records) ledger_.Recorded(record);
      for (const engine::Send& send : out.sends) Obey(send);
      for (const engine::Notice& notice : out.notices) Hear(notice);
      DrainEffects();
      if (events_.empty()) return;
    }
    FAIL() << "it does not come to rest";
  }
  void Obey(const engine::Send& send) {
    if (const auto* lease = std::get_if<engine::SendLease>(&send)) {
      const uint64_t slave = lease->node.value;
      ledger_.Given({slave}, lease->job, lease->tasks, now_);
      for (TaskRange range : lease->tasks) {
        for (uint32_t k = 0; k < range.count; ++k) {
          leases_[slave].push_back({lease->job, range.first + k, lease->attempt});
        }
      }
    } else if (const auto* stop = std::get_if<engine::SendStop>(&send)) {
      GiveBack(stop->node, stop->job, stop->tasks);
    } else if (const auto* recall = std::get_if<engine::SendRecall>(&send)) {
      GiveBack(recall->node, recall->job, {});
    }
  }
  uint64_t SlotsOf(const AttemptRef& ref) const {
    for (uint64_t id : ledger_.TasksOf(ref.job, ref.index)) {
      if (const task* what = ledger_.Find(id)) return what->how.needs.slots;
    }
    return 1;
  }
  // Returns what the slave does not compute. `only`: of these; empty: of all.
  void GiveBack(NodeId node, JobId job, const std::vector<TaskRange>& only) {
    if (stopped_.contains(node.value)) return;
    std::vector<AttemptRef>& held = leases_[node.value];
    std::map<Attempt, std::vector<TaskRange>> returned;
    for (size_t i = Computing(node.value); i < held.size();) {
      auto has = [&](TaskRange range) { return held[i].index - range.first < range.count; };
      if (held[i].job != job || (!only.empty() && std::ranges::none_of(only, has))) {
        ++i;
        continue;
      }
      returned[held[i].attempt].push_back({held[i].index, 1});
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const auto& [attempt, tasks] : returned) {
      events_.emplace_back(engine::TasksReturned{node, job, attempt, tasks});
    }
  }
  void Hear(const engine::Notice& notice) {
    if (const auto* ended = std::get_if<engine::NoticeEnded>(&notice)) {
      ledger_.Ended(*ended, outputs_[ended->end.ref]);
    } else if (const auto* finished = std::get_if<engine::NoticeFinished>(&notice)) {
      ledger_.Finished(finished->job);
    }
  }

  Ledger ledger_;
  engine::Engine engine_;
  std::vector<engine::Event> events_;
  std::map<uint64_t, std::vector<AttemptRef>> leases_;  // by slave
  std::map<uint64_t, uint64_t> slots_;
  std::set<uint64_t> stopped_;
  std::map<AttemptRef, std::string> outputs_;
  Instant now_{1'000'000'000};
  uint64_t last_task_ = 0;
};

}  // namespace spate::mw
