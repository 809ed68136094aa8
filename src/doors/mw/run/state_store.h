// StateStore: the journal of a master: what --mw-state keeps (state_file.h), and nothing without.
// Other records of the engine die with the process: the next life decides again from the tasks.
//
// A result is durable when it is in the file, before the master hears of it. Only tasks that were
// part of a checkpoint are kept: the master submits the others again.
//
// Thread: the loop's, as store::Store says. The file is written on another thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "doors/mw/ledger/ledger.h"
#include "doors/mw/run/state_file.h"
#include "os/loop.h"
#include "store/group_writer.h"
#include "store/transient_store.h"

namespace spate::mw {

class StateStore final : public store::TransientStore {
 public:
  // `file` may be null; `ledger` outlives the store, and hears of all records.
  StateStore(os::Loop& loop, Ledger& ledger, std::shared_ptr<StateFile> file);

  // These are in the file, or in changes before now.
  void Keeps(task_id id) { kept_.insert(id.value); }
  bool IsKept(task_id id) const { return kept_.contains(id.value); }
  void Forget(task_id id) { kept_.erase(id.value); }
  // True, once, if it must not be given out again, because a slave got it before it was kept.
  bool WasGiven(task_id id) { return given_.erase(id.value) > 0; }
  // Behind all that was appended before.
  void Write(StateChange change, std::function<void(Status)> done);

  void Append(store::Bundle bundle, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return 0; }
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

 private:
  void AddGiven(StateChange& change, const engine::Leased& lease);
  StateChange ChangeOf(const store::Bundle& bundle);

  Ledger& ledger_;
  const bool has_file_;
  std::unordered_set<uint64_t> kept_;
  std::unordered_set<uint64_t> given_;  // WasGiven
  store::GroupWriter<StateChange> writer_;
};

// The state that the last life of this program left in a folder; none, when `dir` is empty. The
// constants that its tasks name come to `constants`.
// kInvalid: another build of it left that.
struct OpenedState {
  std::shared_ptr<StateFile> file;
  StateFile::Kept kept;
};
Result<OpenedState> OpenState(const std::string& dir, MasterConstants& constants);

// Answers of a slave: its standard output, in memory or in a file, which is read into `from_file`.
// The view refers to one of the two.
Result<std::string_view> AnswersOf(const TaskOutputPtr& output, std::string& from_file);

}  // namespace spate::mw
