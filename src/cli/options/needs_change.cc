#include "cli/options/needs_change.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

// Reads the last value of `opt`, when there is one.
template <typename T, typename Parse>
void ReadChange(OptionReader& in, const Option& opt, std::optional<T>& target, Parse parse) {
  T value{};
  if (in.Read(opt, value, parse)) target = std::move(value);
}

std::optional<std::vector<std::string>> Names(OptionReader& in, const Option& opt) {
  auto names = in.Names(opt);
  if (names.empty()) return std::nullopt;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

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
  OptionReader in(words);
  ReadChange(in, opt::kCpus, change.milli_cpus, ParseMilliCpus);
  ReadChange(in, opt::kMemory, change.memory, ParseMemory);
  ReadChange(in, opt::kPlanTime, change.time, ParseDuration);
  uint32_t gpus = 0;
  if (in.Read(opt::kGpus, gpus, CountUpTo(1024))) change.named.push_back({"gpus", gpus});
  in.ReadAll(opt::kResource, ParseNamedNeed,
             [&](NamedNeed need) { change.named.push_back(std::move(need)); });
  Sort(change.named);
  change.labels = Names(in, opt::kWithLabel);
  change.not_on = Names(in, opt::kNotOnNode);
  for (std::string& name : in.Names(opt::kOnNode)) change.on_node = std::move(name);
  TRY(in.status());
  return change;
}

}  // namespace spate::cli
