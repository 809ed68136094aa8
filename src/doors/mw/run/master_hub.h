// MasterHub: the master's side of the network, on a thread of its own: a hub without a journal but
// --mw-state, its entrance, the slaves behind it, and the files that others read. So the resource
// file is written, and slaves see signs of life, for as long as the master computes by itself.
//
// Threads: the master's own calls the functions here; the hub's thread fills the inbox.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"
#include "doors/mw/formats/options.h"
#include "doors/mw/run/inbox.h"
#include "doors/mw/run/master_constants.h"
#include "os/real_loop.h"

namespace spate::mw {

class MasterHub {
 public:
  // State that the last life of this master left: its unfinished tasks are given out, its results
  // are in the inbox.
  struct Start {
    std::unique_ptr<MasterHub> hub;
    std::optional<restored> left;
    std::map<std::string, size_t, std::less<>> pending;  // of what is left, by algorithm
    uint64_t last_task = 0;
  };
  // Listens when it returns, and the resource file is written. `inbox` outlives it. `constants` are
  // this master's alone; those of a state come to them. kBusy: another master writes this resource
  // file, or keeps its state in this folder.
  static Result<Start> Open(const Options& options, Inbox& inbox,
                            std::shared_ptr<MasterConstants> constants);
  ~MasterHub();
  MasterHub(const MasterHub&) = delete;
  MasterHub& operator=(const MasterHub&) = delete;

  void Submit(std::vector<task> tasks);
  void AdjustWanted(group which, int64_t change);
  // Called for an inbox that holds tasks.
  void ResultsTaken();
  // False: there is no such slave.
  bool Free(slave_id slave);
  // Those that it has ended; nullopt: of all tasks.
  std::vector<task> Cancel(const std::optional<std::vector<task_id>>& tasks);
  // The algorithm of a task that has not ended; "": there is none.
  std::string AlgorithmOf(task_id id);
  std::vector<slave_info> ListSlaves();
  // `taken`: results and tasks that the master has been given since the last checkpoint. Blocks
  // until it is durable.
  Status Checkpoint(std::vector<task_id> taken, std::string state, uint64_t last_task);
  bool has_state() const;
  // Tells all slaves to end and waits until they have heard it, or the timeout is over; then the
  // resource file says how it ended, and is not written again. `failed`: slaves fail, too.
  void Finish(bool failed);

 private:
  class Inside;
  MasterHub();
  // Runs `fn` on the hub's thread, and waits for its end.
  void Invoke(std::function<void()> fn);

  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<Inside> inside_;
  std::thread thread_;
};

}  // namespace spate::mw
