#include "doors/mw/overseer/options.h"

#include <algorithm>

#include "base/units.h"
#include "cli/options/needs_change.h"
#include "cli/options/option_reader.h"
#include "cli/options/values.h"
#include "core/model/pool_facts.h"

namespace spate::mw {
namespace {

using cli::Opt;

constexpr uint32_t kMostSlaves = 10'000;  // for a file that asks for too many
constexpr uint32_t kMostTyped = 1'000'000;
constexpr Duration kEvery = Duration::Seconds(5);
constexpr Duration kLeastEvery = Duration::Millis(10);

Result<Duration> ParseEvery(std::string_view text) {
  auto every = ParseDuration(text);
  if (every && *every < kLeastEvery) return Fail(ErrorKind::kInvalid, "at least 10ms");
  return every;
}

Result<uint32_t> ParseSlaves(std::string_view text) {
  auto count = cli::ParseCountUpTo(text, kMostTyped);
  if (count && *count == 0) return Fail(ErrorKind::kInvalid, "at least 1");
  return count;
}

// What only a hub can do.
Status CheckLocal(const OverseerOptions& options, const cli::Words& words) {
  if (options.local == 0) return {};
  for (Opt opt : {Opt::kInPool, Opt::kShip, Opt::kAccess, Opt::kCpus, Opt::kMemory, Opt::kGpus,
                  Opt::kResource, Opt::kPlanTime, Opt::kWithLabel, Opt::kOnNode, Opt::kNotOnNode}) {
    if (!words.Last(opt)) continue;
    return Fail(ErrorKind::kInvalid,
                cli::DashedName(opt) + " is for slaves on a hub; leave it out, or --local");
  }
  return {};
}

}  // namespace

Result<OverseerOptions> MakeOverseerOptions(const cli::Words& words) {
  OverseerOptions options{.paths = words.words, .most = kMostSlaves, .every = kEvery};
  cli::OptionReader in(words);
  in.Read(Opt::kLocalSlaves, options.local, ParseSlaves);
  in.Read(Opt::kMaxSlaves, options.most, ParseSlaves);
  in.Read(Opt::kEvery, options.every, ParseEvery);
  in.Text(Opt::kInPool, options.pool);
  options.ship = in.Has(Opt::kShip);
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  if (auto ok = CheckLocal(options, words); !ok) return std::unexpected(ok.error());
  if (options.local > 0) options.most = std::min(options.most, options.local);
  auto needs = cli::MakeNeedsChange(words);
  if (!needs) return std::unexpected(std::move(needs.error()));
  options.needs = Changed(Needs(), *needs);
  if (!options.pool.empty()) {
    std::vector<std::string>& labels = options.needs.labels;
    labels.push_back(std::string(kPoolLabel) + options.pool);
    std::ranges::sort(labels);
  }
  auto form = cli::OutputFormOf(words);
  if (!form) return std::unexpected(std::move(form.error()));
  options.form = *form;
  return options;
}

}  // namespace spate::mw
