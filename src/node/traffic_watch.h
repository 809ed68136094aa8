// TrafficWatch: what the attempts of a node move, window by window, and which of them move less
// beside another job (core/agent/slowdowns.h).
//
// A look reads /proc and the kernel's table of connections on a thread of its own, about 50 us for
// a process, of kMostProcesses at most. Attempts that have more are not judged.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"
#include "core/agent/slowdowns.h"
#include "node/executor.h"
#include "os/aside.h"
#include "os/real_loop.h"

namespace spate::node {

class TrafficWatch {
 public:
  static constexpr size_t kMostProcesses = 512;  // of all attempts together
  using Roots = std::function<std::vector<AttemptRoot>()>;
  using Found = std::function<void(const SlowedBeside&)>;
  // `loop` outlives it. `window` is for tests.
  TrafficWatch(os::RealLoop& loop, Roots roots, Found found,
               Duration window = agent::Slowdowns::kWindow);
  ~TrafficWatch();
  TrafficWatch(const TrafficWatch&) = delete;
  TrafficWatch& operator=(const TrafficWatch&) = delete;

 private:
  class Reader;
  using Window = std::vector<agent::Slowdowns::Sample>;
  void LookLater();
  void Look();

  os::RealLoop& loop_;
  const Roots roots_;
  const Found found_;
  const Duration window_;
  os::TimerId timer_ = 0;
  std::shared_ptr<Reader> reader_;
  std::unique_ptr<os::Aside<Window>> aside_;  // null: no look is under way
  agent::Slowdowns slowdowns_;
};

}  // namespace spate::node
