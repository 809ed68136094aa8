#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "doors/simulate/job_history.h"
#include "doors/simulate/plot.h"
#include "doors/simulate/simulate_options.h"
#include "doors/simulate/simulation_text.h"
#include "format/gzip/gunzip.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/schema.h"

namespace spate::cli {
namespace {

// ---- Traces ----

using Sink = std::function<Status(std::string_view)>;

// Gives all bytes of the descriptor to the sink that the first ones ask for.
Status ReadInto(int fd, const std::string& name, const std::function<Sink&(std::string_view)>& to) {
  std::string begin;  // until it can be told by them
  std::array<char, 64 * 1024> bytes;
  Sink* sink = nullptr;
  while (true) {
    auto size = TRY(os::ReadSome(fd, bytes.data(), bytes.size(), name));
    begin.append(bytes.data(), size);
    if (begin.size() < 2 && size > 0) continue;
    if (sink == nullptr) sink = &to(begin);
    if (size == 0 && begin.empty()) return {};
    if (auto taken = (*sink)(begin); !taken) return Within(EscapeForScreen(name), taken.error());
    begin.clear();
    if (size == 0) return {};
  }
}

// Reads a trace's file, as it is or made smaller by gzip. "-": standard input. Errors name the
// file.
Result<format::SwfTrace> ReadTrace(const std::string& path) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  os::Fd opened;
  if (!standard) {
    auto file = TRY(os::OpenRead(path));
    opened = std::move(file);
  }
  format::SwfReader reader;
  Sink plain = [&](std::string_view bytes) { return reader.Feed(bytes); };
  format::Gunzip gunzip(plain);
  Sink zipped = [&](std::string_view bytes) { return gunzip.Feed(bytes); };
  bool is_gzip = false;
  auto choose = [&](std::string_view begin) -> Sink& {
    is_gzip = format::IsGzip(begin);
    return is_gzip ? zipped : plain;
  };
  TRY(ReadInto(standard ? os::kStdin : opened.get(), name, choose));
  if (is_gzip) {
    if (auto whole = gunzip.Finish(); !whole) return Within(EscapeForScreen(name), whole.error());
  }
  auto trace = reader.Finish();
  if (!trace) return Within(EscapeForScreen(name), trace.error());
  return trace;
}

// ---- Histories ----

struct FoundHistory {
  JobHistory jobs;
  bool of_hub = false;
  std::vector<std::string> problems;  // runs that cannot be read, and are left out
};

Status TakeAll(store::Database& db, const store::JournalPart& part, JobHistory& jobs) {
  auto reader = TRY(store::JournalReader::Begin(db, part));
  for (;;) {
    auto entry = TRY(reader.Next());
    if (entry == nullptr) return {};
    const auto& what = entry->what;
    const auto* ended = std::get_if<store::AttemptEntry>(&what);
    auto taken = ended != nullptr ? jobs.AcceptEnd(ended->record)
                                  : jobs.Apply(std::get<engine::Record>(what));
    if (!taken) return taken;
  }
}

// One pass over its journal, which has the records of all jobs.
Status ReadHub(const std::string& folder, JobHistory& jobs) {
  const store::JournalPlace place{folder, true};
  auto db = TRY(store::OpenJournalToRead(place.DbPath(), store::IsFrozen(place)));
  auto rows = TRY(store::ReadJobRows(db, store::WhichJobs::kAll));
  for (const store::JobRow& row : rows) jobs.AddJob(row.job, row.user, row.created);
  return TakeAll(db, {.of = store::JournalPart::Of::kFrom}, jobs);
}

Status ReadRun(const store::JobSummary& run, JobHistory& jobs) {
  if (run.standing == JobStanding::kNewer) return Fail(ErrorKind::kNewer, run.problem);
  if (run.standing == JobStanding::kDamaged) return Fail(ErrorKind::kCorrupt, run.problem);
  const store::JournalPlace place{run.folder, false};
  auto db = TRY(store::OpenJournalToRead(place.DbPath(), store::IsFrozen(place)));
  jobs.AddJob(run.row.job, run.row.user, run.row.created);
  return TakeAll(db, store::PartOf(run.row), jobs);
}

Status ReadRuns(const std::string& state, FoundHistory& found) {
  const store::JobPlace place(state);
  auto numbers = TRY(store::JobNumbers(place));
  Status failed;
  auto visited = store::VisitJobs(place, numbers, [&](const store::JobSummary& run) {
    auto read = ReadRun(run, found.jobs);
    if (read) return true;
    if (read.error().kind == ErrorKind::kInvalid) {
      failed = std::move(read);
      return false;
    }
    found.problems.push_back(
        fmt::format("job {} is left out: {}", run.number, read.error().message));
    return true;
  });
  return failed ? visited : failed;
}

bool IsThere(const std::string& path) { return os::Stat(path).has_value(); }

// STATE of STATE/jobs; empty: it is no such folder.
std::string StateOfRuns(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder == "jobs") return ".";
  if (folder.ends_with("/jobs")) return folder.substr(0, folder.size() - 5) + "/.";
  return IsThere(folder + "/jobs") ? folder : std::string();
}

