// Promises of Needs, JobSettings and JobPolicy beyond the types of their fields.
#include "wire/model_codec.h"

#include <cmath>

#include "core/model/limits.h"

namespace spate::wire {
namespace {

// All texts and lists of texts among the fields.
struct CheckTexts {
  FieldReader& in;
  uint64_t most;

  void operator()(uint32_t, std::string_view name, const std::string& text) {
    if (text.size() > most) in.Defect(name, "is too long");
  }
  void operator()(uint32_t, std::string_view name, const std::vector<std::string>& texts) {
    if (texts.size() > kWireLimits.texts) in.Defect(name, "has too many texts");
    for (const std::string& text : texts) {
      if (text.size() > most) in.Defect(name, "has a text that is too long");
    }
  }
  template <typename List>
  void operator()(uint32_t, std::string_view name, spate::Columns<List>&& columns) {
    if (columns.rows.size() > kWireLimits.texts) in.Defect(name, "has too many texts");
    for (const auto& row : columns.rows) row.Fields(row, *this);
  }
  template <typename T>
  void operator()(uint32_t, std::string_view, const T&) {}
};

// Sorted by name, each once, none empty.
template <typename List>
void CheckNames(FieldReader& in, std::string_view field, const List& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name.empty()) in.Defect(field, "has an empty name");
    if (i > 0 && list[i].name <= list[i - 1].name) in.Defect(field, "is not sorted");
  }
}

// Checks the assumptions of hubs and nodes: names that stay in a folder, and few pieces.
void CheckPuts(FieldReader& in, const std::vector<PutFile>& puts) {
  if (puts.size() > kLimits.put_files) in.Defect("puts", "has too many files");
  CheckNames(in, "puts", puts);
  for (const PutFile& file : puts) {
    if (!CheckTaskFileName(file.name)) in.Defect("puts", "leads out of the folder");
    bool fits =
        file.mode <= 0777 && file.size <= kLimits.file_bytes && file.first_piece <= kMostPieces;
    if (!fits) in.Defect("puts", "is out of range");
  }
}

}  // namespace

void Check(FieldReader& in, const Needs& needs) {
  Needs::Fields(needs, CheckTexts{in, kWireLimits.name_bytes});
  in.Number<uint64_t>("memory", needs.memory, 0, kWireLimits.size);
  CheckNames(in, "named", needs.named);
  for (const NamedNeed& named : needs.named) {
    if (named.count == 0) in.Defect("named", "has a zero");
  }
  in.Sorted("labels", needs.labels);
  in.Sorted("not_on", needs.not_on);
}

void Check(FieldReader& in, const TaskClass& of_tasks) {
  Check(in, of_tasks.needs);
  in.Number<uint32_t>("retries", of_tasks.retries.value_or(0), 0, kLimits.retries);
  const GangShape& gang = of_tasks.gang;
  in.Number<uint32_t>("gang.procs", gang.procs, 0, kLimits.gang_procs);
  in.Number<uint32_t>("gang.nodes", gang.nodes, 0, gang.procs);
  if (gang.nodes > 0 && gang.procs % gang.nodes != 0) {
    in.Defect("gang.procs", "is not the same on each node");
  }
  const Instant deadline = of_tasks.deadline.value_or(Instant{1});
  if (deadline <= Instant{} || deadline == Instant::Never()) {
    in.Defect("deadline", "is out of range");
  }
}

void Check(FieldReader& in, const GangPart& part) {
  GangPart::Fields(part, CheckTexts{in, kWireLimits.text_bytes});
  if (part.index >= part.hosts.size()) in.Defect("index", "names no host");
  uint64_t procs = 0;
  for (const GangHost& host : part.hosts) {
    if (host.node.empty() || host.procs == 0) in.Defect("hosts", "has an empty one");
    procs += host.procs;
  }
  if (procs > kLimits.gang_procs) in.Defect("hosts", "has too many processes");
}

void Check(FieldReader& in, const JobSettings& settings) {
  JobSettings::Fields(settings, CheckTexts{in, kWireLimits.text_bytes});
  if (settings.cwd.empty()) in.Defect("cwd", "is missing");
  in.Number<int>("nice", settings.nice, -20, 19);
  in.Number<int>("umask", settings.umask, -1, 0777);
  in.Number<uint64_t>("min_free_memory", settings.min_free_memory, 0, kWireLimits.size);
  if (!std::isfinite(settings.max_load) || settings.max_load < 0) {
    in.Defect("max_load", "is out of range");
  }
  for (const auto& [patterns, name] :
       {std::pair{&settings.put_patterns, "put_patterns"},
        {&settings.get_patterns, "get_patterns"},
        {&settings.forward_patterns, "forward_patterns"},
        {&settings.forward_file_patterns, "forward_file_patterns"}}) {
    if (patterns->size() > kLimits.file_options) in.Defect(name, "has too many texts");
  }
  CheckPuts(in, settings.puts);
}

void Check(FieldReader& in, const JobPolicy& policy) {
  const RetryPolicy& retry = policy.retry;
  in.Number<uint32_t>("retries", retry.retries, 0, kLimits.retries);
  in.Number<uint32_t>("retry_elsewhere", retry.elsewhere, 0, kLimits.retries);
  constexpr uint32_t kMostGrowth = 10'000;  // percent
  in.Number<uint32_t>("memory_growth", retry.memory_growth, 0, kMostGrowth);
  constexpr uint32_t kMostExit = 255;
  if (retry.exits.size() > kMostExit) in.Defect("retry_exits", "has too many ranges");
  for (const ExitRange& range : retry.exits) {
    if (range.first > range.last || range.last > kMostExit) {
      in.Defect("retry_exits", "is out of range");
    }
  }
  in.Number<uint32_t>("halt_percent", policy.halt.percent, 0, 100);
}

void Check(FieldReader& in, const Ask& ask) {
  if (ask.user.size() > kWireLimits.name_bytes) in.Defect("user", "is too long");
  if (ask.body.size() > kAskBytes) in.Defect("body", "is too long");
}

void Check(FieldReader& in, const AnswerPiece& piece) {
  if (piece.bytes.size() > kAnswerPiece) in.Defect("bytes", "is too long");
}

}  // namespace spate::wire
