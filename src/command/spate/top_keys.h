// Keys of `spate top`, from the bytes that a terminal sends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spate::cli {

enum class TopKey : uint8_t { kQuit, kUp, kDown, kPageUp, kPageDown, kNodes, kJobs, kProcesses };

class TopKeys {
 public:
  // The keys that are whole with these bytes; others are skipped.
  std::vector<TopKey> Feed(std::string_view bytes);

 private:
  std::string begun_;  // of an escape sequence
};

}  // namespace spate::cli
