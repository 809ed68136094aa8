// Line = STATUS HOST JOBID EXE UTICKS STICKS SUBMIT START END USER ERRFILE 'COMMAND'
// Readers take the first eleven words; the command is free text.

#include "doors/parasol/formats/results.h"

#include <fmt/format.h>

#include "base/number.h"
#include "base/units.h"
#include "format/lines.h"

namespace spate::parasol {
namespace {

template <typename T>
bool Read(std::string_view word, T* number) {
  auto read = ReadNumber<T>(word);
  if (read) *number = *read;
  return read.has_value();
}

// Empty, or what is wrong.
std::string ReadLine(std::string_view line, ParasolEnd* end) {
  auto text = [&](std::string* to) {
    *to = format::NextWord(&line);
    return !to->empty();
  };
  std::string bad;
  auto number = [&](auto* to) {
    std::string_view word = format::NextWord(&line);
    bool good = Read(word, to);
    if (!good && !word.empty())
      bad = fmt::format("'{}' is not a valid number", EscapeForScreen(word));
    return good;
  };
  bool whole = number(&end->status) && text(&end->host) && text(&end->id) && text(&end->program) &&
               number(&end->user_ticks) && number(&end->system_ticks) && number(&end->submitted) &&
               number(&end->started) && number(&end->ended) && text(&end->user) &&
               text(&end->err_file);
  if (whole) return {};
  return bad.empty() ? "fewer than 11 words" : bad;
}

std::string_view WordOf(std::string_view text) { return text.empty() ? "none" : text; }

}  // namespace

std::string ResultsLine(const ParasolEnd& end) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} '{}'\n", end.status, WordOf(end.host),
                     WordOf(end.id), WordOf(end.program), end.user_ticks, end.system_ticks,
                     end.submitted, end.started, end.ended, WordOf(end.user), WordOf(end.err_file),
                     end.command);
}

std::string_view ProgramOf(std::string_view command) {
  std::string_view word = format::NextWord(&command);
  return word.substr(word.rfind('/') + 1);
}

ReadResultsResult ReadResults(std::string_view text, std::string_view name, uint64_t offset) {
  ReadResultsResult result;
  size_t newline = text.rfind('\n');
  result.bytes = newline == std::string_view::npos ? 0 : newline + 1;
  std::string_view rest = text.substr(0, result.bytes);
  while (true) {
    uint64_t at = offset + result.bytes - rest.size();
    auto line = format::NextLine(&rest);
    if (!line) return result;
    if (format::TrimBlanks(*line).empty()) continue;
    ParasolEnd end;
    std::string wrong = ReadLine(*line, &end);
    if (wrong.empty()) {
      result.ends.push_back(std::move(end));
    } else {
      result.damage.push_back(fmt::format(
          "{}: the line at byte {} is not a valid result ({}): it is left out", name, at, wrong));
    }
  }
}

Result<uint64_t> ReadBookmark(std::string_view text, std::string_view name) {
  std::string_view word = format::TrimBlanks(text);
  uint64_t bytes = 0;
  if (word.empty() || Read(word, &bytes)) return bytes;
  return Fail(ErrorKind::kCorrupt,
              fmt::format("{} holds no number: remove it, and all results are read again", name));
}

std::string WriteBookmark(uint64_t bytes) { return fmt::format("{}\n", bytes); }

}  // namespace spate::parasol
