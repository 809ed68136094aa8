// What the reader of a hub's journal (hub_reader.h) must be told to answer `parasol list jobs` and
// its like: what the hub alone knows, all of one moment. It travels as text, as the question's
// word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job.h"
#include "doors/parasol/formats/hub_report.h"

namespace spate::parasol {

struct ParasolFacts {
  struct Run {
    JobId job;
    TaskIndex task = 0;
    int64_t started = 0;  // seconds since 1970
    std::string node;
    friend bool operator==(const Run&, const Run&) = default;
  };
  struct Waiting {
    JobId job;
    TaskRange tasks;
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  struct Batch {
    JobId job;
    HubBatch figures;  // without what the journal tells: results and mean_minutes
  };
  std::vector<Run> runs;
  std::vector<Waiting> waiting;
  std::vector<HubMachine> machines;  // without what runs there
  std::vector<Batch> batches;
  // Of jobs that have not ended, and these; the journal tells the rest. A user who has no job at
  // all may be among them, for a rule.
  std::vector<HubUser> users;
  std::optional<HubStatus> status;  // without the totals
  std::vector<JobId> unended;
};

std::string EncodeFacts(const ParasolFacts& facts);
// What EncodeFacts has made.
ParasolFacts DecodeFacts(std::string_view text);

}  // namespace spate::parasol
