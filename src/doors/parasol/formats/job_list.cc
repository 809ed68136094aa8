#include "doors/parasol/formats/job_list.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "format/lines.h"

namespace spate::parasol {
namespace {

// One line, and what errors call it.
struct Line {
  std::string_view text;
  uint64_t number = 0;
  std::string_view file;

  std::unexpected<Error> Wrong(std::string_view what) const {
    return Fail(ErrorKind::kInvalid, fmt::format("{} line {} of {}", what, number, file));
  }
};

// The words between the braces, of which the first only begins with the clause's name, as in
// Parasol ({user cpu 2}); five of them when there are more than a clause takes.
using ClauseWords = std::array<std::string_view, 5>;
ClauseWords WordsOf(std::string_view inner) {
  ClauseWords words;
  for (std::string_view& word : words) word = format::NextWord(&inner);
  return words;
}

std::string Lower(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

Status ReadCheck(std::string_view inner, const Line& line, ParasolJob* job) {
  ClauseWords words = WordsOf(inner);
  if (words[3].empty() || !words[4].empty()) {
    return line.Wrong("Badly formatted check");
  }
  auto when = FromWord<CheckWhen>(Lower(words[1]));
  auto kind = FromWord<CheckKind>(Lower(words[2]));
  if (!when || !kind) {
    return line.Wrong(
        fmt::format("Unrecognized word '{}' in check", words[when.has_value() ? 2 : 1]));
  }
  job->checks.push_back({*when, *kind, std::string(words[3])});
  return {};
}

Status ReadUse(std::string_view inner, const Line& line, ParasolJob* job) {
  ClauseWords words = WordsOf(inner);
  if (words[2].empty() || !words[3].empty()) {
    return line.Wrong("Badly formatted 'use' clause in");
  }
  std::string_view amount = words[2];
  if (words[1] == "cpu") {
    const char* end = amount.data() + amount.size();
    auto [read, error] = std::from_chars(amount.data(), end, job->cpus);
    if (error == std::errc() && read == end && std::isfinite(job->cpus) && job->cpus >= 0) {
      return {};
    }
    return line.Wrong(fmt::format("'{}' is not a valid number of CPUs in use", amount));
  }
  if (words[1] != "ram") return line.Wrong(fmt::format("Unrecognized word '{}' in use", words[1]));
  auto size = ParseParasolSize(amount);
  if (!size) {
    return line.Wrong(fmt::format("Invalid RAM expression '{}' in 'use' clause", amount));
  }
  job->ram = *size;
  return {};
}

Result<ParasolJob> ReadLine(const Line& line) {
  constexpr std::string_view kCheck = "{check";
  constexpr std::string_view kUse = "{use";
  if (line.text.find('\0') != std::string_view::npos) return line.Wrong("A byte that is 0 in");
  ParasolJob job;
  job.spec = line.text;
  std::string_view rest = line.text;
  for (size_t at = 0; (at = rest.find('{', at)) != std::string_view::npos;) {
    std::string_view clause = rest.substr(at);
    bool check = clause.starts_with(kCheck);
    if (!check && !clause.starts_with(kUse)) {
      ++at;
      continue;
    }
    size_t close = clause.find('}');
    if (close == std::string_view::npos) {
      return line.Wrong(check ? "{check without }" : "{use without }");
    }
    std::string_view inner = clause.substr(1, close - 1);
    TRY(check ? ReadCheck(inner, line, &job) : ReadUse(inner, line, &job));
    job.command += rest.substr(0, at);
    if (check) job.command += job.checks.back().file;
    rest.remove_prefix(at + close + 1);
    at = 0;
  }
  job.command += rest;
  // Blanks around a clause stay, as in Parasol's batch file and results.
  if (format::TrimBlanks(job.command).empty())
    return line.Wrong("No command beside the clauses in");
  return job;
}

}  // namespace

Result<std::vector<ParasolJob>> ReadParasolList(std::string_view text, std::string_view name) {
  std::vector<ParasolJob> jobs;
  for (uint64_t number = 1; auto line = format::NextLine(&text); ++number) {
    std::string_view trimmed = format::TrimBlanks(*line);
    if (trimmed.empty() || trimmed.front() == '#') continue;
    auto job = TRY(ReadLine({trimmed, number, name}));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<uint64_t> ParseParasolSize(std::string_view text) {
  constexpr std::string_view kUnits = "kmgt";
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [read, error] = std::from_chars(text.data(), end, number);
  size_t unit = read + 1 == end ? kUnits.find(*read) : std::string_view::npos;
  int shift = unit == std::string_view::npos ? 0 : static_cast<int>(10 * (unit + 1));
  bool whole = read == end || shift > 0;
  if (error != std::errc() || !whole || number > std::numeric_limits<uint64_t>::max() >> shift) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a valid size (write for example 512m or 2g)", text));
  }
  return number << shift;
}

std::vector<std::string> FailedChecks(
    std::span<const Check> checks, CheckWhen when,
    const std::function<std::string(CheckKind, const char* file)>& why) {
  std::vector<std::string> messages;
  for (const Check& check : checks) {
    if (check.when != when) continue;
    std::string message = why(check.kind, check.file.c_str());
    if (!message.empty()) messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace spate::parasol
