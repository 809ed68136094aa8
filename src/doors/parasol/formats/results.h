// The file `para.results` of Parasol, to which the hub adds a line for each job that has ended, and
// `para.bookmark`, how far into it para has read (docs/formats/parasol.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

// Times are seconds since 1970, processor times hundredths of a second.
struct ParasolEnd {
  int32_t status = 0;  // as wait(2) gives it
  std::string host;
  std::string id;
  std::string program;  // the file name of the command's first word
  uint64_t user_ticks = 0, system_ticks = 0;
  int64_t submitted = 0, started = 0, ended = 0;
  std::string user;
  std::string err_file;
  std::string command;  // not when it was read
  friend bool operator==(const ParasolEnd&, const ParasolEnd&) = default;
};

// With its newline. Words must hold no white space; an empty one is written as "none".
std::string ResultsLine(const ParasolEnd& end);
// The fourth column of a line: "prog" for "/bin/prog a b".
std::string_view ProgramOf(std::string_view command);

struct ReadResultsResult {
  std::vector<ParasolEnd> ends;
  std::vector<std::string> damage;  // a message for each line that is not as it should be
  // Bytes of whole lines; a last one without its newline is still being written.
  size_t bytes = 0;
};
// `text` begins at the byte `offset` of the file `name`, which messages speak of.
ReadResultsResult ReadResults(std::string_view text, std::string_view name, uint64_t offset = 0);

// An empty file is 0.
Result<uint64_t> ReadBookmark(std::string_view text, std::string_view name);
std::string WriteBookmark(uint64_t bytes);

}  // namespace spate::parasol
