// Times and durations that a hub shows are true, whatever clocks do: when its life, its nodes'
// connections and the tasks that run began, by its present wall clock; for how long tasks run and
// wait, and until a deadline; and by how much its clock was set. Around a suspend, the starts of
// tasks are not judged (ClockBlind); nor are those of gangs, whose parts wait for each other.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "sim/check.h"
#include "sim/clock_blind.h"
#include "wire/field_bytes.h"

namespace spate::sim {
namespace {

// Clocks that differ by less count as equal.
constexpr Duration kEqual = Duration::Seconds(1);
// A task that is held ahead is shown as running until its node's next report.
constexpr Duration kAhead = Duration::Seconds(4);

class DisplaysCheck final : public Checker {
 public:
  const char* name() const override { return "displays"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    scene_ = &scene;
    findings_ = &findings;
    if (world_began_ == Instant()) world_began_ = scene.now;
    blind_.See(scene, fact);
    if (const auto* began = std::get_if<LifeBegan>(&fact)) {
      ahead_ = began->clock_ahead;
      life_began_ = scene.now;
      set_by_.reset();
      asked_.clear();
    } else if (const auto* moved = std::get_if<ClockMoved>(&fact)) {
      const Duration by = moved->wall - ahead_;
      if (std::abs(by.ns) >= kEqual.ns) set_by_ = by;
      ahead_ = moved->wall;
      asked_.clear();  // it may have been set before they were answered, or after
    } else if (const auto* up = std::get_if<NodeUp>(&fact)) {
      nodes_[up->offer->node_name] = up->node;
    } else if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (executed->order->part != nullptr) return;
      began_[KeyOf(executed->order->ref, executed->node)] = scene.now;
    } else if (const auto* over = std::get_if<Over>(&fact)) {
      began_.erase(KeyOf(over->ref, over->node));
    } else if (const auto* asked = std::get_if<Asked>(&fact)) {
      asked_[asked->id] = asked->question->number();
    } else if (const auto* answered = std::get_if<Answered>(&fact)) {
      auto at = asked_.find(answered->id);
      if (at == asked_.end() || answered->answers == nullptr) return;
      const uint32_t number = at->second;
      asked_.erase(at);
      JudgeAll<wire::LookAtHub, wire::LookAtAll, wire::ListNodes, wire::LookAtWork,
               wire::ExplainTasks>(number, *answered->answers);
    }
  }

 private:
  using Key = std::tuple<JobId, TaskIndex, NodeId>;
  static Key KeyOf(const AttemptRef& ref, NodeId node) { return {ref.job, ref.index, node}; }

  template <typename... Questions>
  void JudgeAll(uint32_t number, const std::vector<std::string>& answers) {
    auto judge = [&]<typename Q>(const Q&) {
      if (Q::kNumber != number) return;
      for (const std::string& bytes : answers) {
        auto facts = wire::FromBytes<typename Q::Answer>("answer", bytes);
        if (facts) Judge(*facts);  // check_answers says what is wrong with others
      }
    };
    (judge(Questions()), ...);
  }

  void Judge(const HubFacts& hub) {
    Compare("the hub's life", hub.since, life_began_, kEqual, kEqual);
    if (set_by_ && (!hub.clock || hub.clock->to - hub.clock->from != *set_by_)) {
      findings_->Add(name(), "the hub's clock was set, and it shows something else");
    }
    // Times that the journal has were read from clocks that were wrong otherwise.
    const bool comparable = !scene_->hub->node_clocks;
    const Duration most = scene_->now - world_began_ + kEqual;
    for (Duration each : {hub.oldest_queued, hub.stuck}) {
      if (each.ns >= 0 && (each <= most || !comparable)) continue;
      findings_->Add(name(), fmt::format("something has waited for {} of {}", FormatDuration(each),
                                         FormatDuration(most)));
    }
  }
  void Judge(const TopFacts& all) {
    Judge(all.hub);
    for (const NodeFacts& node : all.nodes) Judge(node);
  }
  void Judge(const NodeFacts& node) {
    if (node.since > scene_->now + ahead_ + kEqual) {
      findings_->Add(name(), "node " + node.name + " is to come or go later");
    }
    for (const RunFacts& run : node.runs) JudgeRun(run.job, run.task, node.name, run.since);
  }
  void Judge(const JobWork& work) {
    for (const TaskRun& run : work.runs) JudgeRun(work.job, run.index + 1, run.node, run.since);
  }
  void Judge(const TaskWhy& why) {
    for (const RunningFacts& run : why.running) JudgeRun(why.job, run.task, run.node, run.since);
    const BookedJob* job = scene_->book.FindJob(why.job);
    for (const Reason& reason : why.why) {
      if (reason.times.empty()) continue;
      const Instant wall = scene_->now + ahead_;
      if (reason.kind == ReasonKind::kRunning && !reason.names.empty()) {
        JudgeRun(why.job, why.task, reason.names.front(), wall - reason.times.front());
      }
      const bool passed = reason.kind == ReasonKind::kDeadlinePassed;
      if (!passed && reason.kind != ReasonKind::kDeadlineTooSoon) continue;
      const auto deadline = job == nullptr ? std::nullopt : job->ClassOf(why.task - 1).deadline;
      if (!deadline) continue;
      const Duration left = reason.times.front() * (passed ? -1 : 1);
      Compare("a deadline", wall + left, *deadline - ahead_, kEqual, kEqual);
    }
  }

  void JudgeRun(JobId job, uint32_t task, const std::string& node, Instant shown) {
    auto id = nodes_.find(node);
    if (id == nodes_.end() || scene_->hub->liars) return;
    auto began = began_.find({job, task - 1, id->second});
    if (began == began_.end() || blind_.Is(*scene_, began->second)) return;
    const Duration late = kEqual + scene_->slack + scene_->hub->link_latency * 4;
    Compare(fmt::format("task {}.{} on {}", job.value, task, node), shown, began->second,
            late + kAhead, late);
  }

  // `shown` is by the hub's wall clock, and may be so much too early or too late.
  void Compare(const std::string& what, Instant shown, Instant truth, Duration early,
               Duration late) {
    const Duration off = shown - (truth + ahead_);
    if (off >= Duration() - early && off <= late) return;
    findings_->Add(
        name(), fmt::format("{}: the time shown is {} {}", what, FormatDuration({std::abs(off.ns)}),
                            off.ns > 0 ? "too late" : "too early"));
  }

  const Scene* scene_ = nullptr;
  Findings* findings_ = nullptr;
  ClockBlind blind_;
  Duration ahead_;  // the hub's wall clock, of the world's
  Instant world_began_, life_began_;
  std::optional<Duration> set_by_;  // the last time in this life
  std::map<std::string, NodeId> nodes_;
  std::map<Key, Instant> began_;        // that runs there
  std::map<uint64_t, uint32_t> asked_;  // numbers of the questions that are open
};

}  // namespace

std::unique_ptr<Checker> MakeDisplaysCheck() { return std::make_unique<DisplaysCheck>(); }

}  // namespace spate::sim
