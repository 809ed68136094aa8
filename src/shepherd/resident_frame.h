// Protocol between a shepherd and a process that takes task after task:
//
//   task   := "task " ID " " INDEX " " ATTEMPT " " LENGTH "\n" LENGTH bytes
//   answer := "done " ID " " STATUS " " LENGTH "\n" LENGTH bytes
//
// docs/formats/resident.md says what the words mean. Pure: bytes in, bytes out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/model/attempt.h"

namespace spate::shepherd {

inline constexpr size_t kMostAnswerHead = 256;              // bytes, with its newline
inline constexpr uint64_t kMostAnswer = uint64_t{1} << 30;  // bytes of a result

// "7.12", as SPATE_TASK_ID has it.
std::string TaskId(const AttemptRef& ref);
// The task, whole.
std::string TaskFrame(const AttemptRef& ref, std::string_view input);

// Reads the answer to one task, however it is cut up.
class AnswerReader {
 public:
  // To the task of this id.
  void Begin(std::string id);

  using Result = std::function<void(std::string_view)>;
  // Reads the next bytes; those of the result go to `result`.
  void Parse(std::string_view bytes, const Result& result);

  bool is_empty() const { return head_.empty() && !is_whole(); }
  bool is_whole() const { return has_head_ && left_ == 0 && wrong_.empty(); }
  int status() const { return status_; }  // of a whole one
  // More came than the answer.
  bool has_more() const { return has_more_; }
  // Why it is none; empty: what came is the beginning of one.
  const std::string& wrong() const { return wrong_; }

 private:
  void DecodeHead(std::string_view& bytes);
  std::string ReadHead(std::string_view line);

  std::string id_;
  std::string head_;
  bool has_head_ = false;
  int status_ = 0;
  uint64_t left_ = 0;  // bytes of the result that did not come yet
  bool has_more_ = false;
  std::string wrong_;
};

}  // namespace spate::shepherd
