// SlaveNode: the slave's side of the network, on a thread of its own: it finds the master, and is a
// node of its hub. So the master sees signs of life while an algorithm computes, for however long.
//
// Threads: the slave's own makes and destroys it; all else goes by the workbench.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "doors/mw/formats/options.h"
#include "doors/mw/run/workbench.h"
#include "os/real_loop.h"

namespace spate::mw {

class SlaveNode {
 public:
  // `bench` outlives it. `say`: what a person should know while the slave waits; on any thread.
  static Result<std::unique_ptr<SlaveNode>> Open(const Options& options, Workbench& bench,
                                                 std::function<void(const std::string&)> say);
  // Sends off the computed results first, if the master accepts them.
  ~SlaveNode();
  // Disconnects and sends nothing more, as if the process was killed.
  void Kill();
  SlaveNode(const SlaveNode&) = delete;
  SlaveNode& operator=(const SlaveNode&) = delete;

 private:
  class Inside;
  SlaveNode();

  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<Inside> inside_;
  std::thread thread_;
};

}  // namespace spate::mw
