#include "core/engine/place/free_profile.h"

#include <algorithm>

namespace spate::engine::place {

void FreeProfile::Advance(Moment now) {
  while (first_ + 1 < steps_.size() && steps_[first_ + 1].from <= now) ++first_;
  if (first_ < 64 || first_ < steps_.size() / 2) return;
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<ptrdiff_t>(first_));
  first_ = 0;
}

// The last one that begins at `when` or before it.
size_t FreeProfile::StepOf(Moment when) const {
  auto begin = steps_.begin() + static_cast<ptrdiff_t>(first_);
  auto behind = std::upper_bound(begin + 1, steps_.end(), when,
                                 [](Moment at, const Step& step) { return at < step.from; });
  return static_cast<size_t>(behind - steps_.begin()) - 1;
}

size_t FreeProfile::Split(Moment when) {
  size_t step = StepOf(when);
  if (steps_[step].from == when) return step;
  steps_.insert(steps_.begin() + static_cast<ptrdiff_t>(step) + 1, {when, steps_[step].free});
  return step + 1;
}

void FreeProfile::Join(size_t step) {
  if (step <= first_ || step >= steps_.size()) return;
  if (steps_[step].free != steps_[step - 1].free) return;
  steps_.erase(steps_.begin() + static_cast<ptrdiff_t>(step));
}

void FreeProfile::Add(Moment from, Moment to, int64_t processors) {
  if (from >= to) return;
  const size_t begin = Split(from);
  const size_t end = Split(to);
  for (size_t step = begin; step < end; ++step) steps_[step].free += processors;
  Join(end);
  Join(begin);
}

int64_t FreeProfile::FreeAt(Moment when) const { return steps_[StepOf(when)].free; }

Moment FreeProfile::EarliestFit(int64_t processors, Moment length, Moment from, Moment own) const {
  Moment start = from;
  for (size_t step = StepOf(from); step < steps_.size(); ++step) {
    if (steps_[step].from >= std::min(start + length, own)) break;
    if (steps_[step].free >= processors) continue;
    // The last step has room: what follows this one exists.
    start = steps_[step + 1].from;
  }
  return std::min(start, own);
}

}  // namespace spate::engine::place
