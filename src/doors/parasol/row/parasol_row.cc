#include "doors/parasol/row/parasol_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "doors/parasol/row/parasol_id.h"
#include "format/argv.h"

namespace spate::parasol {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr const char* kNullDevice = "/dev/null";

template <typename Number>
bool NextNumber(std::string_view& rest, char behind, Number& to) {
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), to);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != behind) return false;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()) + 1);
  return true;
}

bool DrainText(std::string_view& rest, std::string_view& to) {
  size_t end = rest.find('\0');
  if (end == std::string_view::npos) return false;
  to = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return true;
}

std::string WithId(std::string_view text, std::string_view id) {
  constexpr std::string_view kVariable = "$JOB_ID";
  std::string out;
  for (size_t at; (at = text.find(kVariable)) != std::string_view::npos;) {
    out.append(text.substr(0, at)).append(id);
    text.remove_prefix(at + kVariable.size());
  }
  return out.append(text);
}

std::vector<std::string> WordsOf(std::string_view text, std::string_view id) {
  std::vector<std::string> words;
  if (text.find('\0') != std::string_view::npos) {
    // Its last word has one behind it, too.
    for (std::string_view word; DrainText(text, word);) words.push_back(WithId(word, id));
    return words;
  }
  for (size_t at; (at = text.find_first_not_of(kBlanks)) != std::string_view::npos;) {
    text.remove_prefix(at);
    std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    words.push_back(WithId(word, id));
    text.remove_prefix(word.size());
  }
  return words;
}

}  // namespace

void AppendParasolRow(const ParasolRow& row, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{} {}", row.job, row.submitted);
  for (std::string_view field : {row.folder, row.in, row.out}) {
    out->push_back('\0');
    out->append(field);
  }
  out->push_back('\0');
  out->append(row.text);
}

Result<ParasolRow> ReadParasolRow(std::string_view row) {
  ParasolRow read;
  bool whole = NextNumber(row, ' ', read.job) && NextNumber(row, '\0', read.submitted) &&
               DrainText(row, read.folder) && DrainText(row, read.in) && DrainText(row, read.out);
  if (!whole) return Fail(ErrorKind::kCorrupt, "a job of Parasol that cannot be read");
  read.text = row;
  return read;
}

std::string ParasolText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(word).push_back('\0');
  return text;
}

std::string ParasolCommand(std::string_view text) {
  std::string command(text);
  if (command.ends_with('\0')) command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return command;
}

Result<TaskBody> ParasolBody(std::string_view row, JobId job, TaskIndex task) {
  auto read = TRY(ReadParasolRow(row));
  std::string id = fmt::format("{}", ParasolId(job, task));
  TaskBody body;
  body.cwd = read.folder;
  body.stdin_file = WithId(read.in, id);
  body.stdout_file = read.out.empty() ? kNullDevice : WithId(read.out, id);
  std::vector<std::string>& argv = body.steps.emplace_back().commands.emplace_back().argv;
  argv = WordsOf(read.text, id);
  if (argv.empty()) return Fail(ErrorKind::kInvalid, "there is no command");
  TRY(format::CheckArgv(argv));
  body.environment.push_back("JOB_ID=" + id);
  return body;
}

}  // namespace spate::parasol
