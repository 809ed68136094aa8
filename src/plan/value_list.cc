#include "plan/value_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/expand.h"
#include "format/input_row.h"
#include "format/json_lines/json_lines.h"
#include "format/records.h"
#include "format/sources/csv.h"
#include "format/sources/sources.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr size_t kValuesBytesMost = size_t{4} << 30;

// The texts that values are views of, and the sources in order: first those of JSON.
struct Values {
  std::deque<std::string> texts;
  std::deque<format::JsonLines> json;
  std::vector<format::SourceWords> words;
  std::vector<format::SourceValues> sources;
};

// True if the command has a place for values, or an option says how they come.
bool AsksForValues(const RunOptions& options, const std::vector<std::string>& command) {
  const SourceOptions& sources = options.sources;
  if (sources.header || sources.csv || sources.fill || sources.null_separated || sources.trim ||
      sources.max_args > 0 || !sources.colsep.empty() || !sources.delimiter.empty() ||
      sources.resident) {
    return true;
  }
  return format::AsksForValue(command, options.settings.replace);
}

// In parallel's order: -a files first. Without any, standard input when it brings values: for a
// submit, which may stand in a loop that reads it, only when the command asks for them.
std::vector<format::SourceWords> AllSources(const RunOptions& options, const LoadContext& context,
                                            std::vector<format::SourceWords> typed, bool asks) {
  std::vector<format::SourceWords> all;
  for (const std::string& file : options.sources.arg_files) {
    all.push_back({.is_file = true, .linked = false, .values = {}, .file = file});
  }
  std::move(typed.begin(), typed.end(), std::back_inserter(all));
  bool none = all.empty() && options.sources.json_files.empty();
  if (none && (asks || !options.is_submit) && StdinIsSource(context.stdin_fd)) {
    all.push_back({.is_file = true, .linked = false, .values = {}, .file = "-"});
  }
  return all;
}

// Reads files of values, standard input at most once.
class SourceReader {
 public:
  explicit SourceReader(const LoadContext& context) : context_(context) {}
  Result<std::string> Read(const std::string& file) {
    bool standard = file == "-";
    if (standard && std::exchange(stdin_taken_, true)) {
      return Fail(ErrorKind::kInvalid,
                  "standard input is named as a source twice, but can be read only once");
    }
    auto text = standard ? ReadStdin() : os::ReadFile(file, kValuesBytesMost);
    if (!text) return Fail(ErrorKind::kInvalid, text.error().message);
    return text;
  }
  static std::string NameOf(const std::string& file) {
    return file == "-" ? "standard input" : EscapeForScreen(file);
  }

 private:
  // People are told when it takes long: it may be that nobody meant it.
  Result<std::string> ReadStdin() {
    constexpr Duration kLong = Duration::Seconds(1);
    constexpr size_t kStdinPiece = 64 * 1024;
    const std::string name = NameOf("-");
    const Instant last = Instant{os::MonotonicNanos()} + kLong;
    std::string text;
    while (context_.on_slow && text.size() < kValuesBytesMost) {
      Duration left = last - Instant{os::MonotonicNanos()};
      if (left.ns <= 0 || !os::WaitReadable(context_.stdin_fd, left)) {
        context_.on_slow("reading values from standard input (for none: < /dev/null)");
        break;
      }
      size_t size = text.size();
      text.resize(size + kStdinPiece);
      auto more = TRY(os::ReadSome(context_.stdin_fd, text.data() + size, kStdinPiece, name));
      text.resize(size + more);
      if (more == 0) return text;
    }
    auto rest = os::ReadToEnd(context_.stdin_fd, kValuesBytesMost - text.size(), name);
    if (!rest) return rest;
    return text.empty() ? std::move(*rest) : text + *rest;
  }

  const LoadContext& context_;
  bool stdin_taken_ = false;
};

Status ReadJson(SourceReader& reader, const std::string& file, Values& values) {
  auto text = TRY(reader.Read(file));
  auto lines = format::ParseJsonLines(text);
  if (!lines) return Within(SourceReader::NameOf(file), lines.error());
  const format::JsonLines& kept = values.json.emplace_back(std::move(*lines));
  format::SourceValues& out = values.sources.emplace_back();
  out.values.assign(kept.rows.begin(), kept.rows.end());
  out.names = kept.names;
  return {};
}

