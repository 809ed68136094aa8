#include "cli/options/needs_change.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

// By name; of what was given twice the last counts.
void Sort(std::vector<NamedNeed>& named) {
  std::map<std::string, uint32_t> counts;
  for (const NamedNeed& need : named) counts[need.name] = need.count;
  named.clear();
  for (const auto& [name, count] : counts) named.push_back({name, count});
}

}  // namespace

Result<NeedsChange> MakeNeedsChange(const Words& words) {
  NeedsChange change;
  Needs& needs = change.values;
  OptionReader in(words);
  auto read = [&](const Option& option, auto& field, const auto& parse) {
    if (in.Read(option, field, parse)) change.Set(field, field);
  };
  read(opt::kCpus, needs.milli_cpus, ParseMilliCpus);
  read(opt::kMemory, needs.memory, ParseMemory);
  read(opt::kPlanTime, needs.time, ParseDuration);
  std::vector<NamedNeed> named;
  uint32_t gpus = 0;
  if (in.Read(opt::kGpus, gpus, CountUpTo(1024))) named.push_back({"gpus", gpus});
  in.ReadAll(opt::kResource, ParseNamedNeed,
             [&](NamedNeed need) { named.push_back(std::move(need)); });
  Sort(named);
  if (!named.empty()) change.Set(needs.named, std::move(named));
  auto names = [&](const Option& option, std::vector<std::string>& field) {
    auto typed = in.Names(option);
    const std::set<std::string> sorted(typed.begin(), typed.end());
    if (!typed.empty()) change.Set(field, {sorted.begin(), sorted.end()});
  };
  names(opt::kWithLabel, needs.labels);
  names(opt::kNotOnNode, needs.not_on);
  for (std::string& name : in.Names(opt::kOnNode)) change.Set(needs.on_node, std::move(name));
  TRY(in.status());
  return change;
}

}  // namespace spate::cli
