// Parses one line of a job list. Most lines hold no clause at all: one memchr for '{' and one for
// NUL, then a copy. Clauses are recognised wherever they stand, also in the middle of a word:
//   {check in|out exists|exists+|line|line+ FILE}     {use cpu N}     {use ram SIZE}
//   {name NAME}     {after NAME...}     {forward VAR FILE}
// A clause starts with "{check" or "{use", then a blank or the closing brace, so that programs of
// awk ({used += $1}) and variables of the shell (${check}) keep their meaning. The others want a
// blank: "{name}" is a placeholder in many texts.

#include "format/list_line.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/near.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/needs.h"
#include "format/shell_words.h"

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr double kCpusMax = 1e6;
constexpr std::array kKinds = {"exists"sv, "exists+"sv, "line"sv, "line+"sv};
constexpr std::string_view kCheckForm = "{check in|out exists|exists+|line|line+ FILE}";
constexpr std::string_view kUseForm = "{use cpu N} or {use ram SIZE}";

// The part of a user's text that a message shows.
std::string Shown(std::string_view text) {
  constexpr size_t kShownMax = 60;
  bool cut = text.size() > kShownMax;
  return EscapeForScreen(text.substr(0, kShownMax)) + (cut ? "..." : "");
}

struct ClauseKind {
  std::string_view word;
  std::string_view form;
  bool may_be_empty = false;  // "{word}" is one, too: a wrong one
};
constexpr ClauseKind kCheck = {"check", kCheckForm, true};
constexpr ClauseKind kUse = {"use", kUseForm, true};
constexpr ClauseKind kName = {"name", "{name NAME}"};
constexpr ClauseKind kAfter = {"after", "{after NAME...}"};
constexpr ClauseKind kForward = {"forward", "{forward VAR FILE}"};

struct Clause {
  const ClauseKind* kind = nullptr;
  std::string_view whole;               // with the braces
  std::vector<std::string_view> words;  // after the first
};

// Kind of the clause that starts at text[at], which is a '{'; null: none does.
const ClauseKind* KindAt(std::string_view text, size_t at) {
  if (at > 0 && text[at - 1] == '$') return nullptr;
  for (const ClauseKind* kind : {&kCheck, &kUse, &kName, &kAfter, &kForward}) {
    std::string_view rest = text.substr(at + 1);
    if (!rest.starts_with(kind->word)) continue;
    rest.remove_prefix(kind->word.size());
    bool ends = rest.empty() || rest.front() == '}';
    if (ends ? kind->may_be_empty : kBlanks.find(rest.front()) != std::string_view::npos) {
      return kind;
    }
  }
  return nullptr;
}

Result<Clause> ReadClause(std::string_view text, const ClauseKind& kind) {
  size_t close = text.find('}');
  if (close == std::string_view::npos) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{{{} without }}: write {}", kind.word, kind.form));
  }
  Clause clause{.kind = &kind, .whole = text.substr(0, close + 1), .words = {}};
  std::string_view inner = text.substr(0, close);
  inner.remove_prefix(kind.word.size() + 1);
  for (;;) {
    size_t start = inner.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return clause;
    size_t end = std::min(inner.find_first_of(kBlanks, start), inner.size());
    clause.words.push_back(inner.substr(start, end - start));
    inner.remove_prefix(end);
  }
}

std::unexpected<Error> BadForm(const Clause& clause) {
  bool blanks = clause.kind == &kCheck && clause.words.size() > 3;
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("Badly formatted {} '{}': write {}{}", clause.kind->word, Shown(clause.whole),
                  clause.kind->form, blanks ? "; the name of the file cannot contain blanks" : ""));
}

std::unexpected<Error> BadWord(const Clause& clause, std::string_view word,
                               std::span<const std::string_view> known, std::string_view form) {
  return Fail(ErrorKind::kInvalid,
              fmt::format("Unrecognized word '{}' in {}{}: write {}", Shown(word),
                          clause.kind->word, DidYouMean(word, known), form));
}

Result<Check> ReadCheck(const Clause& clause) {
  static constexpr std::array kWhens = {"in"sv, "out"sv};
  if (clause.words.size() != 3) return BadForm(clause);
  Check check;
  if (clause.words[0] == "out") {
    check.when = CheckWhen::kOut;
  } else if (clause.words[0] != "in") {
    return BadWord(clause, clause.words[0], kWhens, "in or out");
  }
  size_t kind = 0;
  while (kind < kKinds.size() && kKinds[kind] != clause.words[1]) ++kind;
  if (kind == kKinds.size()) {
    return BadWord(clause, clause.words[1], kKinds, "exists, exists+, line or line+");
  }
  check.kind = static_cast<CheckKind>(kind);
  check.file = clause.words[2];
  return check;
}