char CsvSeparator(const SourceOptions& sources) {
  if (sources.colsep.empty()) return ',';
  return sources.colsep == "\\t" ? '\t' : sources.colsep.front();
}

// The values in the text that was read last.
Result<std::vector<std::string_view>> SplitText(const SourceOptions& sources, Values& values) {
  const std::string& text = values.texts.back();
  if (!sources.delimiter.empty()) return format::SplitAt(text, sources.delimiter);
  if (!sources.csv) return format::SplitValues(text, sources.null_separated);
  auto records = TRY(format::ParseCsv(text, CsvSeparator(sources)));
  values.texts.pop_back();
  std::vector<std::string_view> split;
  for (std::string& record : records) {
    split.push_back(values.texts.emplace_back(std::move(record)));
  }
  return split;
}

// The values after :::; with --csv each word is a line.
Result<std::vector<std::string_view>> TypedValues(const SourceOptions& sources,
                                                  const format::SourceWords& source,
                                                  Values& values) {
  std::vector<std::string_view> typed(source.values.begin(), source.values.end());
  if (!sources.csv) return typed;
  for (std::string_view& value : typed) {
    auto records = TRY(format::ParseCsv(value, CsvSeparator(sources)));
    std::string columns = records.empty() ? std::string() : std::move(records.front());
    value = values.texts.emplace_back(std::move(columns));
  }
  return typed;
}

Status ReadSources(const RunOptions& options, const LoadContext& context, Values& values) {
  SourceReader reader(context);
  for (const std::string& file : options.sources.json_files) {
    TRY(ReadJson(reader, file, values));
  }
  for (const format::SourceWords& source : values.words) {
    format::SourceValues& out = values.sources.emplace_back();
    out.linked = source.linked;
    if (!source.is_file) {
      auto typed = TypedValues(options.sources, source, values);
      if (!typed) return Within(":::", typed.error());
      out.values = std::move(*typed);
      continue;
    }
    auto text = TRY(reader.Read(source.file));
    values.texts.push_back(std::move(text));
    auto split = SplitText(options.sources, values);
    if (!split) return Within(SourceReader::NameOf(source.file), split.error());
    out.values = std::move(*split);
  }
  return {};
}

std::optional<format::Trim> TrimOf(std::optional<TrimRule> rule) {
  if (!rule) return std::nullopt;
  switch (*rule) {
    case TrimRule::kLeft:
      return format::Trim::kLeft;
    case TrimRule::kRight:
      return format::Trim::kRight;
    case TrimRule::kBoth:
      return format::Trim::kBoth;
    case TrimRule::kNone:
      break;
  }
  return format::Trim::kNone;
}

// A command that runs once, as it stands.
Result<TaskList> OneTask(const RunOptions& options, const JobSettings& settings) {
  TRY(format::CompileJob(settings, JobId(1)));
  TaskList list;
  list.count = 1;
  list.requests = {ClassOf(options)};
  list.runs = {{0, 1, 0}};
  list.places = {"the command"};
  list.rows = [](const RowVisitor& visit) { visit(""); };
  return list;
}

// Walks all rows once; stops at the first error.
Status Walk(const Values& values, const format::RowRules& rules,
            const std::function<bool(std::string_view)>& visit) {
  auto generator = TRY(format::RowGenerator::Make(values.sources, rules));
  std::string row;
  while (true) {
    auto more = TRY(generator.Next(&row));
    if (!more || !visit(row)) return {};
  }
}

format::RowRules RulesOf(const RunOptions& options, const LoadContext& context) {
  format::RowRules rules;
  const SourceOptions& sources = options.sources;
  if (!sources.csv) rules.colsep = sources.colsep;
  rules.columns = sources.csv;
  rules.header = sources.header;
  rules.trim = TrimOf(sources.trim);
  rules.fill = sources.fill;
  rules.max_records = sources.max_args > 0 ? sources.max_args : sources.fill ? UINT32_MAX : 1;
  rules.slots = context.slots;
  return rules;
}

