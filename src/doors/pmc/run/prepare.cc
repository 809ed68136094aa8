#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/units.h"
#include "doors/pmc/formats/rescue.h"
#include "doors/pmc/run/agent.h"
#include "doors/pmc/run/delivery.h"
#include "doors/pmc/run/master.h"
#include "forward/shared_files.h"
#include "os/file.h"

namespace spate::pmc {
namespace {

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
    talk.Say(LogLevel::kWarn,
             fmt::format("The DAG file cannot be locked ({}); start no second run of it",
                         locked.error().message));
  } else if (!*locked) {
    return Fail(ErrorKind::kBusy, DagLockedText(options.dag));
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

// Reads what is done; the file is then made anew, with each task once, so that a torn end is gone.
Result<std::vector<bool>> TakeRescue(const Options& options, const Workflow& workflow,
                                     const Talk& talk) {
  std::unordered_set<std::string_view> said;
  std::string text;
  std::vector<RescueEntry> kept;
  if (os::Exists(options.rescue)) {
    auto read = os::ReadFile(options.rescue, SIZE_MAX);
    if (!read) return std::unexpected(std::move(read.error()));
    text = std::move(*read);
    if (options.skip_rescue) {
      auto saved = os::WriteFileAtomically(options.rescue + ".old", text);
      if (!saved) return std::unexpected(std::move(saved.error()));
      text.clear();
    }
  }
  if (!text.empty()) {
    std::unordered_set<std::string_view> names;
    for (const WorkflowTask& task : workflow.tasks) names.insert(task.name);
    auto rescue = ReadRescue(text, [&](std::string_view name) { return names.contains(name); });
    if (!rescue) {
      const Error& error = rescue.error();
      return Fail(error.kind, fmt::format("{}\n{}", error.message, options.rescue));
    }
    if (!rescue->torn.empty()) {
      talk.Say(LogLevel::kWarn, fmt::format("The last line of {} is torn and does not count: {}",
                                            options.rescue, EscapeForScreen(rescue->torn)));
    }
    for (const RescueEntry& entry : rescue->done) said.insert(entry.task);
    kept = std::move(rescue->done);
  }
  const std::string forwards = options.rescue + std::string(kForwardsSuffix);
  if (options.skip_rescue && os::Exists(forwards)) (void)os::RemoveFile(forwards);
  auto recovered = forward::SharedFiles::Recover(
      forwards, [&](std::string_view task) { return said.contains(task); },
      [&](std::string problem) { talk.Say(LogLevel::kWarn, problem); });
  if (!recovered) return std::unexpected(std::move(recovered.error()));
  std::vector<bool> done = DoneTasks(workflow, said);
  if (auto made = os::WriteFileAtomically(options.rescue, RescueText(kept)); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return done;
}

}  // namespace

Result<Prepared> Prepare(const Options& options, const std::vector<Host>& hosts, const Talk& talk) {
  Prepared prepared;
  auto dag = LockDag(options, talk);
  if (!dag) return std::unexpected(std::move(dag.error()));
  auto text = os::ReadToEnd(dag->get(), SIZE_MAX, options.dag);
  if (!text) return std::unexpected(std::move(text.error()));
  prepared.lock = std::move(*dag);
  auto workflow = ReadWorkflow(std::move(*text), options.dag);
  if (!workflow) return std::unexpected(std::move(workflow.error()));
  prepared.workflow = std::move(*workflow);
  if (auto fit = CheckHosts(options, hosts, prepared.workflow); !fit) {
    return std::unexpected(std::move(fit.error()));
  }
  auto done = TakeRescue(options, prepared.workflow, talk);
  if (!done) return std::unexpected(std::move(done.error()));
  prepared.done_before = static_cast<uint32_t>(std::ranges::count(*done, true));
  prepared.remaining = WithoutDone(prepared.workflow, *done);
  auto rescue = os::OpenWrite(options.rescue, os::OpenHow::kAppend);
  if (!rescue) return std::unexpected(std::move(rescue.error()));
  prepared.rescue = std::move(*rescue);
  auto files = OutputFiles::Open(options, prepared.done_before > 0);
  if (!files) return std::unexpected(std::move(files.error()));
  prepared.files = std::move(*files);
  return prepared;
}

}  // namespace spate::pmc
