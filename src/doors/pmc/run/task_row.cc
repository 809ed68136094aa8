#include "doors/pmc/run/task_row.h"

#include <fmt/format.h>

#include <utility>

#include "format/dag_line.h"
#include "format/expand.h"
#include "os/file.h"

namespace spate::pmc {
namespace {

// The original's limit for files. Pipes have no limit.
constexpr uint64_t kForwardedFileBytes = 1u << 20;

// Workers of a host, by slot - 1.
struct Workers {
  std::vector<int> ranks;
  std::vector<SlotSurroundings> slots;
};

class TaskReader final : public format::RowReader {
 public:
  TaskReader(format::CompiledJob plain, std::string cwd, bool strict, Workers workers)
      : plain_(std::move(plain)),
        cwd_(std::move(cwd)),
        strict_(strict),
        workers_(std::move(workers)) {}

  Result<TaskBody> Body(std::string_view row, const format::RowRun& run) const override {
    auto task = TRY(format::ParseDagTask(row));
    auto body = plain_->Body(row, run);
    if (!body) return body;
    const uint64_t memory = task.memory_mb.value_or(0);
    const size_t slot = run.slot > 0 ? run.slot - 1u : 0u;
    if (slot < workers_.slots.size()) {
      const SlotSurroundings& around = workers_.slots[slot];
      body->environment.insert(body->environment.begin(), around.environment.begin(),
                               around.environment.end());
      body->cpus = around.cpus;
    }
    for (std::string variable :
         {fmt::format("PMC_TASK={}", task.name), fmt::format("PMC_MEMORY={}", memory),
          fmt::format("PMC_CPUS={}", task.cpus.value_or(1)),
          fmt::format("PMC_RANK={}", slot < workers_.ranks.size() ? workers_.ranks[slot] : 0),
          fmt::format("PMC_HOST_RANK={}", slot)}) {
      body->environment.push_back(std::move(variable));
    }
    std::string& program = body->steps.front().commands.front().argv.front();
    if (program.find('/') == std::string::npos) {
      std::string here = os::JoinPath(cwd_, program);
      auto info = os::Stat(here);
      if (info && info->kind == os::FileKind::kFile && os::MayAccess(here, "x")) program = here;
    }
    for (TaskForward& forward : body->forwards) {
      if (forward.descriptor == 0) forward.most = kForwardedFileBytes;
    }
    if (strict_ && memory > 0) {
      for (LimitKind kind :
           {LimitKind::kAddressBytes, LimitKind::kStackBytes, LimitKind::kDataBytes}) {
        body->limits.push_back({kind, memory << 20});
      }
    }
    return body;
  }
  std::string CommandText(std::string_view row, const format::RowRun& run) const override {
    return plain_->CommandText(row, run);
  }

 private:
  const format::CompiledJob plain_;
  const std::string cwd_;
  const bool strict_;
  const Workers workers_;
};

class Tasks final : public format::RowDialect {
 public:
  Tasks(bool strict, Workers workers) : strict_(strict), workers_(std::move(workers)) {}
  Result<format::CompiledJob> Compile(const JobSettings& settings, JobId job) const override {
    auto plain = format::CompileJob(settings, job);
    if (!plain) return plain;
    return std::make_shared<TaskReader>(std::move(*plain), settings.cwd, strict_, workers_);
  }

 private:
  const bool strict_;
  const Workers workers_;
};

}  // namespace

std::shared_ptr<const format::RowDialect> MakeDialect(const Options& options,
                                                      std::vector<int> ranks,
                                                      std::vector<SlotSurroundings> slots) {
  return std::make_shared<Tasks>(options.strict_limits,
                                 Workers{std::move(ranks), std::move(slots)});
}

}  // namespace spate::pmc
