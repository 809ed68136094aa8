#include "history/log_facts.h"

#include <algorithm>
#include <utility>

namespace spate::history {

const LogFacts::Cancelled* LogFacts::WhyCancelled(TaskIndex index) const {
  auto names = [&](const Cancelled& one) {
    return one.tasks.empty() ||
           std::any_of(one.tasks.begin(), one.tasks.end(), [&](TaskRange range) {
             return index >= range.first && index - range.first < range.count;
           });
  };
  auto found = std::find_if(cancelled.rbegin(), cancelled.rend(), names);
  return found == cancelled.rend() ? nullptr : &*found;
}

const TaskClass* LogFacts::ClassOf(TaskIndex index) const {
  if (!replay || index >= replay->job().task_count()) return nullptr;
  return &replay->job().requests()[replay->job().RequestOf(index)];
}

const Needs* LogFacts::NeedsOf(TaskIndex index) const {
  const TaskClass* of_task = ClassOf(index);
  return of_task == nullptr ? nullptr : &of_task->needs;
}

Result<LogFacts> ReadLog(store::JobJournal& history) {
  auto replay = TRY(history.Replayed());
  const engine::JobState& job = replay->job();
  const engine::JobWords& words = replay->words();
  LogFacts facts{.policy = job.policy(), .held = job.held(), .held_at = words.held_at};
  for (const auto& [node, trouble] : job.troubles()) {
    auto why = words.why_aside.find(node);
    if (trouble.set_aside && why != words.why_aside.end()) facts.set_aside.insert(*why);
  }
  for (const auto& [tasks, reason, parent] : words.cancelled) {
    facts.cancelled.push_back({tasks, reason.empty() ? "a user cancelled it" : reason, parent});
  }
  facts.replay = std::move(replay);
  return facts;
}

}  // namespace spate::history
