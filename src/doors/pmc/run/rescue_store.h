// The journal of a run of pegasus-mpi-cluster: its rescue file, and nothing else. What else the
// engine records dies with the process, and the next start decides anew from the file.
//
// An end is durable when what the task wrote has been delivered and, if it succeeded, its record is
// in the file and synced: one append and one sync for all ends that wait. So a task is in the file
// exactly when it has succeeded and its output is where it belongs.
//
// Thread: the loop's, as store::Store says. Deliveries and the file are written on another thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "os/aside.h"
#include "os/fd.h"
#include "store/store.h"

namespace spate::pmc {

class RescueStore final : public store::Store {
 public:
  struct Parts {
    os::Fd file;       // open for appending
    std::string path;  // for messages
    // Of the tasks, by index; called on the loop's thread.
    std::function<std::string(TaskIndex)> row;
    // The name of a task in the file, and where an attempt's output goes. Called on another thread,
    // for one end after the other, in their order.
    std::function<std::string(TaskIndex)> name;
    std::function<Status(const engine::AttemptEnded&, const TaskOutputPtr&)> deliver;
  };
  RescueStore(os::Loop& loop, Parts parts);

  void Append(store::Bundle bundle, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return backlog_; }
  Status Replay(const std::function<void(const engine::Record&)>&) override { return {}; }
  Status ReplayJob(JobId, const std::function<void(const engine::Record&)>&) override;
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

 private:
  struct Ended {
    engine::AttemptEnded record;
    TaskOutputPtr output;
  };
  struct Waiting {
    std::vector<Ended> ends;
    std::function<void(Status)> done;
    uint64_t bytes = 0;
  };
  static Status Write(const Parts& parts, const std::deque<Waiting>& group);
  void Commit();
  void Committed(Status status);

  os::Loop& loop_;
  const std::shared_ptr<const Parts> parts_;
  std::deque<Waiting> waiting_;
  std::shared_ptr<std::deque<Waiting>> group_;  // what is being written
  std::unique_ptr<os::Aside<bool>> writer_;
  uint64_t backlog_ = 0;
  Status failure_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::pmc
