// Output of tasks that still run, in DAG.out.RANK and DAG.err.RANK: people can look at it, and a
// kill of the whole job loses no more than half a second of it. The next start takes these files
// over (OutputFiles::AdoptLeftovers). They are no records: a task's output is delivered at its end,
// and its files are removed then.
//
// Thread: the loop's.
#pragma once

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

  LiveOutput(os::RealLoop& loop, std::string dag) : loop_(loop), dag_(std::move(dag)) {}
  ~LiveOutput() { loop_.Cancel(timer_); }
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;

  // A task in a process's slot has written these bytes to stdout (1) or stderr (2).
  void Add(TaskIndex task, int rank, int stream, std::string_view bytes);
  // The task has ended and its output is delivered, or is to be kept nowhere.
  void Remove(TaskIndex task);
  // Whether nothing is kept of any task.
  bool empty() const { return tasks_.empty(); }

 private:
  struct Live {
    int rank = 0;
    std::string waiting[2];  // by stream - 1
    bool has_file[2] = {};
  };
  void Flush();
  void Write(Live& live, int stream);
  std::string PathOf(int rank, int stream) const;

  os::RealLoop& loop_;
  const std::string dag_;
  std::map<TaskIndex, Live> tasks_;
  std::map<int, TaskIndex> owners_;  // of a rank's files; the next task in the slot waits for it
  os::TimerId timer_ = 0;
};

}  // namespace spate::pmc
