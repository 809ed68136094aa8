// What shepherds and the executor cost: real programs through ProcessExecutor, without engine and
// journal, against the bare loop in the same run.
//
//   shepherd_rate [COUNT] [SLOTS] [AHEAD] [ROUNDS]   20000 tasks, 2 slots, 16 held ahead, 3 rounds
//
// For each program: the rate, its ratio to the bare loop, and the CPU of this process for a task.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "node/process_executor.h"
#include "os/file.h"
#include "shepherd/shepherd_main.h"

namespace {

using spate::AttemptEnd;
using spate::AttemptRef;

// Keeps every slot busy with `ahead` further orders until `count` tasks have ended.
class Driver final : public spate::node::ExecutorEvents {
 public:
  Driver(spate::os::RealLoop& loop, spate::node::Executor& executor, std::string program,
         uint32_t count)
      : loop_(loop), executor_(executor), program_(std::move(program)), count_(count) {}
  void Begin(uint16_t slots, uint32_t ahead) {
    for (uint32_t i = 0; i <= ahead; ++i) {
      for (uint16_t slot = 1; slot <= slots; ++slot) Give(slot);
    }
  }
  void OnStarted(const AttemptRef&, spate::Instant) override {}
  void OnEnded(AttemptEnd end, spate::TaskOutputPtr) override {
    if (end.cause != spate::Cause::kSuccess) {
      std::fprintf(stderr, "shepherd_rate: task %u failed: %s\n", end.ref.index, end.note.c_str());
      std::exit(1);
    }
    peak_ = std::max(peak_, end.peak_memory);
    Give(end.slot);
    if (++ended_ == count_) loop_.Stop();
  }
  void OnTakenBack(const AttemptRef&) override { std::exit(1); }
  void OnOutput(const AttemptRef&, int, std::string_view) override {}
  void OnMemory(const AttemptRef&, uint64_t) override {}
  uint64_t peak() const { return peak_; }

 private:
  void Give(uint16_t slot) {
    if (given_ == count_) return;
    spate::node::StartOrder order;
    order.ref = {spate::JobId(1), given_++, spate::Attempt(1)};
    order.slot = slot;
    order.body.steps = {{{{{program_}}}}};
    order.body.environment = {"SPATE_JOB_ID=1",
                              fmt::format("SPATE_TASK_ID={}", given_),
                              fmt::format("SPATE_TASK_INDEX={}", given_),
                              "SPATE_ATTEMPT=1",
                              fmt::format("SPATE_SLOT={}", slot),
                              "SPATE_NODE=local",
                              "SPATE_CPUS=1",
                              "SPATE_MEMORY=0"};
    executor_.Start(std::move(order));
  }

  spate::os::RealLoop& loop_;
  spate::node::Executor& executor_;
  std::string program_;
  uint32_t count_;
  uint32_t given_ = 0;
  uint32_t ended_ = 0;
  uint64_t peak_ = 0;
};

// Of this process, or of all that it has waited for and they have.
double CpuSeconds(int whose) {
  rusage usage;
  getrusage(whose, &usage);
  auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Measured {
  double rate = 0;
  double own_cpu = 0;  // seconds of this process for a task
  double all_cpu = 0;  // with shepherds and tasks
  uint64_t peak = 0;
};

Measured BareLoop(const std::string& folder, const std::string& program, uint32_t count,
                  uint16_t slots) {
  double cpu = CpuSeconds(RUSAGE_CHILDREN);
  std::string command = fmt::format("{}/bare_loop {} {} {} 1 many", folder, program, count, slots);
  FILE* out = popen(command.c_str(), "r");
  CHECK(out != nullptr);
  char line[512] = "";
  CHECK(std::fgets(line, sizeof line, out) != nullptr);
  pclose(out);
  std::string text = line;
  size_t at = text.find("bare loop ");
  CHECK(at != text.npos);
  return {std::atof(text.c_str() + at + 10), 0, (CpuSeconds(RUSAGE_CHILDREN) - cpu) / count, 0};
}

Measured Run(const std::string& program, uint32_t count, uint16_t slots, uint32_t ahead) {
  auto loop = spate::os::RealLoop::Create();
  CHECK(loop.has_value());
  spate::node::ProcessExecutorOptions options;
  options.slots = slots;
  options.made_at_start = slots;
  options.spool_folder = "/tmp";
  if (const char* cgroup = std::getenv("SHEPHERD_RATE_CGROUP")) options.cgroup = cgroup;
  auto executor = spate::node::ProcessExecutor::Create(**loop, options);
  CHECK(executor.has_value());
  auto settings = std::make_shared<spate::JobSettings>();
  settings->cwd = "/tmp";
  (*executor)->OpenJob(spate::JobId(1), settings, false);
  int64_t start = spate::os::MonotonicNanos();
  double own = CpuSeconds(RUSAGE_SELF);
  double below = CpuSeconds(RUSAGE_CHILDREN);
  Driver driver(**loop, **executor, program, count);
  (*executor)->SetEvents(driver);
  driver.Begin(slots, ahead);
  (*loop)->Run();
  double seconds = static_cast<double>(spate::os::MonotonicNanos() - start) * 1e-9;
  own = (CpuSeconds(RUSAGE_SELF) - own) / count;
  executor->reset();  // the shepherds end, and their use is known
  below = (CpuSeconds(RUSAGE_CHILDREN) - below) / count;
  return {count / seconds, own, own + below, driver.peak()};
}

}  // namespace

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  auto count = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 20000);
  auto slots = static_cast<uint16_t>(argc > 2 ? std::atoi(argv[2]) : 2);
  auto ahead = static_cast<uint32_t>(argc > 3 ? std::atoi(argv[3]) : 16);
  int rounds = argc > 4 ? std::atoi(argv[4]) : 3;
  std::string folder = spate::os::DirName(argv[0]);
  for (const std::string& program : {folder + "/nothing", std::string("/bin/true")}) {
    std::vector<double> ratios;
    std::vector<double> cpu_ratios;
    for (int round = 0; round < rounds; ++round) {
      Measured bare = BareLoop(folder, program, count, slots);
      Measured ours = Run(program, count, slots, ahead);
      ratios.push_back(ours.rate / bare.rate);
      cpu_ratios.push_back(bare.all_cpu / ours.all_cpu);
      std::printf(
          "%s: %.0f tasks/s, bare loop %.0f/s, ratio %.2f; CPU of a task %.1f us, of it "
          "here %.1f, bare loop %.1f us; peak memory of a task %.1f MB\n",
          program.c_str(), ours.rate, bare.rate, ours.rate / bare.rate, ours.all_cpu * 1e6,
          ours.own_cpu * 1e6, bare.all_cpu * 1e6, static_cast<double>(ours.peak) / 1048576);
      std::fflush(stdout);
    }
    std::sort(ratios.begin(), ratios.end());
    std::sort(cpu_ratios.begin(), cpu_ratios.end());
    std::printf("%s: median ratio %.2f by time, %.2f by CPU\n", program.c_str(),
                ratios[ratios.size() / 2], cpu_ratios[cpu_ratios.size() / 2]);
  }
  return 0;
}
