// Fills in the templates of present/reasons.h.
#include "present/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/job.h"
#include "present/advice.h"
#include "present/reasons.h"

namespace spate::present {
namespace {

std::string Plural(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", FormatCount(count), what, count == 1 ? "" : "s");
}

// The texts between bars that are in no inner braces.
std::vector<std::string_view> AlternativesIn(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (text[at] != '|' || depth > 0) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// The place of the brace that closes the one at `open`.
size_t EndOf(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

bool IsLike(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// One clause, whose arguments may be missing.
class Clause {
 public:
  Clause(const Reason& reason, const ReasonRow& row, std::string_view reach)
      : reason_(reason), row_(row), arguments_(ArgumentsOf(row)), reach_(reach) {}
  std::string Text() const { return Fill(row_.text); }

 private:
  using Sort = ReasonArgument::Sort;
  // For an unknown name, a place behind all arguments.
  ReasonArgument Find(std::string_view name) const {
    auto found = std::ranges::find(arguments_, name, &ReasonArgument::name);
    return found == arguments_.end() ? ReasonArgument() : *found;
  }

  int64_t Number(size_t at) const { return at < reason_.numbers.size() ? reason_.numbers[at] : 0; }
  uint64_t Count(size_t at) const {
    return static_cast<uint64_t>(std::max<int64_t>(Number(at), 0));
  }
  Duration Time(size_t at) const {
    return at < reason_.times.size() ? reason_.times[at] : Duration();
  }
  std::string Name(size_t at) const {
    return at < reason_.names.size() ? reason_.names[at] : std::string();
  }
  std::span<const int64_t> NumbersFrom(size_t first) const {
    return std::span(reason_.numbers).subspan(std::min(first, reason_.numbers.size()));
  }
  std::span<const std::string> NamesFrom(size_t first) const {
    return std::span(reason_.names).subspan(std::min(first, reason_.names.size()));
  }

  std::string Fill(std::string_view text) const;
  std::string FillIn(std::string_view field) const;
  uint64_t Amount(std::string_view name) const;
  std::string Show(std::string_view name, std::string_view form) const;
  std::string ShowNumber(size_t at, std::string_view form) const;
  std::string Command(std::string_view words) const;
  std::string Made(std::string_view what) const;
  std::string Parents() const;
  std::string Troubles() const;
  std::string Process(std::span<const int64_t> counts) const;

  const Reason& reason_;
  const ReasonRow& row_;
  const std::vector<ReasonArgument> arguments_;
  std::string_view reach_;
};

std::string Clause::Fill(std::string_view text) const {
  std::string filled;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    filled += text.substr(0, open);
    if (open == text.size()) break;
    const size_t close = EndOf(text, open);
    filled += FillIn(text.substr(open + 1, close - open - 1));
    text.remove_prefix(std::min(close + 1, text.size()));
  }
  return filled;
}

std::string Clause::FillIn(std::string_view field) const {
  const std::vector<std::string_view> parts = AlternativesIn(field);
  const std::string_view rest = parts[0].substr(1);
  switch (field[0]) {
    case '*':
      return Fill(parts[std::min<uint64_t>(Amount(rest), parts.size() - 2) + 1]);
    case '=':
      return Fill(parts[Amount(rest) == 1 ? 1 : 2]);
    case '@':
      for (size_t i = 1; i + 1 < parts.size(); i += 2) {
        if (IsLike(Name(Find(rest).at), parts[i])) return Fill(parts[i + 1]);
      }
      return Fill(parts.back());
    case '!':
      return Command(rest);
    case '&':
      for (const auto& [name, part] : ReasonParts()) {
        if (name == rest) return Fill(part);
      }
      return "";
    case '%':
      return Made(rest);
    default:
      const size_t colon = std::min(field.find(':'), field.size());
      return Show(field.substr(0, colon), field.substr(std::min(colon + 1, field.size())));
  }
}

uint64_t Clause::Amount(std::string_view name) const {
  const ReasonArgument found = Find(name);
  if (found.sort == Sort::kTime) return Time(found.at).ns > 0 ? 1 : 0;
  if (found.sort == Sort::kName) return NamesFrom(found.at).size();
  return found.is_list ? NumbersFrom(found.at).size() : Count(found.at);
}

std::string Clause::ShowNumber(size_t at, std::string_view form) const {
  if (form.starts_with("a ")) return Plural(Count(at), form.substr(2));
  if (form == "count") return FormatCount(Count(at));
  if (form == "size") return FormatSize(Count(at));
  if (form == "cpus") return fmt::format("{:g}", Number(at) / 1000.0);
  return form == "amount" ? fmt::format("{:g}", 1.0 * Number(at)) : std::to_string(Number(at));
}

std::string Clause::Show(std::string_view name, std::string_view form) const {
  const ReasonArgument found = Find(name);
  if (found.sort == Sort::kTime) return FormatDuration(Time(found.at));
  if (found.sort == Sort::kNumber) {
    if (found.is_list) return fmt::format("{}", fmt::join(NumbersFrom(found.at), ", "));
    return ShowNumber(found.at, form);
  }
  const std::string text = Name(found.at);
  if (form == "quoted") return ShellQuote(text);
  if (form == "owner") return fmt::format("{} {}", IsGroup(text) ? "group" : "user", text);
  if (form != "nodes") return text;
  const std::span<const std::string> nodes = NamesFrom(found.at);
  if (nodes.empty()) return "disconnected nodes";
  return fmt::format("{}{}", fmt::join(nodes, ", "), Amount("more") != 0 ? ", ..." : "");
}

// The first two words are the command's own.
std::string Clause::Command(std::string_view words) const {
  const size_t end = std::min(words.find(' ', words.find(' ') + 1), words.size());
  Advice advice{std::string(words.substr(0, end))};
  words.remove_prefix(end);
  while (!words.empty()) {
    words.remove_prefix(1);
    const std::string_view word = words.substr(0, words.find(' '));
    const bool is_argument = Find(word).at != SIZE_MAX;
    advice.args.push_back(is_argument ? Show(word, "") : std::string(word));
    words.remove_prefix(word.size());
  }
  return TextOf(advice, reach_);
}

// ---- By code -----------------------------------------------------------------------------------

std::string Clause::Made(std::string_view what) const {
  if (what == "parents") return Parents();
  if (what == "troubles") return Troubles();
  const auto numbers = NumbersFrom(Find("counts").at);
  const auto counts = numbers.first(std::min<size_t>(Amount("resources"), numbers.size()));
  if (what == "process") return Process(counts);
  std::vector<std::string> holds;
  for (const int64_t room : numbers.subspan(counts.size())) {
    holds.push_back(fmt::format("{} holds {}", Name(counts.size() + holds.size()), room));
  }
  return fmt::format("{}{}", fmt::join(holds, ", "), Amount("more") != 0 ? ", ..." : "");
}

std::string Clause::Parents() const {
  std::vector<std::string> tasks;
  for (const int64_t number : NumbersFrom(Find("tasks").at)) {
    const std::string name = Name(tasks.size());
    tasks.push_back(name.empty() ? fmt::format("{}", number) : name);
  }
  return fmt::format("{}", fmt::join(tasks, ", "));
}

// "1 cpu, 2.0 GB of memory, 1 gpus"
std::string Clause::Process(std::span<const int64_t> counts) const {
  const size_t cpus = Find("cpus").at, memory = Find("memory").at;
  std::string text =
      fmt::format("{} cpu{}", ShowNumber(cpus, "cpus"), Number(cpus) == 1000 ? "" : "s");
  if (Count(memory) > 0) text += fmt::format(", {} of memory", FormatSize(Count(memory)));
  for (size_t i = 0; i < counts.size(); ++i) text += fmt::format(", {} {}", counts[i], Name(i));
  return text;
}

// "n1 (away for 2m), n2 (drained: its disk is full); to resume n2: spate node resume n2"
std::string Clause::Troubles() const {
  std::vector<std::string> nodes;
  Advice resume("node resume");
  for (size_t i = 0; i < reason_.numbers.size(); ++i) {
    const std::string note = Name(reason_.numbers.size() + i);
    const auto trouble = static_cast<NodeTrouble>(Number(i));
    std::string text = Time(i).ns > 0 ? "away for " + FormatDuration(Time(i)) : "silent";
    if (trouble == NodeTrouble::kDrained) {
      text = note.empty() ? "drained" : "drained: " + note;
      resume.args.push_back(Name(i));
    } else if (trouble == NodeTrouble::kFull) {
      text = "no room on its disk";
    } else if (trouble == NodeTrouble::kRefused) {
      text = fmt::format("refused: the hub does not support its spate version {}", note);
    }
    nodes.push_back(trouble == NodeTrouble::kMore ? "..." : fmt::format("{} ({})", Name(i), text));
  }
  std::string text = fmt::format("{}", fmt::join(nodes, ", "));
  if (resume.args.empty()) return text;
  return fmt::format("{}; to resume {}: {}", text, fmt::join(resume.args, ", "),
                     TextOf(resume, reach_));
}

}  // namespace

std::string TextOf(const Why& why, std::string_view reach) {
  std::string text;
  for (const Reason& reason : why) {
    const ReasonRow* row = FindReason(reason.kind);
    text += row != nullptr ? Clause(reason, *row, reach).Text()
                           : "for a reason that only a newer release can show";
  }
  return EscapeForScreen(text);  // names and words of users, programs and batch systems are in it
}

}  // namespace spate::present
