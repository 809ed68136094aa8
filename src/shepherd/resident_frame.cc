#include "shepherd/resident_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/units.h"

namespace spate::shepherd {
namespace {

constexpr size_t kShown = 60;  // bytes of a wrong head

// Digits alone, up to `most`.
std::optional<uint64_t> NumberUpTo(std::string_view text, uint64_t most) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) {
    return std::nullopt;
  }
  return number;
}

std::string Shown(std::string_view text) {
  bool cut = text.size() > kShown;
  return EscapeForScreen(text.substr(0, kShown)) + (cut ? "..." : "");
}

}  // namespace

std::string TaskId(const AttemptRef& ref) {
  return fmt::format("{}.{}", ref.job.value, uint64_t{ref.index} + 1);
}

std::string TaskFrame(const AttemptRef& ref, std::string_view input) {
  return fmt::format("task {} {} {} {}\n{}", TaskId(ref), uint64_t{ref.index} + 1,
                     ref.attempt.value, input.size(), input);
}

void AnswerReader::Begin(std::string id) {
  *this = AnswerReader();
  id_ = std::move(id);
}

void AnswerReader::Parse(std::string_view bytes, const Result& result) {
  if (!has_head_ && wrong_.empty()) DecodeHead(bytes);
  if (!has_head_) return;
  std::string_view some = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
  if (!some.empty()) result(some);
  left_ -= some.size();
  has_more_ = has_more_ || some.size() < bytes.size();
}

void AnswerReader::DecodeHead(std::string_view& bytes) {
  size_t end = bytes.find('\n');
  head_ += bytes.substr(0, std::min(end, kMostAnswerHead));
  if (head_.size() >= kMostAnswerHead) {
    wrong_ =
        fmt::format("its first line has more than {} bytes: '{}'", kMostAnswerHead, Shown(head_));
  } else if (end != std::string_view::npos) {
    bytes.remove_prefix(end + 1);
    wrong_ = ReadHead(head_);
    has_head_ = wrong_.empty();
  }
}

// Returns the line's defect; empty: none.
std::string AnswerReader::ReadHead(std::string_view line) {
  std::array<std::string_view, 4> words;
  std::string_view rest = line;
  for (std::string_view& word : words) {
    word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  if (words[0] != "done" || words[3].empty() || !rest.empty() || line.ends_with(' ')) {
    return fmt::format("'{}' is not 'done {} STATUS LENGTH'", Shown(line), id_);
  }
  if (words[1] != id_) {
    return fmt::format("it is for task '{}', and the process was given {}", Shown(words[1]), id_);
  }
  auto status = NumberUpTo(words[2], 255);
  if (!status) {
    return fmt::format("the status '{}' is not a number from 0 to 255", Shown(words[2]));
  }
  auto length = NumberUpTo(words[3], kMostAnswer);
  if (!length) {
    return fmt::format("the length '{}' is not a number from 0 to {}", Shown(words[3]),
                       kMostAnswer);
  }
  status_ = static_cast<int>(*status);
  left_ = *length;
  return {};
}

}  // namespace spate::shepherd
