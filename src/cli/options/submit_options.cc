#include "cli/options/submit_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/options/gang_options.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"
#include "core/model/pool_facts.h"
#include "os/batch_job.h"

namespace spate::cli {
namespace {

std::string NameOfVariable(std::string_view assignment) {
  return std::string(assignment.substr(0, assignment.find('=')));
}

}  // namespace

Result<AfterJob> ParseAfter(std::string_view value) {
  AfterJob after;
  std::string_view job = value;
  for (auto [word, how] : {std::pair<std::string_view, AfterHow>{"ok:", AfterHow::kOk},
                           {"any:", AfterHow::kAny},
                           {"fail:", AfterHow::kFail},
                           {"each:", AfterHow::kEach}}) {
    if (!value.starts_with(word)) continue;
    after.how = how;
    job.remove_prefix(word.size());
    break;
  }
  bool number = !job.empty() && job.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number && job != "last") {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a job; write for example 12, any:12, fail:12 or each:12",
                            EscapeForScreen(value)));
  }
  after.job = job;
  return after;
}

Result<int> ParsePriority(std::string_view value) {
  return ParseInteger(value, -1'000'000, 1'000'000);
}

Result<uint32_t> ParseJobWeight(std::string_view value) {
  auto weight = TRY(ParseInteger(value, 1, kMaxJobWeight));
  return static_cast<uint32_t>(weight);
}

namespace {

// `time`: of a task, where that is changed too.
Result<Instant> ReadDeadline(std::string_view text, Duration time, Instant now) {
  if (text == "none") return Instant::Never();
  RunOptions options;
  options.deadline_text = text;
  options.needs.time = time;
  TRY(SetDeadline(options, now));
  return *options.deadline;
}

}  // namespace

Result<JobChange> MakeJobChange(const Words& words, Instant now) {
  JobChange change;
  JobTerms& terms = change.values;
  OptionReader in(words);
  auto read = [&](const Option& option, auto& field, const auto& parse) {
    if (in.Read(option, field, parse)) change.Set(field, field);
  };
  read(opt::kJobWeight, terms.weight, ParseJobWeight);
  read(opt::kMaxRunning, terms.max_running, CountUpTo(kLimits.tasks_per_job));
  read(opt::kPriority, terms.priority, ParsePriority);
  read(opt::kPlanTime, terms.time, ParseDuration);
  TRY(in.status());
  if (auto deadline = words.Last(opt::kDeadline)) {
    change.Set(terms.deadline, TRY(ReadDeadline(*deadline, terms.time, now)));
  }
  if (!change.empty()) return change;
  return Fail(ErrorKind::kInvalid,
              "nothing to change; write for example: spate job set 12 --max-running 4");
}

Result<SubmitOptions> MakeSubmitOptions(const Words& words) {
  auto options = TRY(FillOptions(words));
  // -j of `run --hub` bounds the job's tasks at once, wherever they run.
  const SlotRule& slots = options.run.slots;
  bool bounded = options.run.slots_given && slots.form == SlotRule::Form::kCount;
  if (words.command->makes == Makes::kRun && bounded) options.max_running = slots.value;
  Needs& needs = options.run.needs;
  if (!options.pool.empty()) needs.labels.push_back(std::string(kPoolLabel) + options.pool);
  for (std::vector<std::string>* names : {&needs.labels, &needs.not_on}) {
    std::sort(names->begin(), names->end());
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  if (words.command->makes == Makes::kAddition) options.job = words.words.front();
  return options;
}

Result<std::vector<std::string>> CaptureEnvironment(const std::vector<std::string>& typed,
                                                    const std::vector<std::string>& all) {
  bool none = std::find(typed.begin(), typed.end(), "none") != typed.end();
  std::vector<std::string> environment;
  if (!none) environment = all;
  for (const std::string& word : typed) {
    if (word == "all" || word == "none") continue;
    std::string name = NameOfVariable(word);
    std::string assignment = word;
    if (word.find('=') == std::string::npos) {
      auto known = std::find_if(all.begin(), all.end(), [&](const std::string& each) {
        return NameOfVariable(each) == name;
      });
      if (known == all.end()) {
        return Fail(ErrorKind::kInvalid,
                    fmt::format("--env {}: the variable is not set here; write --env {}=VALUE",
                                EscapeForScreen(name), EscapeForScreen(name)));
      }
      assignment = *known;
    }
    std::erase_if(environment,
                  [&](const std::string& known) { return NameOfVariable(known) == name; });
    environment.push_back(std::move(assignment));
    const auto foreign = os::ForeignVariables(all);
    if (std::ranges::find(foreign, name) != foreign.end()) {
      return Fail(
          ErrorKind::kInvalid,
          fmt::format("--env {}: this variable describes the batch job around this command, "
                      "and tasks get it from their node's own; to set it for the command: "
                      "-- env {}=VALUE COMMAND",
                      EscapeForScreen(name), EscapeForScreen(name)));
    }
  }
  return environment;
}

}  // namespace spate::cli
