#include "doors/parasol/programs/parasol.h"

#include <algorithm>
#include <array>

namespace spate::parasol {
namespace {

struct Form {
  std::string_view first, second;  // an empty second: the command is one word
  ParasolVerb verb;
  size_t least = 0;  // words behind it
};
constexpr std::array kForms = {
    Form{"add", "machine", ParasolVerb::kAddMachine, 2},
    Form{"add", "spoke", ParasolVerb::kAddSpoke},
    Form{"add", "job", ParasolVerb::kAddJob, 1},
    Form{"remove", "machine", ParasolVerb::kRemoveMachine, 2},
    Form{"remove", "job", ParasolVerb::kRemoveJob, 1},
    Form{"remove", "jobs", ParasolVerb::kRemoveJobs, 1},
    Form{"ping", "", ParasolVerb::kPing},
    Form{"list", "machines", ParasolVerb::kListMachines},
    Form{"list", "machine", ParasolVerb::kListMachines},
    Form{"list", "jobs", ParasolVerb::kListJobs},
    Form{"list", "job", ParasolVerb::kListJobs},
    Form{"list", "users", ParasolVerb::kListUsers},
    Form{"list", "user", ParasolVerb::kListUsers},
    Form{"list", "batches", ParasolVerb::kListBatches},
    Form{"list", "batch", ParasolVerb::kListBatches},
    Form{"list", "sick", ParasolVerb::kListSick},
    Form{"status", "", ParasolVerb::kStatus},
    Form{"pstat", "", ParasolVerb::kPstat},
    Form{"pstat2", "", ParasolVerb::kPstat2},
    Form{"plan", "", ParasolVerb::kPlan},
    Form{"check", "dead", ParasolVerb::kCheckDead},
    Form{"clear", "sick", ParasolVerb::kClearSick},
    Form{"flushResults", "", ParasolVerb::kFlushResults},
};

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

// 7, or 7-12
bool IsIds(std::string_view word) {
  size_t dash = word.find('-');
  return IsNumber(word.substr(0, dash)) &&
         (dash == std::string_view::npos || IsNumber(word.substr(dash + 1)));
}

// HOST TMPDIR, or all columns of a machine list.
bool IsMachine(std::span<const std::string> words) { return words.size() == 2 || words.size() > 6; }

bool WordsFit(ParasolVerb verb, std::string_view first, std::span<const std::string> words) {
  if (first == "list") return words.empty();
  switch (verb) {
    case ParasolVerb::kAddMachine:
      return IsMachine(words);
    case ParasolVerb::kRemoveJob:
      return std::ranges::all_of(words, IsIds);
    case ParasolVerb::kPing:
      return std::ranges::all_of(words, IsNumber);
    case ParasolVerb::kCheckDead:
    case ParasolVerb::kClearSick:
    case ParasolVerb::kFlushResults:
      return words.empty();
    default:
      return true;
  }
}

}  // namespace

std::vector<std::string> ParasolCommands() {
  std::vector<std::string> names;
  for (const Form& form : kForms) {
    std::string name(form.first);
    if (!form.second.empty()) name.append(" ").append(form.second);
    if (cli::UsageNames(kParasol, name)) names.push_back(std::move(name));
  }
  return names;
}

Result<ParasolAsk> ParseParasol(std::span<const std::string> args) {
  ParasolAsk ask;
  ask.options = ParasolOptions::ParseBeforeWords(args);
  const std::vector<std::string>& words = ask.options.words();
  for (const Form& form : kForms) {
    size_t own = form.second.empty() ? 1 : 2;
    if (words.size() < own + form.least || words[0] != form.first) continue;
    if (own == 2 && words[1] != form.second) continue;
    ask.verb = form.verb;
    ask.words.assign(words.begin() + static_cast<ptrdiff_t>(own), words.end());
    if (!WordsFit(ask.verb, form.first, ask.words)) break;
    return ask;
  }
  return Fail(ErrorKind::kInvalid, std::string(kParasol.usage));
}

bool MatchesWildcards(std::string_view pattern, std::string_view text) {
  // Behind the newest star, and where what it stands for ends now.
  size_t star = std::string_view::npos, end = 0;
  size_t at = 0, p = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      end = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[at])) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star;
      at = ++end;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

}  // namespace spate::parasol
