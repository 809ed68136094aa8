#include "doors/simulate/backfill/waiting_line.h"

#include <algorithm>

namespace spate::engine::place {
namespace {

constexpr size_t kGangsOfBlock = 256;  // gangs

auto FirstFrom(const std::vector<WaitingGang>& gangs, WaitingTurn turn) {
  return std::lower_bound(
      gangs.begin(), gangs.end(), turn,
      [](const WaitingGang& gang, const WaitingTurn& sought) { return gang.turn < sought; });
}

}  // namespace

void WaitingLine::Block::Count(const WaitingGang& gang) {
  processors = std::min(processors, gang.processors);
  estimate = std::min(estimate, gang.estimate);
}

void WaitingLine::Block::CountAnew() {
  processors = UINT32_MAX;
  estimate = INT64_MAX;
  for (const WaitingGang& gang : gangs) Count(gang);
}

size_t WaitingLine::BlockOf(WaitingTurn turn) const {
  auto behind = std::upper_bound(
      blocks_.begin(), blocks_.end(), turn,
      [](const WaitingTurn& sought, const Block& b) { return sought < b.gangs.front().turn; });
  return behind == blocks_.begin() ? 0 : static_cast<size_t>(behind - blocks_.begin()) - 1;
}

void WaitingLine::Insert(const WaitingGang& gang) {
  size_t at = BlockOf(gang.turn);
  // In the order of arrival blocks are filled to the end.
  bool behind_full = !blocks_.empty() && at + 1 == blocks_.size() &&
                     blocks_[at].gangs.size() >= kGangsOfBlock &&
                     blocks_[at].gangs.back().turn < gang.turn;
  if (blocks_.empty() || behind_full) {
    blocks_.emplace_back();
    at = blocks_.size() - 1;
  }
  Block& block = blocks_[at];
  block.gangs.insert(FirstFrom(block.gangs, gang.turn), gang);
  block.Count(gang);
  if (block.gangs.size() > kGangsOfBlock) SplitBlock(at);
}

void WaitingLine::SplitBlock(size_t block) {
  Block upper;
  auto& gangs = blocks_[block].gangs;
  auto middle = gangs.begin() + static_cast<ptrdiff_t>(gangs.size() / 2);
  upper.gangs.assign(middle, gangs.end());
  gangs.erase(middle, gangs.end());
  blocks_[block].CountAnew();
  upper.CountAnew();
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(block) + 1, std::move(upper));
}

void WaitingLine::Remove(WaitingTurn turn) {
  const size_t at = BlockOf(turn);
  Block& block = blocks_[at];
  auto gang = FirstFrom(block.gangs, turn);
  bool was_least = gang->processors == block.processors || gang->estimate == block.estimate;
  block.gangs.erase(gang);
  if (block.gangs.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at));
  } else if (was_least) {
    block.CountAnew();
  }
}

std::optional<WaitingGang> WaitingLine::First() const {
  return blocks_.empty() ? std::nullopt : std::optional(blocks_.front().gangs.front());
}

std::optional<WaitingGang> WaitingLine::NextThatFits(const Gap& gap,
                                                     std::optional<WaitingTurn> last) const {
  for (size_t at = last ? BlockOf(*last) : 0; at < blocks_.size(); ++at) {
    const Block& block = blocks_[at];
    if (!gap.Fits(block.processors, block.estimate)) continue;
    for (const WaitingGang& gang : block.gangs) {
      if (last && gang.turn <= *last) continue;
      if (gap.Fits(gang.processors, gang.estimate)) return gang;
    }
  }
  return std::nullopt;
}

}  // namespace spate::engine::place
