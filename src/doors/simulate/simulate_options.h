// `spate simulate`, with its options: what a policy would do to the jobs of a trace.
#pragma once

#include <cstddef>
#include <string>

#include "cli/options/run_options.h"
#include "doors/simulate/backfill/backfill.h"
#include "doors/simulate/formats/swf.h"

namespace spate::cli {

// Events of the same instant: one after the other, each with a pass, or all of them and
// then one pass.
SPATE_ENUM(ReplayOrder, kSequence, "seq", kBatch, "batch");

struct SimulateOptions {
  std::string trace;      // a file, or "-"; or
  std::string history;    // a state folder, on a machine of
  uint32_t procs = 0;     // of a trace whose header does not state them; 0: it does
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

// Reports its own errors; returns the exit code.
int Simulate(SimulateOptions options);

// Names in the form that people type.
std::string_view EstimatesName(bool perfect);
std::string_view PlacementName(bool on_nodes);

}  // namespace spate::cli
