#include "hub/same_tasks.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace spate::hub {
namespace {

constexpr size_t kShown = 200;  // bytes of a command

// The command as a person types it after `--`, without control bytes.
std::string CommandText(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    text += ShellQuote(word);
    if (text.size() > kShown) break;
  }
  text = EscapeForScreen(text.substr(0, kShown + 1));
  return text.size() > kShown ? text + "..." : text;
}

// The same as arguments.
void AppendCommand(std::vector<std::string>& args, const std::vector<std::string>& command) {
  size_t shown = 0;
  for (const std::string& word : command) {
    shown += word.size();
    args.push_back(shown <= kShown ? word : "...");
    if (shown > kShown) break;
  }
}

// "the lines of a job list"
std::string KindText(const JobSettings& settings) {
  switch (settings.row_kind) {
    case RowKind::kListLine:
      return "the lines of a job list";
    case RowKind::kValues:
      return "values for the command " + CommandText(settings.command);
    case RowKind::kParasol:
      return "the jobs of a Parasol batch";
    case RowKind::kInput:
      return "pieces of input for the command " + CommandText(settings.command);
    case RowKind::kDagTask:
      return "the TASK records of a DAG file";
    case RowKind::kFunction:
      return "calls of a master-worker program";
    case RowKind::kResident:
      return "values for the resident command " + CommandText(settings.command);
  }
  return "of another kind";
}

// The command that adds to such a job; nullopt: no command does.
std::optional<Advice> HowToAdd(JobId job, const JobSettings& settings) {
  Advice add("job add", job.value);
  auto append = [&](std::string word) { add.args.push_back(std::move(word)); };
  switch (settings.row_kind) {
    case RowKind::kListLine:
      append("LIST");
      return add;
    case RowKind::kDagTask:
      append("FILE.dag");
      return add;
    case RowKind::kValues:
    case RowKind::kResident:
      if (settings.row_kind == RowKind::kResident) append("--resident");
      append("--");
      AppendCommand(add.args, settings.command);
      for (const char* word : {":::", "VALUES"}) {
        if (settings.has_source) append(word);
      }
      return add;
    case RowKind::kParasol:
    case RowKind::kInput:
    case RowKind::kFunction:
      break;
  }
  return std::nullopt;
}

// The first of the settings that tell what the values of a row are for; nullptr: they agree.
const char* OtherValues(const JobSettings& was, const JobSettings& is) {
  bool counted = was.record_values > 0 && is.record_values > 0;
  if (was.has_source != is.has_source) return "whether the command takes values";
  if (counted && was.record_values != is.record_values) return "the number of values of a task";
  if (was.value_names != is.value_names) return "the names of the values (--header, --array)";
  if (was.replace != is.replace) return "--replace-str";
  if (was.repeat_context != is.repeat_context) return "--fill";
  return nullptr;
}

}  // namespace

Status CheckSameTasks(JobId job, const JobSettings& settings, const JobSettings& added) {
  std::string differs;
  if (settings.row_kind != added.row_kind || settings.command != added.command) {
    differs =
        fmt::format("its tasks are {}, but these are {}", KindText(settings), KindText(added));
  } else if (const char* what = OtherValues(settings, added)) {
    differs = fmt::format("{} differs from that of its tasks", what);
  } else {
    return {};
  }
  std::string message = fmt::format("nothing was added to job {}: {}\n", job.value, differs);
  const std::string own = "To run these tasks: submit a job of their own ({})";
  auto how = HowToAdd(job, settings);
  if (!how) return Fail(ErrorKind::kInvalid, std::move(message), Remedy(own, Advice("submit")));
  return Fail(ErrorKind::kInvalid, std::move(message),
              Remedy(fmt::format("To add to job {}: {{}}\n{}", job.value, own), std::move(*how),
                     Advice("submit")));
}

}  // namespace spate::hub