// Reads the hub's jobs of a state folder, else those of runs; or of STATE/hub or STATE/jobs alone.
// Nothing is written, and other processes may write meanwhile. kNotFound: there are neither;
// kCorrupt.
Result<FoundHistory> ReadHistory(const std::string& state) {
  FoundHistory found;
  Status read;
  found.of_hub = true;
  const std::string runs = StateOfRuns(state);
  if (IsThere(state + "/hub/hub.db")) {
    read = ReadHub(state + "/hub", found.jobs);
  } else if (IsThere(state + "/hub.db")) {
    read = ReadHub(state, found.jobs);
  } else if (!runs.empty() && IsThere(runs)) {
    found.of_hub = false;
    read = ReadRuns(runs, found);
  } else {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format(
            "'{}' contains no history of jobs, neither of a hub (hub/hub.db) nor of runs (jobs)",
            EscapeForScreen(state)));
  }
  if (!read) return std::unexpected(std::move(read.error()));
  return found;
}

// ---- The simulation ----

// Input of a simulation, and its origin.
struct Source {
  format::SwfHeader header;
  uint64_t broken_lines = 0;
  format::Workload workload;
  std::vector<uint32_t> nodes = {};  // cpus of each, where they count
  std::optional<RequestTable> requests = {};
};

// The machine that was typed, else one node with the processors of the trace's.
Result<std::vector<uint32_t>> NodesFor(const SimulateOptions& options,
                                       const format::SwfHeader& header) {
  const uint32_t nodes = std::max(options.nodes, 1u);
  const uint32_t processors = header.max_procs.value_or(0);
  uint32_t cpus = options.cpus;
  if (cpus == 0) {
    if (processors % nodes != 0) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("the {} processors of the trace's machine cannot be divided equally "
                              "among {} nodes; add --cpus C, for C on each node",
                              processors, nodes));
    }
    cpus = processors / nodes;
  }
  if (cpus > engine::place::GangMachine::kMostCpus) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("a node with {} cpus is too large; add --nodes N", cpus));
  }
  return std::vector(nodes, cpus);
}

Result<Source> OfTrace(const SimulateOptions& options) {
  auto trace = TRY(ReadTrace(options.trace));
  if (options.procs > 0 && trace.header.max_procs) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}: its header states MaxProcs: {}; leave out --procs",
                            EscapeForScreen(options.trace), *trace.header.max_procs));
  }
  if (options.procs > 0) trace.header.max_procs = options.procs;
  std::vector<uint32_t> nodes;
  if (options.on_nodes && trace.header.max_procs.value_or(1) > 0) {
    auto found = NodesFor(options, trace.header);
    if (!found) return Within(EscapeForScreen(options.trace), std::move(found.error()));
    nodes = std::move(*found);
    trace.header.max_procs = static_cast<uint32_t>(nodes.size()) * nodes.front();
  }
  auto workload = format::WorkloadOf(trace, options.filter);
  if (!workload) return Within(EscapeForScreen(options.trace), std::move(workload.error()));
  return Source{std::move(trace.header), trace.broken_lines, std::move(*workload),
                std::move(nodes)};
}

Result<Source> OfHistory(const SimulateOptions& options) {
  auto found = TRY(ReadHistory(options.history));
  for (const std::string& problem : found.problems) {
    ReportError({ErrorKind::kCorrupt, problem});
  }
  auto workload = found.jobs.WorkloadOn({options.nodes, options.cpus});
  if (!workload) return Within(EscapeForScreen(options.history), std::move(workload.error()));
  Source source;
  source.header.computer = fmt::format("{} with {} each", present::CountOf(options.nodes, "node"),
                                       present::CountOf(options.cpus, "cpu"));
  source.header.installation = found.of_hub ? "jobs of a hub" : "jobs of runs";
  source.workload = std::move(*workload);
  if (options.on_nodes) source.nodes.assign(options.nodes, options.cpus);
  source.requests = found.jobs.DrainRequests();
  return source;
}

Result<Simulation> Run(SimulateOptions options) {
  auto source = TRY(options.is_history() ? OfHistory(options) : OfTrace(options));
  auto& jobs = source.workload.jobs;
  if (jobs.size() > options.first) jobs.resize(options.first);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.submit < b.submit; });
  const ReplayRules rules{.policy = options.policy,
                          .order = options.order,
                          .perfect = options.perfect,
                          .nodes = std::move(source.nodes),
                          .requests = source.requests ? &*source.requests : nullptr};
  auto starts = Replay(source.workload, rules);
  const Figures figures = FiguresOf(source.workload, starts);
  return Simulation{std::move(options),         std::move(source.header), source.broken_lines,
                    std::move(source.workload), std::move(starts),        figures};
}

Status WriteFiles(const Simulation& simulation) {
  const SimulateOptions& options = simulation.options;
  if (!options.schedule.empty()) {
    auto written = os::WriteFile(options.schedule, ScheduleText(simulation));
    if (!written) return written;
  }
  if (!options.plot.empty()) return os::WriteFile(options.plot, PlotText(simulation));
  return {};
}

Status Print(const Simulation& simulation) {
  switch (simulation.options.form) {
    case OutputForm::kJson:
      return os::WriteAll(os::kStdout, JsonText(simulation), "standard output");
    case OutputForm::kQuiet:
      return {};
    case OutputForm::kHuman:
      break;
  }
  auto width = os::PrintWidth(os::kStdout, os::Environment::OfProcess());
  return os::WriteAll(os::kStdout, HumanText(simulation, width.value_or(present::kWholeWidth)),
                      "standard output");
}

}  // namespace

int Simulate(SimulateOptions options) {
  auto simulation = Run(std::move(options));
  if (!simulation) return ReportError(simulation.error());
  if (auto written = WriteFiles(*simulation); !written) return ReportError(written.error());
  if (auto printed = Print(*simulation); !printed) return ReportError(printed.error());
  return kExitSuccess;
}

}  // namespace spate::cli
