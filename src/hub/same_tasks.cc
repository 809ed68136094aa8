#include "hub/same_tasks.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/units.h"

namespace spate::hub {
namespace {

// As one would type it behind `--`, without control bytes.
std::string CommandText(const std::vector<std::string>& command) {
  constexpr size_t kShown = 200;
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    text += ShellQuote(word);
    if (text.size() > kShown) break;
  }
  text = EscapeForScreen(text.substr(0, kShown + 1));
  return text.size() > kShown ? text + "..." : text;
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

// What adds to such a job; empty: nothing that a person types does.
std::string HowToAdd(JobId job, const JobSettings& settings) {
  switch (settings.row_kind) {
    case RowKind::kListLine:
      return fmt::format("spate job add {} LIST", job.value);
    case RowKind::kDagTask:
      return fmt::format("spate job add {} FILE.dag", job.value);
    case RowKind::kValues:
    case RowKind::kResident:
      return fmt::format("spate job add {}{} -- {}{}", job.value,
                         settings.row_kind == RowKind::kResident ? " --resident" : "",
                         CommandText(settings.command), settings.has_source ? " ::: VALUES" : "");
    case RowKind::kParasol:
    case RowKind::kInput:
    case RowKind::kFunction:
      break;
  }
  return "";
}

// The first of the settings that tell what the values of a row are for; nullptr: they agree.
const char* OtherValues(const JobSettings& was, const JobSettings& is) {
  bool counted = was.record_values > 0 && is.record_values > 0;
  if (was.has_source != is.has_source) return "whether the command takes values";
  if (counted && was.record_values != is.record_values) return "the number of values of a task";
  if (was.value_names != is.value_names) return "the names of the values (--header)";
  if (was.replace != is.replace) return "--replace-str";
  if (was.repeat_context != is.repeat_context) return "--fill";
  return nullptr;
}

}  // namespace

Status CheckSameTasks(JobId job, const JobSettings& settings, const JobSettings& added) {
  std::string differs;
  if (settings.row_kind != added.row_kind || settings.command != added.command) {
    differs =
        fmt::format("its tasks are {}, and these are {}", KindText(settings), KindText(added));
  } else if (const char* what = OtherValues(settings, added)) {
    differs = fmt::format("{} differs from that of its tasks", what);
  } else {
    return {};
  }
  std::string how = HowToAdd(job, settings);
  if (!how.empty()) how = fmt::format("To add to job {}: {}\n", job.value, how);
  return Fail(ErrorKind::kInvalid,
              fmt::format("nothing was added to job {}: {}\n{}To run these tasks: submit a job of "
                          "their own (spate submit)",
                          job.value, differs, how));
}

}  // namespace spate::hub
