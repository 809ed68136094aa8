// Parts of the rows of a job's options (job_sources.cc, job_tasks.cc, job_output.cc): where a value
// goes, and the uses that several options have.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/options/option_reader.h"
#include "cli/options/submit_options.h"

namespace spate::cli {

// ---- Where a value goes ------------------------------------------------------------------------

struct Filler {
  OptionReader& in;
  const Option& opt;
  SubmitOptions& job;

  template <typename T, typename Parse>
  bool Read(T& target, Parse parse) {
    return in.Read(opt, target, parse);
  }
  template <typename Parse, typename Add>
  void ReadAll(Parse parse, Add add) {
    in.ReadAll(opt, parse, add);
  }
};

// The only one of this type that there is.
template <typename Part>
Part& PartOf(SubmitOptions& job) {
  RunOptions& run = job.run;
  if constexpr (std::is_same_v<Part, SubmitOptions>) return job;
  if constexpr (std::is_same_v<Part, RunOptions>) return run;
  if constexpr (std::is_same_v<Part, SourceOptions>) return run.sources;
  if constexpr (std::is_same_v<Part, InputOptions>) return run.sources.input;
  if constexpr (std::is_same_v<Part, ShowOptions>) return run.show;
  if constexpr (std::is_same_v<Part, Needs>) return run.needs;
  if constexpr (std::is_same_v<Part, GangShape>) return run.gang;
  if constexpr (std::is_same_v<Part, JobPolicy>) return run.policy;
  if constexpr (std::is_same_v<Part, RetryPolicy>) return run.policy.retry;
  if constexpr (std::is_same_v<Part, JobSettings>) return run.settings;
}
template <typename Part, typename T>
T& MemberOf(SubmitOptions& job, T Part::* member) {
  return PartOf<Part>(job).*member;
}

// For JobOption::fill: the value goes to one member, by `kParse`, or as values of its type are read
// (OptionReader::Value).
template <auto kMember, auto kParse = nullptr>
void Set(Filler& filler) {
  auto& target = MemberOf(filler.job, kMember);
  if constexpr (std::is_null_pointer_v<decltype(kParse)>) {
    filler.in.Value(filler.opt, target);
  } else {
    filler.Read(target, kParse);
  }
}

template <uint32_t kMost>
Result<uint32_t> UpTo(std::string_view value) {
  return ParseCountUpTo(value, kMost);
}
template <int kLow, int kHigh>
Result<int> Between(std::string_view value) {
  return ParseInteger(value, kLow, kHigh);
}

// The row of this name, for code outside of the rows.
consteval const Option& Named(OptionRows rows, std::string_view name) {
  for (const Option& row : rows) {
    if (row.name() == name) return row;
  }
  throw "there is no such row";
}

// ---- Uses of several options -------------------------------------------------------------------

inline constexpr Use kYes = Use::kObeyed;
inline constexpr Use kKept = Use::kKept;
inline constexpr Use kNo = Use::kRefused;
inline constexpr Use kNoUse = Use::kNone;

// Also for each option that a hub's job keeps.
inline constexpr std::string_view kHubKeeps =
    "a hub's job keeps the options that it was submitted with; only the needs of the retried tasks "
    "(--memory, --cpus, ...) and --time-limit can change";
inline constexpr std::string_view kNewRun = "leave it out, or start a new run without --resume";
inline constexpr std::string_view kNewGang =
    "the tasks of a resumed run keep their gangs; start a new run without --resume";
inline constexpr std::string_view kHasFiles =
    "only for nodes of a hub (spate run --hub, spate submit); tasks on this machine have your "
    "files already";
inline constexpr std::string_view kReadOnce =
    "only a new run on this machine can follow a list; here, the list is read once, as it is now";

// resume, retry of a run, retry of a hub's job, submit, run --hub, run --pool, job add
inline constexpr JobUse kOfAll = {{kYes, kYes, kYes, kYes, kYes, kYes}};
inline constexpr JobUse kOfSettings = {{kYes, kYes, kNo, kYes, kYes, kYes}, kHubKeeps};
inline constexpr JobUse kOfRuns = {{kYes, kYes, kNo, kNoUse, kYes, kYes}, kHubKeeps};
inline constexpr JobUse kOfNew = {{kYes, kNoUse, kNoUse, kYes, kYes, kYes}};
inline constexpr JobUse kOfLists = {{kYes, kNoUse, kNoUse, kYes, kYes, kYes, kYes}};
inline constexpr JobUse kOfFirst = {{kKept, kNoUse, kNoUse, kYes, kYes, kYes}, kNewRun};
inline constexpr JobUse kOfGangs = {kOfFirst.by_way, kNewGang};
inline constexpr JobUse kOfFollowed = {{kNo, kNoUse, kNoUse, kNoUse, kNo, kNo}, kReadOnce};
inline constexpr JobUse kOfFiles = {{kNo, kNoUse, kNoUse, kYes, kYes, kYes}, kHasFiles};
inline constexpr JobUse kOfSubmit = {{kNoUse, kNoUse, kNoUse, kYes}};
inline constexpr JobUse kOfNodes = {{kNo, kNo, kYes, kYes, kYes, kYes},
                                    "a run on this machine has only this machine's node"};
inline constexpr JobUse kOfSharedHub = {
    {kNo, kNoUse, kNoUse, kYes, kYes, kNo},
    "a run without a hub, or with its own, has no other jobs; leave it out"};
constexpr JobUse HereAlone(std::string_view why) {
  return {{kYes, kYes, kNo, kNoUse, kNo, kNo}, why};
}
constexpr JobUse FromHere(std::string_view why) {
  return {{kKept, kNoUse, kNoUse, kNoUse, kNo, kNo}, why};
}

}  // namespace spate::cli