Status ReadUse(const Clause& clause, ListLine* line) {
  static constexpr std::array kWhats = {"cpu"sv, "ram"sv};
  if (clause.words.size() != 2) return BadForm(clause);
  std::string_view amount = clause.words[1];
  if (clause.words[0] == "cpu") {
    double cpus = 0;
    auto [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), cpus,
                                        std::chars_format::fixed);
    if (error != std::errc() || end != amount.data() + amount.size() || !(cpus >= 0.001) ||
        cpus > kCpusMax) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("'{}' in {{use cpu}} is not a number of processors: write for "
                              "example {{use cpu 2}} or {{use cpu 0.5}}",
                              Shown(amount)));
    }
    line->milli_cpus = static_cast<uint32_t>(std::lround(cpus * kMilliCpu));
    return {};
  }
  if (clause.words[0] != "ram") return BadWord(clause, clause.words[0], kWhats, "cpu or ram");
  auto size = ParseSize(amount);
  if (!size) return Within("in {use ram}", std::move(size.error()));
  if (*size == 0) {
    return Fail(ErrorKind::kInvalid,
                "'0' in {use ram} requests no memory; write for example {use ram 2g}, or leave the "
                "clause out");
  }
  line->memory = *size;
  return {};
}

Status ReadForward(const Clause& clause, ListLine* line) {
  if (clause.words.size() != 2) return BadForm(clause);
  Forward forward{std::string(clause.words[0]), std::string(clause.words[1])};
  if (auto sound = CheckVariable(forward.from); !sound) return Within("{forward}", sound.error());
  line->pipe_forwards.push_back(std::move(forward));
  return {};
}

// Carries the clause out; returns what stands in its place in the command.
Result<std::string_view> Take(const Clause& clause, ListLine* line) {
  if (clause.kind == &kCheck) {
    auto check = TRY(ReadCheck(clause));
    line->checks.push_back(std::move(check));
    return clause.words[2];
  }
  if (clause.kind == &kUse) {
    TRY(ReadUse(clause, line));
    return "";
  }
  if (clause.words.empty()) return BadForm(clause);
  if (clause.kind == &kName) {
    if (clause.words.size() != 1) return BadForm(clause);
    line->name = clause.words.front();
    return "";
  }
  if (clause.kind == &kForward) {
    TRY(ReadForward(clause, line));
    return "";
  }
  line->after.insert(line->after.end(), clause.words.begin(), clause.words.end());
  return "";
}

// Puts the text with its clauses carried out into line->command.
Status TakeClauses(std::string_view text, size_t brace, ListLine* line) {
  std::string command;
  command.reserve(text.size());
  size_t copied = 0;
  for (size_t at = brace; at != std::string_view::npos; at = text.find('{', at)) {
    const ClauseKind* kind = KindAt(text, at);
    if (kind == nullptr) {
      ++at;
      continue;
    }
    auto clause = TRY(ReadClause(text.substr(at), *kind));
    auto instead = TRY(Take(clause, line));
    command += text.substr(copied, at - copied);
    command += instead;
    at += clause.whole.size();
    copied = at;
  }
  command += text.substr(copied);
  line->command = TrimLine(command);
  return {};
}

// Only for long commands: execve has limits for one argument and for all.
Status CheckLength(std::string_view command) {
  if (NeedsShell(command)) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the command is {} bytes long, but a shell accepts at most {}; put it "
                            "into a script and call that",
                            FormatCount(command.size()), FormatCount(kLimits.shell_text_bytes)));
  }
  if (command.size() > kLimits.argv_bytes) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the command is {} bytes long, but Spate accepts at most {}; pass the "
                            "arguments in a file",
                            FormatCount(command.size()), FormatCount(kLimits.argv_bytes)));
  }
  for (const std::string& word : SplitBlanks(command)) {
    if (word.size() > kLimits.shell_text_bytes) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("the word '{}' is {} bytes long, but the system accepts at most {} "
                              "in one argument; pass it in a file",
                              Shown(word), FormatCount(word.size()),
                              FormatCount(kLimits.shell_text_bytes)));
    }
  }
  return {};
}

}  // namespace

std::string_view TrimLine(std::string_view text) {
  size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  size_t end = text.find_last_not_of(kBlanks) + 1;
  if (text[end - 1] == '\\' && end < text.size() && text[end] != '\r') ++end;
  return text.substr(start, end - start);
}

Result<ListLine> ParseListLine(std::string_view line) {
  std::string_view text = TrimLine(line);
  if (size_t nul = line.find('\0'); nul != std::string_view::npos) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("byte {} is NUL, which is not allowed in commands; remove it (is this "
                            "a list of commands?)",
                            nul + 1));
  }
  ListLine parsed;
  size_t brace = text.find('{');
  if (brace == std::string_view::npos) {
    parsed.command = text;
  } else if (auto status = TakeClauses(text, brace, &parsed); !status) {
    return std::unexpected(std::move(status.error()));
  }
  if (parsed.command.empty()) {
    return Fail(ErrorKind::kInvalid,
                "the line has clauses but no command; write one, or remove the line");
  }
  if (parsed.command.size() > kLimits.shell_text_bytes) {
    TRY(CheckLength(parsed.command));
  }
  return parsed;
}

}  // namespace spate::format
