// Keys of `spate top`, from the bytes that a terminal sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spate::cli {

enum class TopKey : uint8_t {
  kQuit,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kNodes,
  kJobs,
  kProcesses,
  kStop,
  kContinue,
  kKill,
  kSignal
};

class TopKeys {
 public:
  // The keys that are whole with these bytes; others are skipped.
  std::vector<TopKey> Feed(std::string_view bytes);

 private:
  std::string begun_;  // of an escape sequence
};

// A line that the user types, with Backspace; Esc and Ctrl-C give it up.
class TopLine {
 public:
  enum class Now : uint8_t { kTyping, kEntered, kGivenUp };
  Now Feed(char byte);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace spate::cli
