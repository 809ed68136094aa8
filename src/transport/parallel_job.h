// ParallelJob: one process of a job of many that were started together, as MPI has them: who the
// others are, and streams of bytes to them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::transport {

class ParallelJob {
 public:
  struct Place {
    int rank = 0;         // from 0
    int size = 1;         // processes
    std::string library;  // its name, for people
  };
  virtual ~ParallelJob() = default;  // leaves the job, after all others have come here
  const Place& place() const { return place_; }

  // The words of each process, by rank. All must call it.
  virtual std::vector<std::string> Gather(const std::string& own) = 0;
  // The word of rank 0. All must call it; the others wait, for as long as it takes.
  virtual int Broadcast(int word) = 0;

  // Our end of a stream to the process `rank`, which opens one to us. One for each process.
  virtual Result<os::Fd> Open(os::RealLoop& loop, int rank) = 0;
  // After all streams were closed here: runs the loop until the others have got all of it, and have
  // closed theirs.
  virtual void Drain() = 0;
  struct Traffic {
    uint64_t sent = 0, received = 0;  // bytes
  };
  virtual Traffic traffic() const = 0;

 protected:
  Place place_;
};

// Removes arguments that are the launcher's.
using JoinJob = std::function<std::unique_ptr<ParallelJob>(int* argc, char*** argv)>;

}  // namespace spate::transport
