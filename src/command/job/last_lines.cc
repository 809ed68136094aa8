#include "command/job/last_lines.h"

#include <algorithm>
#include <utility>

namespace spate::cli {
namespace {

constexpr size_t kLeastCut = 1 << 20;

}  // namespace

std::optional<size_t> BeginOfLines(std::string_view block, bool is_last, uint64_t& lines) {
  if (block.empty()) return std::nullopt;
  for (size_t at = is_last ? block.size() - 1 : block.size(); at > 0; --at) {
    if (block[at - 1] == '\n' && --lines == 0) return at;
  }
  return std::nullopt;
}

void TailBuffer::Add(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.size() > 2 * cut_ + kLeastCut) Cut();
}

void TailBuffer::Cut() {
  size_t begin = lines_ == 0 ? bytes_.size() : 0;
  if (uint64_t lines = lines_; lines > 0 && lines != UINT64_MAX) {
    begin = BeginOfLines(bytes_, true, lines).value_or(0);
  }
  bytes_.erase(0, begin);
  if (gap_at_ && *gap_at_ <= begin && begin > 0) gap_at_.reset();
  if (gap_at_) *gap_at_ -= begin;
  cut_ = bytes_.size();
}

bool TailBuffer::HasGap() {
  Cut();
  return gap_at_.has_value() && lines_ > 0;
}

std::string TailBuffer::Take() {
  Cut();
  return std::exchange(bytes_, {});
}

}  // namespace spate::cli
