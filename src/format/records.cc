#include "format/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace spate::format {
namespace {

constexpr size_t kPiece = 128 * 1024;

std::unexpected<Error> TooLong(uint64_t longest) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("a record is longer than {} bytes; does --recend (or --recstart) match "
                          "the text between the records?",
                          FormatCount(longest)));
}

}  // namespace

BlockCutter::BlockCutter(RecordRules rules)
    : rules_(std::move(rules)),
      border_(rules_.end + rules_.start),
      block_(std::max<uint64_t>(rules_.block, 1)),
      wants_header_(rules_.header) {}

size_t BlockCutter::Room() const {
  uint64_t held = buffer_.size() - from_;
  return static_cast<size_t>(block_ - held % block_);
}

bool BlockCutter::DecodeHeader() {
  size_t end = buffer_.find('\n');
  if (end == std::string::npos && !finished_) return false;
  header_ = buffer_.substr(0, end == std::string::npos ? end : end + 1);
  buffer_.erase(0, header_.size());
  wants_header_ = false;
  return true;
}

// End of the next block in the held bytes; nothing when no record ends there.
std::optional<size_t> BlockCutter::FindCut() const {
  std::string_view held = std::string_view(buffer_).substr(from_);
  if (border_.empty()) return held.size();
  // A record that begins at the first byte is no border.
  size_t first = rules_.end.empty() ? 1 : 0;
  if (rules_.records == 0) {
    size_t at = held.rfind(border_);
    if (at == std::string_view::npos || at < first) return std::nullopt;
    return at + rules_.end.size();
  }
  size_t at = first;
  for (uint32_t left = rules_.records;; --left) {
    at = held.find(border_, at);
    if (at == std::string_view::npos) return std::nullopt;
    if (left == 1) return at + rules_.end.size();
    at += border_.size();
  }
}

Result<std::optional<std::string>> BlockCutter::Next() {
  if (wants_header_ && !DecodeHeader()) {
    if (buffer_.size() > rules_.longest) return TooLong(rules_.longest);
    return std::nullopt;
  }
  size_t held = buffer_.size() - from_;
  bool full = held > 0 && (held % block_ == 0 || (rules_.records > 0 && cut_));
  if (held == 0 || (!full && !finished_)) return std::nullopt;
  // By size, what the end of the input leaves is one block.
  std::optional<size_t> cut = FindCut();
  if (finished_ && (rules_.records == 0 || !cut)) cut = held;
  if (cut) {
    std::string block = buffer_.substr(from_, *cut);
    from_ += *cut;
    cut_ = rules_.records > 0;
    if (!cut_ || from_ == buffer_.size()) {
      buffer_.erase(0, from_);
      from_ = 0;
    }
    return block;
  }
  buffer_.erase(0, from_);
  from_ = 0;
  if (!std::exchange(cut_, false)) {
    if (held >= rules_.longest) return TooLong(rules_.longest);
    block_ = std::min(block_ + (block_ * 3 + 9) / 10 + 1, rules_.longest);
  }
  return std::nullopt;
}

Result<std::vector<uint64_t>> PartBorders(
    const RecordRules& rules, uint64_t first, uint64_t size,
    const std::function<Result<std::string>(uint64_t offset, size_t length)>& read) {
  std::string border = rules.end + rules.start;
  uint64_t step = std::max<uint64_t>(rules.block, 1);
  std::vector<uint64_t> borders = {first};
  for (uint64_t at = first + step; at < size; at += step) {
    if (border.empty()) {
      borders.push_back(at);
      continue;
    }
    // A border may lie across two pieces.
    std::string held;
    uint64_t held_at = at;
    uint64_t next = at;
    size_t found = std::string::npos;
    while (found == std::string::npos && next < size) {
      auto piece = TRY(read(next, kPiece));
      if (piece.empty()) break;
      next += piece.size();
      held += piece;
      found = held.find(border);
      if (found != std::string::npos) break;
      size_t keep = std::min(held.size(), border.size() - 1);
      held_at += held.size() - keep;
      held.erase(0, held.size() - keep);
    }
    if (found == std::string::npos) break;
    at = held_at + found + rules.end.size();
    borders.push_back(at);
  }
  if (borders.back() != size) borders.push_back(size);
  return borders;
}

}  // namespace spate::format
