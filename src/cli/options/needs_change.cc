#include "cli/options/needs_change.h"

#include <algorithm>

#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/values.h"

namespace spate::cli {
namespace {

constexpr Opt kOptions[] = {Opt::kCpus,     Opt::kMemory,    Opt::kGpus,   Opt::kResource,
                            Opt::kPlanTime, Opt::kWithLabel, Opt::kOnNode, Opt::kNotOnNode};

// Reads the last value of `opt`, when there is one.
template <typename T, typename Parse>
void ReadChange(OptionReader& in, Opt opt, std::optional<T>& target, Parse parse) {
  T value{};
  if (in.Read(opt, value, parse)) target = std::move(value);
}

std::optional<std::vector<std::string>> Names(const Words& words, Opt opt) {
  if (!words.Last(opt)) return std::nullopt;
  auto names = words.All(opt);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

Result<NeedsChange> MakeNeedsChange(const Words& words) {
  NeedsChange change;
  OptionReader in(words);
  ReadChange(in, Opt::kCpus, change.milli_cpus, ParseMilliCpus);
  ReadChange(in, Opt::kMemory, change.memory, ParseSize);
  ReadChange(in, Opt::kPlanTime, change.time, ParseDuration);
  uint32_t gpus = 0;
  if (in.Read(Opt::kGpus, gpus, CountUpTo(1024))) change.named.push_back({"gpus", gpus});
  in.ReadAll(Opt::kResource, ParseNamedNeed,
             [&](NamedNeed need) { change.named.push_back(std::move(need)); });
  change.labels = Names(words, Opt::kWithLabel);
  change.not_on = Names(words, Opt::kNotOnNode);
  std::string node;
  in.Text(Opt::kOnNode, node);
  if (!node.empty()) change.on_node = std::move(node);
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  return change;
}

bool ChangesNeeds(Opt opt) { return std::ranges::find(kOptions, opt) != std::end(kOptions); }

}  // namespace spate::cli
