#include "hub/pace.h"

#include <algorithm>

namespace spate::hub {

std::optional<Instant> Pace::Enter(const std::string& user, Duration cost, Instant now) {
  if (until_.size() >= forget_at_) Forget(now);
  Instant& until = until_[user];
  until = std::max(until, now);
  // Time saved in a pause is spent first.
  const Instant start = std::max(now, until - limits_.at_once * limits_.part);
  if (start > now + limits_.longest) return std::nullopt;
  until = until + cost * limits_.part;
  return start;
}

void Pace::Correct(const std::string& user, Duration cost, Duration took) {
  if (auto at = until_.find(user); at != until_.end()) {
    at->second = at->second + (took - cost) * limits_.part;
  }
}

void Pace::Forget(Instant now) {
  std::erase_if(until_, [now](const auto& each) { return each.second <= now; });
  forget_at_ = std::max<size_t>(64, 2 * until_.size());
}

}  // namespace spate::hub
