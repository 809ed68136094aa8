// A rescue file: which tasks of a DAG need not run again (docs/formats/pmc-records.md).
//
// Each success appends a line break and "DONE name", without a line break after it. If a machine
// dies during that, the last line may be torn. A run that reads the file therefore replaces it by
// RescueText of what was done (run/rescue_file.h), and no torn line stays in it.
// A writer must cut the file back to its old length when a record was not written whole.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::pmc {

struct RescueEntry {
  std::string_view task;  // points into the text
  uint64_t line = 0;      // from 1; that of its first record
  friend bool operator==(const RescueEntry&, const RescueEntry&) = default;
};

struct Rescue {
  std::vector<RescueEntry> done;  // each once, in the order of the text
  // The last line where it is torn, else empty: worth a warning. It is torn if nothing ends it and
  // it could be the beginning of a record. Not to be seen is a name that was cut down to another
  // task's.
  std::string_view torn;
};

// `known` says whether the DAG has a task of this name. Errors begin with "line N: "; the texts
// behind it are the original's.
Result<Rescue> ReadRescue(std::string_view text,
                          const std::function<bool(std::string_view task)>& known);

// The record that a success appends. A name is one word, as in a DAG file.
std::string RescueRecord(std::string_view task);
// A whole file; it reads back as `done`.
std::string RescueText(std::span<const RescueEntry> done);

}  // namespace spate::pmc
