// The journal of a run of pegasus-mpi-cluster: its rescue file, and nothing else. What else the
// engine records dies with the process, and the next start decides anew from the file.
//
// An end is durable when what the task wrote has been delivered and, if it succeeded, its record is
// in the file and synced: one append and one sync for all ends that wait. So a task is in the file
// exactly when it has succeeded and its output is where it belongs.
//
// Thread: the loop's, as store::Store says. Deliveries and the file are written on another thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "os/fd.h"
#include "store/group_writer.h"
#include "store/transient_store.h"

namespace spate::pmc {

class RescueStore final : public store::TransientStore {
 public:
  struct Parts {
    os::Fd file;        // open for appending
    std::string path;   // for messages
    bool syncs = true;  // false for a device or a pipe, which cannot be synced
    // Rows of the tasks, by index; called on the loop's thread.
    std::function<std::string(TaskIndex)> row;
    // The name of a task in the file, and where an attempt's output goes. Called on another thread,
    // for one end after the other, in their order.
    std::function<std::string(TaskIndex)> name;
    std::function<Status(const engine::AttemptEnded&, const TaskOutputPtr&)> deliver;
  };
  RescueStore(os::Loop& loop, Parts parts);

  void Append(store::Bundle bundle, std::function<void(Status)> done) override;
  uint64_t Backlog() const override { return writer_.backlog(); }
  Result<std::vector<std::string>> Rows(JobId job, TaskIndex first, uint32_t count) override;

 private:
  struct Ended {
    engine::AttemptEnded record;
    TaskOutputPtr output;
  };
  using Ends = std::vector<Ended>;  // of a bundle
  static Status Write(const Parts& parts, std::span<const Ends> group);

  const std::shared_ptr<const Parts> parts_;
  store::GroupWriter<Ends> writer_;
};

}  // namespace spate::pmc
