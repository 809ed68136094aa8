// What the reader of a hub's journal (hub_reader.h) answers to `parasol`: all that shows commands
// of jobs, or times of those that have ended.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/parasol/hub/parasol_facts.h"
#include "history/source.h"

namespace spate::parasol {

// The question, as the hub asks it (parasol_hub.h).
struct ParasolQuestion {
  enum class What : uint8_t {
    kMachines,
    kJobs,
    kExtendedJobs,
    kPstat,
    kPstat2,
    kMatches,  // ids of jobs with a command like `pattern`: a line "FIRST LAST" for each range
    kBatches,
    kUsers,
    kStatus,
  };
  What what = What::kJobs;
  ParasolFacts facts;
  std::string pattern;
  // Of kPstat2.
  uint64_t jobs = 0;
  uint64_t failures = 0;
};
// As the words behind "parasol" of a Command to the reader.
std::vector<std::string> WordsOf(const ParasolQuestion& question);

// Commands of others' jobs are shown only when these are Parasol's, where everybody sees them.
Status AnswerParasol(const std::string& hub_dir, history::Viewer viewer,
                     const std::vector<std::string>& words,
                     std::function<void(std::string_view)> print);

}  // namespace spate::parasol
