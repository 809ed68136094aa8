#include "cli/simulate/simulate_options.h"

#include "cli/options/option_reader.h"

namespace spate::cli {

using engine::place::BackfillPolicy;
using format::SwfFilter;

Result<SimulateOptions> MakeSimulateOptions(const Words& words) {
  auto form = OutputFormOf(words);
  if (!form) return std::unexpected(std::move(form.error()));
  SimulateOptions options;
  options.form = *form;
  options.trace = words.words.front();
  OptionReader reader(words);
  reader.Choice(Opt::kPolicy, options.policy,
                {{"fcfs", BackfillPolicy::kFcfs},
                 {"easy", BackfillPolicy::kEasy},
                 {"easy-sjbf", BackfillPolicy::kEasySjbf},
                 {"conservative", BackfillPolicy::kConservative}});
  reader.Choice(Opt::kReplayOrder, options.order,
                {{"seq", ReplayOrder::kSequence}, {"batch", ReplayOrder::kBatch}});
  reader.Choice(Opt::kEstimates, options.perfect, {{"user", false}, {"perfect", true}});
  reader.Choice(Opt::kTraceFilter, options.filter,
                {{"study", SwfFilter::kStudy}, {"loose", SwfFilter::kLoose}});
  reader.Read(Opt::kFirst, options.first, [](std::string_view value) -> Result<size_t> {
    auto count = ParseCount(value);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "0 jobs are none to simulate");
    return count;
  });
  reader.Text(Opt::kSchedule, options.schedule);
  reader.Text(Opt::kPlot, options.plot);
  if (auto read = reader.status(); !read) return std::unexpected(std::move(read.error()));
  return options;
}

std::string_view PolicyName(BackfillPolicy policy) {
  switch (policy) {
    case BackfillPolicy::kFcfs:
      return "fcfs";
    case BackfillPolicy::kEasy:
      return "easy";
    case BackfillPolicy::kEasySjbf:
      return "easy-sjbf";
    case BackfillPolicy::kConservative:
      return "conservative";
  }
  return "";
}

std::string_view OrderName(ReplayOrder order) {
  return order == ReplayOrder::kSequence ? "seq" : "batch";
}

std::string_view EstimatesName(bool perfect) { return perfect ? "perfect" : "user"; }

std::string_view FilterName(SwfFilter filter) {
  return filter == SwfFilter::kStudy ? "study" : "loose";
}

}  // namespace spate::cli