// The tasks of these values.
Result<TaskList> ListOf(const RunOptions& options, const LoadContext& context,
                        std::shared_ptr<Values> values, JobSettings& settings) {
  format::RowRules rules = RulesOf(options, context);
  auto first = TRY(format::RowGenerator::Make(values->sources, rules));
  settings.value_names = first.names();
  settings.record_values = static_cast<uint32_t>(first.values_per_record().value_or(0));
  auto compiled = TRY(format::CompileJob(settings, JobId(1)));
  if (rules.fill && options.sources.max_args == 0 && settings.row_kind == RowKind::kValues) {
    TRY(format::CheckFill(settings));
  }
  if (auto most = first.values_per_row()) {
    TRY(format::CheckPositions(settings, *most));
  }
  rules.fits = [job = compiled](std::string_view row) {
    return format::Expand(job, row, 0, 1).has_value();
  };

  // One walk to count, and to find a row that cannot be started before anything is.
  TaskList list;
  uint64_t count = 0;
  Status problem;
  Status walked = Walk(*values, rules, [&](std::string_view row) {
    if (++count > kLimits.tasks_per_job) {
      problem = Fail(
          ErrorKind::kInvalid,
          fmt::format("the sources make more than {} tasks; split the run", kLimits.tasks_per_job));
    } else if (auto body = format::Expand(compiled, row, static_cast<TaskIndex>(count - 1), 1);
               !body) {
      problem = Within(fmt::format("task {}", count), body.error());
    }
    return problem.has_value();
  });
  if (!walked) return std::unexpected(walked.error());
  if (!problem) return std::unexpected(problem.error());
  list.count = static_cast<uint32_t>(count);
  list.requests = {ClassOf(options)};
  if (count > 0) list.runs = {{0, list.count, 0}};
  list.places = {"the command"};
  list.rows = [values, rules](const RowVisitor& visit) {
    // The first walk has shown that there is no error.
    (void)Walk(*values, rules, [&](std::string_view row) {
      visit(row);
      return true;
    });
  };
  return list;
}

}  // namespace

bool StdinIsSource(int fd) {
  auto info = os::StatFd(fd, "standard input");
  return info && (info->kind == os::FileKind::kPipe || info->kind == os::FileKind::kFile ||
                  info->kind == os::FileKind::kSocket);
}

Result<TaskList> LoadValueList(const RunOptions& options, const LoadContext& context,
                               JobSettings& settings) {
  auto words = TRY(format::ParseCommandWords(options.sources.command));
  auto values = std::make_shared<Values>();
  const bool named = !words.sources.empty() || !options.sources.arg_files.empty();
  const bool asks = AsksForValues(options, words.command);
  values->words = AllSources(options, context, std::move(words.sources), asks);
  settings.row_kind = options.sources.resident ? RowKind::kResident : RowKind::kValues;
  settings.command = std::move(words.command);
  settings.has_source = !values->words.empty() || !options.sources.json_files.empty();
  settings.repeat_context = options.sources.fill;
  if (options.sources.resident && !settings.has_source) {
    return Fail(ErrorKind::kInvalid,
                "--resident: there are no tasks; write values, as in spate run --resident -- "
                "./worker.py ::: a b, or name a list before --");
  }
  if (!settings.has_source) return OneTask(options, settings);
  TRY(ReadSources(options, context, *values));
  // A command that asks for no values, and an input that nobody named and that brings none.
  if (!asks && !named && options.sources.json_files.empty() &&
      values->sources.front().values.empty()) {
    settings.has_source = false;
    return OneTask(options, settings);
  }
  return ListOf(options, context, std::move(values), settings);
}

Result<TaskList> LoadArray(const RunOptions& options, JobSettings& settings) {
  const ArrayNumbers& array = *options.sources.array;
  settings.row_kind = options.sources.resident ? RowKind::kResident : RowKind::kValues;
  settings.command = options.sources.command;
  settings.has_source = true;
  settings.record_values = 1;
  settings.value_names = {format::kArrayVariable};
  TRY(format::CompileJob(settings, JobId(1)));
  TaskList tasks;
  tasks.count = static_cast<uint32_t>(array.count());
  tasks.requests = {ClassOf(options)};
  tasks.runs = {{0, tasks.count, 0}};
  tasks.places = {"--array"};
  tasks.rows = [array](const RowVisitor& visit) {
    for (const ArrayRange& range : array.ranges) {
      for (uint64_t number = range.first;; number += range.step) {
        visit(fmt::format("{}", number));
        if (range.last - number < range.step) break;
      }
    }
  };
  return tasks;
}

