#include "core/agent/slowdowns.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace spate::agent {
namespace {

// Fallen by a quarter.
bool Fell(uint64_t from, uint64_t to) { return to <= from / 4 * 3; }

}  // namespace

std::vector<SlowedBeside> Slowdowns::Add(const std::vector<Sample>& window) {
  std::vector<SlowedBeside> found;
  Jobs now;
  for (const Sample& sample : window) now.insert(sample.ref.job);
  Jobs come, gone;
  std::ranges::set_difference(now, jobs_, std::inserter(come, come.end()));
  std::ranges::set_difference(jobs_, now, std::inserter(gone, gone.end()));
  const bool same = come.empty() && gone.empty();
  for (const Sample& sample : window) {
    Attempt& attempt = attempts_[sample.ref];
    attempt.seen = true;
    std::optional<Visit>& visit = attempt.visit;
    if (!same) {
      // The window in which they came or left is neither before nor after.
      const bool one_came = come.size() == 1 && gone.empty() && *come.begin() != sample.ref.job;
      const bool it_left =
          come.empty() && gone.size() == 1 && visit && !visit->left && visit->job == *gone.begin();
      if (it_left && visit->windows >= kFew) {
        visit->left = true;
      } else if (one_came && !visit && attempt.steady.size() >= kFew) {
        visit = {.job = *come.begin(), .before = attempt.steady.front()};
        for (const Rates& rates : attempt.steady) {
          for (size_t i = 0; i < rates.size(); ++i) {
            visit->before[i] = std::min(visit->before[i], rates[i]);
          }
        }
      } else {
        visit.reset();
      }
      attempt.steady.clear();
    } else if (sample.rates) {
      Look(sample.ref, attempt, *sample.rates, found);
    }
  }
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    at = std::exchange(at->second.seen, false) ? std::next(at) : attempts_.erase(at);
  }
  jobs_ = std::move(now);
  return found;
}

void Slowdowns::Look(const AttemptRef& ref, Attempt& attempt, const Rates& rates,
                     std::vector<SlowedBeside>& found) {
  attempt.steady.push_back(rates);
  if (attempt.steady.size() > kBefore) attempt.steady.pop_front();
  if (!attempt.visit) return;
  Visit& visit = *attempt.visit;
  if (!visit.left) {
    for (size_t i = 0; i < rates.size(); ++i) visit.most[i] = std::max(visit.most[i], rates[i]);
    ++visit.windows;
    return;
  }
  for (size_t i = 0; i < rates.size(); ++i) {
    visit.after[i] = visit.windows_after == 0 ? rates[i] : std::min(visit.after[i], rates[i]);
  }
  if (++visit.windows_after < kFew) return;
  for (size_t i = 0; i < rates.size(); ++i) {
    const uint64_t alone = std::min(visit.before[i], visit.after[i]);
    if (alone < kLeastRate || !Fell(alone, visit.most[i])) continue;
    found.push_back({ref, visit.job, static_cast<TrafficKind>(i), alone, visit.most[i]});
    break;  // one is reason enough
  }
  attempt.visit.reset();
}

}  // namespace spate::agent
