#include "cli/options/submit_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "cli/options/option_reader.h"
#include "core/model/limits.h"
#include "core/model/pool_facts.h"

namespace spate::cli {
namespace {

// Takes a number from the front of `text`.
std::optional<uint64_t> TakeNumber(std::string_view& text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeSign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

std::string NameOfVariable(std::string_view assignment) {
  return std::string(assignment.substr(0, assignment.find('=')));
}

}  // namespace

Result<ArrayRange> ParseArray(std::string_view value) {
  std::string_view rest = value;
  ArrayRange array;
  auto wrong = [&] {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a range; write for example 1-1000, 0-100:5 or 1-1000%20",
                            EscapeForScreen(value)));
  };
  auto first = TakeNumber(rest);
  if (!first) return wrong();
  array.first = array.last = *first;
  if (TakeSign(rest, '-')) {
    auto last = TakeNumber(rest);
    if (!last) return wrong();
    array.last = *last;
  }
  if (TakeSign(rest, ':')) {
    auto step = TakeNumber(rest);
    if (!step || *step == 0) return wrong();
    array.step = *step;
  }
  if (TakeSign(rest, '%')) {
    auto most = TakeNumber(rest);
    if (!most || *most == 0 || *most > kLimits.tasks_per_job) return wrong();
    array.most = static_cast<uint32_t>(*most);
  }
  if (!rest.empty() || array.last < array.first) return wrong();
  if ((array.last - array.first) / array.step >= kLimits.tasks_per_job) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is more than {} tasks; make several jobs of it",
                            EscapeForScreen(value), FormatCount(kLimits.tasks_per_job)));
  }
  return array;
}

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
                fmt::format("'{}' names no job; write for example 12, any:12, fail:12 or each:12",
                            EscapeForScreen(value)));
  }
  after.job = job;
  return after;
}

Result<uint32_t> ParseJobWeight(std::string_view value) {
  auto weight = ParseInteger(value, 1, kMaxJobWeight);
  if (!weight) return std::unexpected(weight.error());
  return static_cast<uint32_t>(*weight);
}

Result<JobChanges> MakeJobChanges(const Words& words) {
  JobChanges changes;
  OptionReader in(words);
  uint32_t number = 0;
  if (in.Read(Opt::kJobWeight, number, ParseJobWeight)) changes.weight = number;
  if (in.Read(Opt::kMaxRunning, number, CountUpTo(kLimits.tasks_per_job))) {
    changes.max_running = number;
  }
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  if (!changes.weight && !changes.max_running) {
    return Fail(ErrorKind::kInvalid,
                "what shall change? Write for example: spate job set 12 --max-running 4");
  }
  return changes;
}

Result<SubmitOptions> MakeSubmitOptions(const Words& words) {
  auto run = MakeRunOptions(words);
  if (!run) return std::unexpected(run.error());
  SubmitOptions options{.run = std::move(*run)};
  OptionReader in(words);
  options.wait = in.Has(Opt::kWait);
  options.progress = in.Has(Opt::kProgress);
  options.open = in.Has(Opt::kOpen);
  ArrayRange array;
  if (in.Read(Opt::kArray, array, ParseArray)) {
    options.array = array;
    options.max_running = array.most;
  }
  in.ReadAll(Opt::kAfter, ParseAfter,
             [&](AfterJob after) { options.after.push_back(std::move(after)); });
  in.Read(Opt::kPriority, options.priority,
          [](std::string_view value) { return ParseInteger(value, -1'000'000, 1'000'000); });
  // -j of `run --hub` bounds the job's tasks at once, wherever they run.
  const SlotRule& slots = options.run.slots;
  bool bounded = options.run.slots_given && slots.form == SlotRule::Form::kCount;
  if (words.command == Command::kRun && bounded) options.max_running = slots.value;
  in.Read(Opt::kMaxRunning, options.max_running, CountUpTo(kLimits.tasks_per_job));
  in.Read(Opt::kJobWeight, options.weight, ParseJobWeight);
  Needs& needs = options.run.needs;
  needs.labels = words.All(Opt::kWithLabel);
  in.Text(Opt::kInPool, options.pool);
  if (!options.pool.empty()) needs.labels.push_back(std::string(kPoolLabel) + options.pool);
  needs.not_on = words.All(Opt::kNotOnNode);
  for (std::vector<std::string>* names : {&needs.labels, &needs.not_on}) {
    std::sort(names->begin(), names->end());
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  in.Text(Opt::kOnNode, needs.on_node);
  in.Text(Opt::kNotify, options.notify);
  if (words.Last(Opt::kNotify) && options.notify.empty()) {
    return Fail(ErrorKind::kInvalid, "--notify: name a command, as in: --notify 'mail -s done me'");
  }
  options.environment = words.All(Opt::kEnv);
  if (words.command == Command::kJobAdd) options.job = words.words.front();
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  const SourceOptions& sources = options.run.sources;
  if (options.array && !sources.has_command) {
    return Fail(ErrorKind::kInvalid,
                "--array gives values to a command: write the command after --, as in spate submit "
                "--array 1-100 -- ./step {}");
  }
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
                    fmt::format("--env {}: there is no such variable here; write --env {}=VALUE",
                                EscapeForScreen(name), EscapeForScreen(name)));
      }
      assignment = *known;
    }
    std::erase_if(environment,
                  [&](const std::string& known) { return NameOfVariable(known) == name; });
    environment.push_back(std::move(assignment));
  }
  return environment;
}

}  // namespace spate::cli
