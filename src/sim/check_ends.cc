// A task whose end was told, or is durable, never runs again, and its end is told once across all
// restarts; a life that ends by itself has told all that it decided. (An end that became durable
// when its process was killed is told by the journal.) Only reopening makes a task new.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/check.h"

namespace spate::sim {
namespace {

class EndsCheck final : public Checker {
 public:
  const char* name() const override { return "ends"; }

  void Observe(const Scene& scene, const Fact& fact, Findings& findings) override {
    if (const auto* executed = std::get_if<Executed>(&fact)) {
      const BookedTask* task = scene.book.Find(executed->order->ref);
      if (executed->orphan || task == nullptr || !IsFinal(task->state)) return;
      findings.Add(name(),
                   "attempt " + NameOf(executed->order->ref) + " runs after the task's end");
    } else if (const auto* committed = std::get_if<Committed>(&fact)) {
      const auto* ended = std::get_if<engine::AttemptEnded>(committed->record);
      if (ended != nullptr) untold_.insert(ended->end.ref);
      if (ended != nullptr) ++durable_[ended->end.ref];
    } else if (const auto* told = std::get_if<Told>(&fact)) {
      SeeTold(scene, *told->notice, findings);
    } else if (const auto* ended = std::get_if<LifeEnded>(&fact)) {
      if (ended->clean && !untold_.empty()) {
        findings.Add(name(), fmt::format("{} ends were never told, the first is {}", untold_.size(),
                                         NameOf(*untold_.begin())));
      }
      untold_.clear();
    }
  }

 private:
  void SeeTold(const Scene& scene, const engine::NoticeEnded& notice, Findings& findings) {
    const AttemptRef& ref = notice.end.ref;
    if (auto at = untold_.find(ref); at != untold_.end()) untold_.erase(at);
    // Each part of a gang has its own end.
    if (++told_[ref] > std::max(durable_[ref], 1)) {
      findings.Add(name(), "the end of " + NameOf(ref) + " is told twice");
    }
    if (!EndsTask(notice.verdict)) return;
    const BookedTask* task = scene.book.Find(ref);
    uint32_t reopened = task == nullptr ? 0 : task->reopened;
    auto [it, fresh] = final_.emplace(std::pair(ref.job, ref.index), reopened);
    if (!fresh && it->second >= reopened) {
      findings.Add(name(), "a second final end is told, " + NameOf(ref));
    }
    it->second = reopened;
  }

  std::multiset<AttemptRef> untold_;  // durable in this life
  std::map<AttemptRef, int> durable_;
  std::map<AttemptRef, int> told_;
  std::map<std::pair<JobId, TaskIndex>, uint32_t> final_;
};

}  // namespace

std::unique_ptr<Checker> MakeEndsCheck() { return std::make_unique<EndsCheck>(); }

}  // namespace spate::sim
