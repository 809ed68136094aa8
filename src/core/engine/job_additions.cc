// The keys of a job's newest additions, by which a second try of one is recognized.
#include "core/engine/job_state.h"
#include "core/model/limits.h"

namespace spate::engine {

std::optional<TaskIndex> JobState::AdditionOf(const std::string& key) const {
  auto at = additions_->first.find(key);
  return at == additions_->first.end() ? std::nullopt : std::optional(at->second);
}

void JobState::Remember(const std::string& key) {
  if (key.empty()) return;
  Additions& additions = additions_.Edit();
  additions.first[key] = task_count();
  additions.keys.push_back(key);
  if (additions.keys.size() <= kLimits.additions) return;
  additions.first.erase(additions.keys.front());
  additions.keys.pop_front();
}

}  // namespace spate::engine
