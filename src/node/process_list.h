// ProcessList: the processes of a node's running attempts. /proc is read once for all attempts, on
// a thread of its own, below each attempt's shepherd, which need not answer. Nothing is asked of
// shepherds, and no memory is sampled: a look at the list never ends a task.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node/executor.h"
#include "os/aside.h"
#include "os/command.h"
#include "os/real_loop.h"

namespace spate::node {

class ProcessList {
 public:
  using Roots = std::function<std::vector<AttemptRoot>()>;
  // `loop` outlives it. `gpus`: nvidia-smi is asked what processes have on GPUs, where it is there.
  ProcessList(os::RealLoop& loop, bool gpus, Roots roots)
      : loop_(loop), has_gpus_(gpus), roots_(std::move(roots)) {}
  ~ProcessList();
  ProcessList(const ProcessList&) = delete;
  ProcessList& operator=(const ProcessList&) = delete;

  using Told = std::function<void(const ListedProcesses&)>;
  // Those of the attempts that were in hand before and after the look, now or later. Whoever asks
  // within kFresh of a look has its result.
  void Read(Told told);

  static constexpr Duration kFresh = Duration::Millis(200);
  static constexpr Duration kGpuPatience = Duration::Seconds(1);

 private:
  class Reader;
  using Gpus = std::map<uint32_t, uint64_t>;  // bytes, by pid
  void Start();
  void AskGpus();
  void Finish();

  os::RealLoop& loop_;
  const bool has_gpus_;
  const Roots roots_;
  std::shared_ptr<Reader> reader_;
  std::vector<AttemptRoot> asked_;                     // roots of the look that is under way
  std::unique_ptr<os::Aside<ListedProcesses>> aside_;  // null: none is
  std::unique_ptr<os::Command> gpus_;
  os::TimerId gpus_timer_ = 0;
  std::optional<Instant> no_gpus_until_;  // the program that tells of them is missing or hangs
  ListedProcesses found_;
  Gpus gpu_memory_;
  std::optional<Instant> read_at_;  // when `found_` was read
  std::vector<Told> waiting_;
};

}  // namespace spate::node
