#include "doors/simulate/backfill/free_profile.h"

#include <algorithm>
#include <bit>

namespace spate::engine::place {
namespace {

constexpr size_t kStepsOfBlock = 64;  // steps

}  // namespace

FreeProfile::FreeProfile(uint32_t processors) : blocks_(1) {
  blocks_.front().steps.push_back({0, processors});
  blocks_.front().CountAnew();
}

void FreeProfile::Block::CountAnew() {
  least = most = steps.front().free;
  for (const Step& step : steps) {
    least = std::min(least, step.free);
    most = std::max(most, step.free);
  }
}

// The first step is the last one that begins at `now` or before it.
void FreeProfile::Advance(Moment now) {
  const StepAt at = PlaceOf(now);
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(at.block));
  if (at.step == 0) return;
  auto& steps = blocks_.front().steps;
  steps.erase(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(at.step));
  blocks_.front().CountAnew();
}

// The last one that begins at `when` or before it; the first one begins before all.
FreeProfile::StepAt FreeProfile::PlaceOf(Moment when) const {
  auto block =
      std::upper_bound(blocks_.begin() + 1, blocks_.end(), when,
                       [](Moment at, const Block& other) { return at < other.steps.front().from; });
  const auto& steps = (block - 1)->steps;
  auto step = std::upper_bound(steps.begin() + 1, steps.end(), when,
                               [](Moment at, const Step& other) { return at < other.from; });
  return {static_cast<size_t>(block - blocks_.begin()) - 1,
          static_cast<size_t>(step - steps.begin()) - 1};
}

void FreeProfile::Split(Moment when) {
  const StepAt at = PlaceOf(when);
  auto& steps = blocks_[at.block].steps;
  const Step step = steps[at.step];
  if (step.from == when) return;
  steps.insert(steps.begin() + static_cast<ptrdiff_t>(at.step) + 1, {when, step.free});
  if (steps.size() <= kStepsOfBlock) return;
  Block upper{.steps = std::vector<Step>(steps.begin() + kStepsOfBlock / 2, steps.end()),
              .more = blocks_[at.block].more};
  steps.resize(kStepsOfBlock / 2);
  blocks_[at.block].CountAnew();
  upper.CountAnew();
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(at.block) + 1, std::move(upper));
}

void FreeProfile::Join(Moment when) {
  const StepAt at = PlaceOf(when);
  Block& block = blocks_[at.block];
  if (at.step == 0 && at.block == 0) return;
  const Block& before = at.step > 0 ? block : blocks_[at.block - 1];
  const Step& last = at.step > 0 ? block.steps[at.step - 1] : before.steps.back();
  if (last.free + before.more != block.steps[at.step].free + block.more) return;
  block.steps.erase(block.steps.begin() + static_cast<ptrdiff_t>(at.step));
  if (block.steps.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at.block));
  } else if (at.step == 0) {
    block.CountAnew();
  }
}

void FreeProfile::Add(Moment from, Moment to, int64_t processors) {
  if (from >= to || processors == 0) return;
  Split(to);
  Split(from);
  StepAt at = PlaceOf(from);
  for (; at.block < blocks_.size() && BeginOf(at.block) < to; ++at.block, at.step = 0) {
    Block& block = blocks_[at.block];
    if (at.step == 0 && block.steps.back().from < to) {
      block.more += processors;
      continue;
    }
    for (; at.step < block.steps.size() && block.steps[at.step].from < to; ++at.step) {
      block.steps[at.step].free += processors;
    }
    block.CountAnew();
  }
  Join(to);
  Join(from);
}

int64_t FreeProfile::FreeAt(Moment when) const {
  const StepAt at = PlaceOf(when);
  return blocks_[at.block].steps[at.step].free + blocks_[at.block].more;
}

FreeProfile::StepAt FreeProfile::NextWithRoom(StepAt at, int64_t processors) const {
  for (; at.block < blocks_.size(); ++at.block, at.step = 0) {
    const Block& block = blocks_[at.block];
    const int64_t need = processors - block.more;
    if (block.most < need) continue;
    for (; at.step < block.steps.size(); ++at.step) {
      if (block.steps[at.step].free >= need) return at;
    }
  }
  return at;
}

// Looks at steps that begin before that moment.
FreeProfile::StepAt FreeProfile::NextWithout(StepAt at, int64_t processors, Moment before) const {
  for (; at.block < blocks_.size(); ++at.block, at.step = 0) {
    const Block& block = blocks_[at.block];
    const int64_t need = processors - block.more;
    if (block.steps.front().from >= before) break;
    if (block.least >= need) continue;
    for (; at.step < block.steps.size(); ++at.step) {
      if (block.steps[at.step].from >= before) return {blocks_.size(), 0};
      if (block.steps[at.step].free < need) return at;
    }
  }
  return {blocks_.size(), 0};
}

Moment FreeProfile::EarliestFit(int64_t processors, Moment length, Moment from,
                                const Own& own) const {
  Moment start = from;
  StepAt at = PlaceOf(from);
  while (start < std::min(own.at, own.behind)) {
    at = NextWithout(at, processors, std::min(start + length, own.at));
    if (at.block == blocks_.size()) return start;
    // The last step has room: there is one.
    at = NextWithRoom(at, processors);
    start = blocks_[at.block].steps[at.step].from;
  }
  return own.at == INT64_MAX ? start : own.at;
}

size_t FreeProfile::Rooms::KindOf(int64_t processors) {
  const auto count = static_cast<uint64_t>(processors);
  if (count < 8) return count;
  const auto octave = static_cast<size_t>(std::bit_width(count)) - 3;
  return 4 * octave + (count >> octave);
}

void FreeProfile::Rooms::Add(int64_t processors, Moment length) {
  Moment& longest = longest_[KindOf(processors)];
  longest = std::max(longest, length);
}

void FreeProfile::Rooms::Finish() {
  for (size_t kind = longest_.size() - 1; kind > 0; --kind) {
    longest_[kind - 1] = std::max(longest_[kind - 1], longest_[kind]);
  }
}

// A room ends where less is free. `open` are those that have not ended, each of more processors
// than the one before it.
void FreeProfile::RoomsIn(Moment from, Moment before, Rooms& rooms) const {
  rooms.Clear();
  std::vector<Step> open;
  auto close = [&](int64_t free, Moment at) {
    Moment since = at;
    for (; !open.empty() && open.back().free > free; open.pop_back()) {
      since = open.back().from;
      rooms.Add(open.back().free, at == INT64_MAX ? at : at - since);
    }
    return since;
  };
  StepAt at = PlaceOf(from);
  for (; at.block < blocks_.size(); ++at.block, at.step = 0) {
    const Block& block = blocks_[at.block];
    for (; at.step < block.steps.size(); ++at.step) {
      const Step& step = block.steps[at.step];
      const int64_t free = step.free + block.more;
      const Moment begin = std::max(step.from, from);
      const Moment since = close(std::max<int64_t>(free, 0), begin);
      if (open.empty() && since >= before) return rooms.Finish();
      const bool grows = open.empty() || open.back().free < free;
      if (free > 0 && since < before && grows) open.push_back({since, free});
    }
  }
  close(0, INT64_MAX);
  rooms.Finish();
}

size_t FreeProfile::steps() const {
  size_t count = 0;
  for (const Block& block : blocks_) count += block.steps.size();
  return count;
}

}  // namespace spate::engine::place
