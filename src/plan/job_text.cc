#include "plan/job_text.h"

#include <fmt/format.h>

#include "format/dag_line.h"
#include "format/expand.h"
#include "format/input_row.h"
#include "os/file.h"
#include "plan/list_places.h"
#include "view/results_table.h"
#include "view/results_tree.h"
#include "wire/field_bytes.h"

namespace spate::run {
namespace {

// They are our own, and may have a word for each two bytes of the longest command line.
constexpr uint32_t kMostWords = 4'000'000;

using TagMaker = std::function<std::string(std::string row, TaskIndex index)>;

// --tagstring: the text in front of a task's lines, from its row.
Result<TagMaker> MakeTag(const std::string& text, const JobSettings& settings) {
  // A tag is a word that a task of such a command would get.
  JobSettings tag = settings;
  tag.row_kind = RowKind::kValues;
  tag.has_source = true;
  tag.command = {"{#}", text};  // with a placeholder, so that none is added
  tag.stdin_pattern.clear();
  auto compiled = format::CompileJob(tag, JobId(1));
  if (!compiled) return Within("--tagstring", compiled.error());
  return [kind = settings.row_kind, tag = *compiled](std::string row, TaskIndex index) {
    if (kind == RowKind::kInput) row = format::InputText(row);
    if (kind == RowKind::kDagTask) row = format::DagTaskName(row);
    auto body = format::Expand(tag, row, index, 0);
    if (!body) return std::string();
    const auto& words = body->steps.front().commands.front().argv;
    return fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  };
}

}  // namespace

std::string ListName(const std::string& cwd, const std::string& file) {
  if (file == "-") return file;
  std::string path = os::JoinPath(cwd, file);
  return os::AbsolutePath(path).value_or(path);
}

Status DecodeRowSettings(std::string_view column, JobSettings& settings) {
  auto stored = wire::FromBytes<JobSettings>("the settings", column, kMostWords, Duration::Max());
  if (!stored || stored->cwd.empty()) {
    return Fail(ErrorKind::kCorrupt, "the job's settings are damaged; run its list again");
  }
  settings.row_kind = stored->row_kind;
  settings.command = std::move(stored->command);
  settings.value_names = std::move(stored->value_names);
  settings.record_values = stored->record_values;
  settings.has_source = stored->has_source;
  settings.repeat_context = stored->repeat_context;
  settings.bash = stored->bash;
  return {};
}

std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row) {
  std::vector<std::string> values;
  if (!settings.has_source) return values;
  if (settings.row_kind == RowKind::kListLine) return {std::move(row)};
  if (settings.row_kind == RowKind::kInput) return {format::InputText(row)};
  if (settings.row_kind == RowKind::kDagTask) return {std::string(format::DagTaskName(row))};
  size_t start = 0;
  for (size_t end = row.find('\0'); end != std::string::npos; end = row.find('\0', start)) {
    values.push_back(row.substr(start, end - start));
    start = end + 1;
  }
  values.push_back(row.substr(start));
  return values;
}

Result<cli::ViewTexts> MakeTexts(TextsOf of) {
  auto compiled = TRY(format::CompileJob(of.settings, of.job));
  cli::ViewTexts texts;
  texts.command = [of, compiled](TaskIndex index) {
    auto row = of.row(index);
    return row ? format::CommandText(compiled, *row, index, 0) : std::string();
  };
  if (compiled->HasNames()) {
    texts.name = [of, compiled](TaskIndex index) {
      auto row = of.row(index);
      return row ? compiled->Name(*row) : std::string();
    };
  }
  texts.values = [of](TaskIndex index) {
    auto row = of.row(index);
    return row ? ValuesOfRow(of.settings, std::move(*row)) : std::vector<std::string>();
  };
  const RowKind kind = of.settings.row_kind;
  if (kind == RowKind::kListLine || kind == RowKind::kDagTask) {
    texts.places = [of, kind](const std::vector<TaskIndex>& indices) {
      std::vector<cli::WantedPlace> wanted;
      for (TaskIndex index : indices) wanted.push_back({index, of.row(index).value_or("")});
      const cli::SourceOptions& sources = of.options.sources;
      return cli::PlacesInLists(of.cwd, sources.files, wanted, kind, sources.follow_until);
    };
  }
  if (of.options.show.tag_text.empty()) return texts;
  auto tag = TRY(MakeTag(of.options.show.tag_text, of.settings));
  texts.tag = [of, tag = std::move(tag)](TaskIndex index) {
    auto row = of.row(index);
    return row ? tag(std::move(*row), index) : std::string();
  };
  return texts;
}

cli::OutputRules OutputRulesOf(const cli::RunOptions& options, const JobSettings& settings) {
  cli::OutputRules rules{.settings = settings};
  const std::string& dir = options.show.results_dir;
  if (dir.empty() || cli::TableFormOf(dir)) return rules;
  rules.results = [&settings, dir](std::string_view row) {
    return os::JoinPath(dir, cli::ResultsFolder(ValuesOfRow(settings, std::string(row)),
                                                settings.value_names, settings.record_values));
  };
  return rules;
}

Status CheckOutputs(const cli::RunOptions& options, const JobSettings& settings,
                    const cli::RowSource& rows) {
  return cli::CheckOutputs(OutputRulesOf(options, settings),
                           [&rows](const cli::TaskRowVisitor& visit) {
                             TaskIndex task = 0;
                             rows([&](std::string_view row) { visit(task++, row); });
                           });
}

}  // namespace spate::run
