// A task is executed again only for a reason that the user was told of: its try failed in a way
// that its policy retries, within the retries, after the delay; or it was in flight when its
// process or its node was killed, or when it was stopped by order; or its person wished failures
// to be tried elsewhere.
// Under --once the second kind is no reason. (An attempt that was taken back before it began counts
// for nothing.) The policy is the one that the person wrote, wherever it got lost on the way. And
// nothing is given up while a retry is left.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/model/retry.h"
#include "sim/check.h"

namespace spate::sim {
namespace {

class RepeatsCheck final : public Checker {
 public:
  const char* name() const override { return "repeats"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      if (!executed->orphan) Begin(scene, *executed, findings);
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended == nullptr || ended->verdict == engine::Verdict::kPart) return;
      CheckGivenUp(scene, *ended, findings);
      auto it = last_.find({ended->end.ref.job, ended->end.ref.index});
      if (it != last_.end() && it->second.ref == ended->end.ref) it->second.closed = *ended;
    } else if (const auto* cut = std::get_if<NodeCut>(&fact)) {
      ++incarnations_[cut->node];
    } else if (std::holds_alternative<LifeEnded>(fact)) {
      ++life_;
    } else if (const auto* began = std::get_if<LifeBegan>(&fact)) {
      clock_ahead_ = began->clock_ahead;
    } else if (const auto* moved = std::get_if<ClockMoved>(&fact)) {
      clock_ahead_ = moved->steady;
    }
  }

 private:
  struct Execution {
    AttemptRef ref;
    uint32_t life = 0;
    std::map<NodeId, uint32_t> incarnations;  // of the nodes that it, or its parts, ran on
    std::optional<engine::AttemptEnded> closed;
  };

  // A task that failed for good has had all tries that its user allowed, or a stated reason.
  void CheckGivenUp(const Scene& scene, const engine::AttemptEnded& ended, Findings& findings) {
    const AttemptEnd& end = ended.end;
    const BookedTask* task = scene.book.Find(end.ref);
    const bool given_up = ended.verdict == engine::Verdict::kFailed && ended.counts;
    if (!given_up || task == nullptr || !end.note.empty()) return;
    const RetryPolicy& retry = scene.workload.job(end.ref.job).policy.retry;
    const uint32_t retries =
        scene.workload.ClassOf(end.ref.job, end.ref.index).retries.value_or(retry.retries);
    if (task->tries > retries || !IsRetried(retry, end.cause, end.status)) return;
    findings.Add(name(), fmt::format("{} was the last try of {}, and {} retries are allowed",
                                     NameOf(end.ref), task->tries, retries));
  }

  void Begin(const Scene& scene, const Executed& executed, Findings& findings) {
    const AttemptRef& ref = executed.order->ref;
    BookedTask* task = scene.book.Find(ref);
    if (task == nullptr) return;
    Execution& last = last_[{ref.job, ref.index}];
    if (last.ref == ref && executed.order->part != nullptr) {  // another part of it
      last.incarnations[executed.node] = incarnations_[executed.node];
      return;
    }
    if (task->executions++ > 0) {
      std::string why = WhyNot(scene, last, *task, scene.workload.job(ref.job).policy.retry);
      if (!why.empty()) {
        findings.Add(name(), fmt::format("{} repeats {}, {}", NameOf(ref), NameOf(last.ref), why));
      }
    }
    last = {ref, life_, {{executed.node, incarnations_[executed.node]}}, std::nullopt};
  }

  // Why the task may not run again, having run as `last`; empty when it may.
  std::string WhyNot(const Scene& scene, const Execution& last, const BookedTask& task,
                     const RetryPolicy& retry) {
    if (!last.closed) return "whose end is not durable";
    const engine::AttemptEnded& end = *last.closed;
    if (end.verdict != engine::Verdict::kRetry) return "which was the last";
    if (end.counts) {
      if (task.tries > retry.retries) return "and no retry was left";
      if (!IsRetried(retry, end.end.cause, end.end.status)) return "whose cause is not retried";
      bool same_clock = last.life == life_;
      Instant now = scene.now + clock_ahead_;
      if (same_clock && now < end.ended + retry.delay) return "before the delay was over";
      return "";
    }
    if (end.end.cause == Cause::kStart) return "";  // it did not run: another node may have it
    if (IsOfProgram(end.end.cause)) {
      uint32_t& elsewhere = elsewhere_[{end.end.ref.job, end.end.ref.index, task.reopened}];
      return ++elsewhere > retry.elsewhere ? "though it has failed, at no try" : "";
    }
    if (retry.once) return "which was lost, under --once";
    if (scene.hub != nullptr) return "";  // see check_losses
    bool decided_by_engine = end.end.slot == 0;
    const bool cut = std::ranges::any_of(last.incarnations, [this](const auto& each) {
      return incarnations_[each.first] != each.second;
    });
    const bool killed = last.life != life_ || cut;
    if (decided_by_engine && !killed) return "which was not in flight at a kill";
    return "";
  }

  std::map<std::pair<JobId, TaskIndex>, Execution> last_;
  // Failures at no try, since a task was reopened.
  std::map<std::tuple<JobId, TaskIndex, uint32_t>, uint32_t> elsewhere_;
  std::map<NodeId, uint32_t> incarnations_;
  uint32_t life_ = 0;
  Duration clock_ahead_;
};

}  // namespace

std::unique_ptr<Checker> MakeRepeatsCheck() { return std::make_unique<RepeatsCheck>(); }

}  // namespace spate::sim
