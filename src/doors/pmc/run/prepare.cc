#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/units.h"
#include "doors/pmc/formats/rescue.h"
#include "doors/pmc/run/agent.h"
#include "doors/pmc/run/delivery.h"
#include "doors/pmc/run/master.h"
#include "doors/pmc/run/rescue_file.h"
#include "forward/shared_files.h"
#include "os/file.h"
#include "os/process.h"

namespace spate::pmc {
namespace {

// The files of forwards would otherwise leave no descriptor for the rescue file or a host.
Status CheckMaxFds(const Options& options) {
  const uint64_t limit = os::GetOpenFileLimit().now;
  if (options.max_fds <= limit) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("--maxfds {} is above the limit of open files, {}\nGive at most that many, "
                  "or raise the limit (ulimit -n)",
                  options.max_fds, limit));
}

// Folders that a killed run has left next to the DAG file (SpoolPrefix). The lock is held.
void RemoveOldSpools(const Options& options) {
  const std::string folder = os::DirName(options.dag);
  const std::string prefix = os::BaseName(SpoolPrefix(options)) + ".";
  constexpr size_t kRandom = 6;
  for (const os::DirEntry& entry : os::ListDir(folder).value_or(std::vector<os::DirEntry>())) {
    if (entry.kind != os::FileKind::kDir || !entry.name.starts_with(prefix)) continue;
    if (entry.name.size() != prefix.size() + kRandom) continue;
    (void)os::RemoveTree(os::JoinPath(folder, entry.name));
  }
}

// A lock that needs no right to write. It is the system's, and goes with the process.
Result<os::Fd> LockDag(const Options& options, const Talk& talk) {
  const char* what = options.lock ? "Unable to open DAG file" : "Error opening DAG file";
  auto file = os::OpenRead(options.dag);
  if (!file) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{}: {}: {}", what, options.dag, file.error().message));
  }
  if (!options.lock) return file;
  auto locked = os::TryLockWhole(file->get());
  if (!locked) {
    talk.Log(LogLevel::kWarn,
             fmt::format("The DAG file cannot be locked ({}); start no second run of it",
                         locked.error().message));
  } else if (!*locked) {
    return Fail(ErrorKind::kBusy, DagLockedText(options.dag));
  } else {
    RemoveOldSpools(options);
  }
  return file;
}

// The original's text; a task that no host can take would never start.
Status CheckHosts(const Options& options, const std::vector<Host>& hosts,
                  const Workflow& workflow) {
  for (uint32_t r = 0; r < workflow.requests.size(); ++r) {
    const Needs& needs = workflow.requests[r].needs;
    bool fits = std::ranges::any_of(hosts, [&](const Host& host) {
      return needs.memory >> 20 <= MemoryOf(options, host) &&
             needs.milli_cpus <= uint64_t{CpusOf(options, host)} * kMilliCpu;
    });
    if (fits) continue;
    auto task = std::ranges::find(workflow.tasks, r, &WorkflowTask::request);
    return Fail(ErrorKind::kInvalid,
                fmt::format("{}\n{}", NoHostText(task->name), workflow.first_places[r]));
  }
  return {};
}

// Reads which tasks are done. The file then has each task once, and no torn end.
Result<std::vector<bool>> TakeRescue(const Options& options, const RescueFile& file,
                                     const std::string& forwards, const Workflow& workflow,
                                     const Talk& talk) {
  std::unordered_set<std::string_view> said;
  if (options.skip_rescue) {
    TRY(file.Empty(options.rescue + ".old"));
  }
  const std::string text = TRY(file.Read());
  if (!text.empty()) {
    std::unordered_set<std::string_view> names;
    for (const WorkflowTask& task : workflow.tasks) names.insert(task.name);
    auto rescue = ReadRescue(text, [&](std::string_view name) { return names.contains(name); });
    if (!rescue) {
      const Error& error = rescue.error();
      return Fail(error.kind, fmt::format("{}\n{}", error.message, options.rescue));
    }
    if (!rescue->torn.empty()) {
      talk.Log(LogLevel::kWarn, fmt::format("The last line of {} is torn and does not count: {}",
                                            options.rescue, EscapeForScreen(rescue->torn)));
    }
    for (const RescueEntry& entry : rescue->done) said.insert(entry.task);
    const std::string compact = RescueText(rescue->done);
    const size_t torn_at = rescue->torn.empty() ? text.size() : text.rfind('\n') + 1;
    if (compact != text) {
      TRY(file.Rewrite(compact, torn_at));
    }
  }
  if (options.skip_rescue && os::Exists(forwards)) (void)os::RemoveFile(forwards);
  TRY(forward::SharedFiles::Recover(
      forwards, [&](std::string_view task) { return said.contains(task); },
      [&](std::string problem) { talk.Log(LogLevel::kWarn, problem); }));
  return DoneTasks(workflow, said);
}

}  // namespace

Result<Prepared> Prepare(const Options& options, const std::vector<Host>& hosts, const Talk& talk) {
  Prepared prepared;
  TRY(CheckMaxFds(options));
  auto dag = TRY(LockDag(options, talk));
  auto text = TRY(os::ReadToEnd(dag.get(), SIZE_MAX, options.dag));
  prepared.lock = std::move(dag);
  auto workflow = TRY(ReadWorkflow(std::move(text), options.dag));
  prepared.workflow = std::move(workflow);
  TRY(CheckHosts(options, hosts, prepared.workflow));
  auto rescue_file = TRY(RescueFile::Find(options.rescue));
  prepared.syncs_rescue = rescue_file.is_regular();
  // Nothing lies beside a device.
  prepared.forwards_log =
      (rescue_file.is_regular() ? options.rescue : options.dag + ".rescue") + ".forwards";
  auto done = TRY(TakeRescue(options, rescue_file, prepared.forwards_log, prepared.workflow, talk));
  prepared.done_before = static_cast<uint32_t>(std::ranges::count(done, true));
  prepared.remaining = WithoutDone(prepared.workflow, done);
  auto rescue = TRY(rescue_file.Open());
  prepared.rescue = std::move(rescue);
  auto files = TRY(OutputFiles::Open(options, prepared.done_before > 0));
  prepared.files = std::move(files);
  // Before the tasks of this run write to files of these names.
  int ranks = 1;
  for (const Host& host : hosts) ranks += static_cast<int>(host.ranks.size());
  TRY(prepared.files->AdoptLeftovers(options.dag, ranks));
  return prepared;
}

}  // namespace spate::pmc
