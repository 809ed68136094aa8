// The last lines of a stream, as tail(1) counts them: the last one may lack its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spate::cli {

// Beginning of the last `lines` (at least 1) in `block`, which is the stream's last one if
// `is_last`. Nullopt: before it; `lines` has become how many there are before it.
std::optional<size_t> BeginOfLines(std::string_view block, bool is_last, uint64_t& lines);

// Takes a stream from its beginning, and keeps its last lines. Memory: about twice what they take.
class TailBuffer {
 public:
  explicit TailBuffer(uint64_t lines) : lines_(lines) {}
  void Add(std::string_view bytes);
  // Something is missing here.
  void Gap() { gap_at_ = bytes_.size(); }
  // True if the gap is among the last lines.
  bool HasGap();
  std::string Take();

 private:
  void Cut();

  const uint64_t lines_;  // UINT64_MAX: all
  std::string bytes_;
  size_t cut_ = 0;  // bytes that it had when it was cut last
  std::optional<size_t> gap_at_;
};

}  // namespace spate::cli
