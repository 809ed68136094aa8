// StateStore: the journal of a master: what --mw-state keeps (state_file.h), and nothing without.
// What else the engine records dies with the process: the next life decides anew from the tasks.
//
// A result is durable when it is in the file, before the master hears of it. Only tasks that were
// part of a checkpoint are kept: the master submits the others again.
//
// Thread: the loop's, as store::Store says. The file is written on another thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "doors/mw/ledger/ledger.h"
#include "doors/mw/run/state_file.h"
#include "os/aside.h"
#include "os/loop.h"
#include "store/store.h"

namespace spate::mw {

class StateStore final : public store::Store {
 public:
  // `file` may be null; `ledger` outlives the store.
  StateStore(os::Loop& loop, const Ledger& ledger, std::shared_ptr<StateFile> file)
      : loop_(loop), ledger_(ledger), file_(std::move(file)) {}

  // These are in the file, or in changes before now.
  void Keeps(task_id id) { kept_.insert(id.value); }
  bool IsKept(task_id id) const { return kept_.contains(id.value); }
  void Forget(task_id id) { kept_.erase(id.value); }
  // Whether it must not be given out again, as a slave was given it before it was kept. It says so
  // once.
  bool WasGiven(task_id id) { return given_.erase(id.value) > 0; }
  // Behind all that was appended before.
  void Write(StateChange change, std::function<void(Status)> done);

  void Append(store::Bundle bundle, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return 0; }
  Status Replay(const std::function<void(const engine::Record&)>&) override { return {}; }
  Status ReplayJob(JobId, const std::function<void(const engine::Record&)>&) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

 private:
  struct Waiting {
    StateChange change;
    std::function<void(Status)> done;
  };
  StateChange ChangeOf(const store::Bundle& bundle);
  void Commit();
  void Committed(Status status);

  os::Loop& loop_;
  const Ledger& ledger_;
  const std::shared_ptr<StateFile> file_;
  std::unordered_set<uint64_t> kept_;
  std::unordered_set<uint64_t> given_;  // WasGiven
  std::deque<Waiting> waiting_;
  std::shared_ptr<std::deque<Waiting>> group_;  // what is being written
  std::unique_ptr<os::Aside<bool>> writer_;
  Status failure_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What a slave has answered: of its standard output, in memory or in a file.
Result<std::string> AnswersOf(const TaskOutputPtr& output);

}  // namespace spate::mw
