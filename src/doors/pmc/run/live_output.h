// Output of tasks that still run, in DAG.out.RANK and DAG.err.RANK, or with --per-task-stdio in
// their own files: people can look at it, and a kill of the whole job loses no more than half a
// second of it. The next start takes the files of ranks over (OutputFiles::AdoptLeftovers). They
// are no records: a task's output is delivered at its end.
//
// Bytes come from the task's host. Where a host keeps long output in a folder that this process
// sees, they come only until then: the task's file becomes another name of the one there, or what
// is new there is copied twice a second.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "os/real_loop.h"

namespace spate::pmc {

class LiveOutput {
 public:
  // Longest time between the arrival of output and its write to a file.
  static constexpr Duration kEvery = Duration::Millis(500);

  struct Parts {
    // DAGFILE; files are those of ranks.
    std::string dag;
    // With --per-task-stdio: the file of a task's try, which stays. Empty: it cannot be made.
    std::function<std::string(TaskIndex, int stream)> own_file = {};
  };
  LiveOutput(os::RealLoop& loop, Parts parts) : loop_(loop), parts_(std::move(parts)) {}
  ~LiveOutput() { loop_.Cancel(timer_); }
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;

  // A task in a process's slot has written these bytes to stdout (1) or stderr (2). `spool`: the
  // file that has all of the stream once it is long; empty: this process does not see it.
  void Add(TaskIndex task, int rank, int stream, std::string_view bytes,
           const std::string& spool = "");
  // Nothing more is written to the task's files: its end is about to be delivered.
  void Freeze(TaskIndex task);
  // The task has ended and its output is delivered, or is to be kept nowhere.
  void Remove(TaskIndex task);
  // True if nothing is kept of any task.
  bool empty() const { return tasks_.empty(); }

 private:
  struct Stream {
    std::string waiting;
    std::string path;   // of its file; empty: there is none
    std::string spool;  // as Add's
    uint64_t written = 0;
    bool linked = false;  // the file is the spool file
  };
  struct Live {
    int rank = 0;
    bool frozen = false;
    Stream streams[2];  // by number - 1
  };
  bool Owns(TaskIndex task, int rank);
  void Flush();
  void Write(TaskIndex task, Live& live, int stream);
  bool FollowSpool(Stream& stream);
  std::string PathOf(TaskIndex task, int rank, int stream) const;

  os::RealLoop& loop_;
  const Parts parts_;
  std::map<TaskIndex, Live> tasks_;
  std::map<int, TaskIndex> owners_;  // of a rank's files; the next task in the slot waits for it
  os::TimerId timer_ = 0;
};

}  // namespace spate::pmc