// ---- --pipepart ----

namespace {

constexpr uint32_t kPartsPerSlot = 10;
constexpr size_t kHeaderMost = 1u << 20;

struct PartFile {
  std::string path;  // absolute: a task may run elsewhere
  os::Fd fd;
  uint64_t size = 0;
};

Result<std::vector<PartFile>> OpenFiles(const RunOptions& options) {
  std::vector<PartFile> files;
  for (const std::string& name : options.sources.arg_files) {
    auto path = TRY(os::AbsolutePath(name));
    auto fd = os::OpenRead(path);
    if (!fd) return Fail(ErrorKind::kInvalid, fd.error().message);
    auto info = TRY(os::StatFd(fd->get(), name));
    if (info.kind != os::FileKind::kFile) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--pipepart: '{}' is not a regular file, so parts of it cannot be "
                              "read directly; use --pipe",
                              EscapeForScreen(name)));
    }
    files.push_back({std::move(path), std::move(*fd), info.size});
  }
  return files;
}

Result<uint64_t> HeaderOf(const PartFile& file) {
  auto text = TRY(os::ReadAt(file.fd.get(), 0, kHeaderMost, file.path));
  size_t end = text.find('\n');
  return end == std::string::npos ? text.size() : end + 1;
}

// GNU parallel's formula.
uint64_t BlockOf(const InputOptions& input, const std::vector<PartFile>& files, uint32_t slots) {
  if (input.block > 0 && !input.round_robin) return input.block;
  uint64_t size = 0;
  for (const PartFile& file : files) size += file.size;
  uint32_t per_slot = input.per_slot > 0 ? input.per_slot : kPartsPerSlot;
  if (input.round_robin) per_slot = 1;
  return 1 + size / std::max<uint64_t>(uint64_t{slots} * per_slot, 1);
}

Status AddRows(const PartFile& file, format::RecordRules rules, std::vector<std::string>& rows) {
  uint64_t header = 0;
  if (rules.header) {
    auto found = TRY(HeaderOf(file));
    header = found;
  }
  auto borders = TRY(format::PartBorders(rules, header, file.size, [&](uint64_t at, size_t length) {
    return os::ReadAt(file.fd.get(), at, length, file.path);
  }));
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    uint64_t offset = borders[i];
    rows.push_back(format::EncodeInputRow({.offset = offset,
                                           .length = borders[i + 1] - offset,
                                           .header = header,
                                           .hash = 0,
                                           .file = file.path}));
  }
  return {};
}

}  // namespace

Result<TaskList> LoadPartList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings) {
  settings.row_kind = RowKind::kInput;
  settings.command = options.sources.command;
  TRY(format::CompileJob(settings, JobId(1)));
  auto files = TRY(OpenFiles(options));
  format::RecordRules rules{.start = options.sources.input.recstart,
                            .end = options.sources.input.recend,
                            .block = BlockOf(options.sources.input, files, context.slots),
                            .header = options.sources.header};
  auto rows = std::make_shared<std::vector<std::string>>();
  for (const PartFile& file : files) {
    TRY(AddRows(file, rules, *rows));
  }
  if (rows->size() > kLimits.tasks_per_job) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--block makes more than {} tasks; write a larger size",
                            FormatCount(kLimits.tasks_per_job)));
  }
  TaskList list;
  list.count = static_cast<uint32_t>(rows->size());
  list.requests = {ClassOf(options)};
  if (list.count > 0) list.runs = {{0, list.count, 0}};
  list.places = {"the command"};
  list.rows = [rows](const RowVisitor& visit) {
    for (const std::string& row : *rows) visit(row);
  };
  return list;
}

}  // namespace spate::cli
