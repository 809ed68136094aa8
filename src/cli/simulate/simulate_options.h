// What a person types for `spate simulate`.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "cli/options/words.h"
#include "core/engine/place/backfill.h"
#include "format/swf/swf.h"

namespace spate::cli {

// What happens at the same instant: one event after the other, each with a pass, or all of it and
// then one pass.
enum class ReplayOrder : uint8_t { kSequence, kBatch };

struct SimulateOptions {
  std::string trace;      // a file, or "-"; or
  std::string history;    // a state folder, on a machine of
  uint32_t nodes = 0;     // with
  uint32_t cpus = 0;      // each
  bool on_nodes = false;  // as a hub places, not on one pool of processors
  engine::place::BackfillPolicy policy = engine::place::BackfillPolicy::kEasy;
  ReplayOrder order = ReplayOrder::kSequence;
  bool perfect = false;  // estimates are the run times
  format::SwfFilter filter = format::SwfFilter::kStudy;
  size_t first = SIZE_MAX;  // jobs
  std::string schedule;     // a file to write; empty: none
  std::string plot;         // likewise
  OutputForm form = OutputForm::kHuman;

  bool is_history() const { return !history.empty(); }
};
Result<SimulateOptions> MakeSimulateOptions(const Words& words);

// As people type them.
std::string_view PolicyName(engine::place::BackfillPolicy policy);
std::string_view OrderName(ReplayOrder order);
std::string_view EstimatesName(bool perfect);
std::string_view PlacementName(bool on_nodes);
std::string_view FilterName(format::SwfFilter filter);

}  // namespace spate::cli
