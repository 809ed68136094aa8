#include "cli/options/option_uses.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/options/job_rows.h"
#include "cli/options/job_words.h"
#include "cli/options/shared.h"

namespace spate::cli {
namespace {

// The part of an option that two command lines must agree on: a switch by whether it is on, any
// other option by its values.
std::vector<std::string> ValuesOf(const Words& words, const Option& opt) {
  if (opt.repeat) return words.All(opt);
  if (opt.argument.empty() && !words.Has(opt)) return {};
  auto last = words.Last(opt);
  return last ? std::vector<std::string>{std::string(*last)} : std::vector<std::string>();
}

// Rows of one option that is typed differently elsewhere (-n, --max-args) go to the same place.
bool AreSame(const Option& one, const Option& other) {
  return &one == &other || (one.name() == other.name() && one.job.fill == other.job.fill);
}

}  // namespace

const Command& CommandOf(Way way) {
  if (way == Way::kRetry || way == Way::kHubRetry) return kRetryWords;
  if (way == Way::kAdd) return kAddWords;
  return way == Way::kSubmit ? kSubmitWords : kRunWords;
}

Use UseOf(const Option& opt, Way way) {
  for (const Option* each : OptionsOf(CommandOf(way))) {
    if (AreSame(*each, opt)) return each->job.use[way];
  }
  return Use::kNone;
}

Status CheckUses(Way way, const Words& typed) {
  const bool elsewhere = way == Way::kSubmit || way == Way::kHub || way == Way::kPool;
  for (const auto& [opt, value] : typed.options) {
    const bool only_here = elsewhere && opt->job.why_only_here != nullptr;
    if (auto why = only_here ? opt->job.why_only_here(value) : ""; !why.empty()) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("{} {}: {}", DashedName(*opt), EscapeForScreen(value), why));
    }
    const bool is_off = opt->argument.empty() && !typed.Has(*opt);
    if (is_off || UseOf(*opt, way) != Use::kRefused) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: {}", DashedName(*opt),
                            way == Way::kHubRetry ? kHubKeeps : opt->job.use.why));
  }
  return {};
}

Status CheckHubOnly(const Words& typed) {
  for (const auto& [opt, value] : typed.options) {
    const JobUse& use = opt->job.use;
    const bool here = use[Way::kResume] != Use::kRefused || use[Way::kRetry] == Use::kObeyed;
    if (here || use[Way::kHub] != Use::kObeyed) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: only jobs of a hub have {} (spate run --hub, spate submit)",
                            DashedName(*opt), opt == &opt::kKey ? "keys" : "it"));
  }
  return {};
}

Status CheckKept(std::span<const std::string> first, std::span<const std::string> typed) {
  auto now = TRY(ParseWords(kRunWords, typed));
  TRY(CheckUses(Way::kResume, now));
  auto before = ParseWords(kRunWords, first);
  if (!before) return Within("options of the first run", before.error());
  for (const TypedOption& option : now.options) {
    if (UseOf(*option.opt, Way::kResume) != Use::kKept) continue;
    if (ValuesOf(now, *option.opt) == ValuesOf(*before, *option.opt)) continue;
    auto was = before->Last(*option.opt);
    std::string given =
        was && !option.opt->argument.empty()
            ? fmt::format("the first run had {} {}", DashedName(*option.opt), ShellQuote(*was))
            : "the first run did not have it";
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: {}; {}", DashedName(*option.opt), given, option.opt->job.use.why));
  }
  return {};
}

}  // namespace spate::cli
