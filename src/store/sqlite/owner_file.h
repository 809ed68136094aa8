// OwnerFile: the right to write a state folder that several machines share.
//
// Locks of the kernel may be known to one machine only there (Lustre with localflock, BeeGFS as it
// comes, sshfs). So the owner makes the file `owner` in the folder, which only one process of any
// machine can, and changes it every five seconds. It names the process and the machine's boot id.
// docs/formats/journal.md has the text; docs/design/062 what can go wrong, and how far this helps.
//
// A process that finds another machine's file watches it for a minute, and takes the folder over
// when it has not changed: no clocks are compared. One that has not changed for an hour needs no
// watching, so that what dead owners left can be removed. An owner whose last change is older than
// 20 s (it was stopped, or the server was away) looks before it writes again whether the file is
// still its own.
//
// Threads: made and destroyed by one; MayWrite by any. A thread of its own writes the file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite/job_owner.h"

namespace spate::store {

struct OwnerFileOptions {
  // How long an owner on another machine is watched for a sign of life; 0: it counts as alive.
  Duration patience;
  // Called once before it is watched.
  std::function<void(const JobOwner&)> waiting = nullptr;
  // For tests.
  Duration beat = Duration::Seconds(5);
  Duration valid = Duration::Seconds(20);
  JobOwner self = JobOwner::ThisProcess();
};

class OwnerFile {
 public:
  // So long an owner is watched by a process that means to go on in its place.
  static constexpr Duration kPatience = Duration::Seconds(60);

  // Makes the file. Only for who has just locked the folder's file `lock` and written to it:
  // another process of this machine that the file names is dead. kBusy names the owner.
  static Result<std::shared_ptr<OwnerFile>> Acquire(const std::string& folder,
                                                    OwnerFileOptions options);
  // Removes the file, if it is still this owner's.
  ~OwnerFile();
  OwnerFile(const OwnerFile&) = delete;
  OwnerFile& operator=(const OwnerFile&) = delete;

  // Before each transaction. kBusy: another process has taken the folder over, and whatever this
  // one would write could damage what that one writes.
  Status MayWrite();
  // How long it took to write and sync the few bytes of the file.
  Duration sync_time() const { return sync_time_; }

 private:
  OwnerFile(std::string path, OwnerFileOptions options);
  std::string Line(uint64_t beat) const;
  Status Make();
  Status Beat();
  Status IsOurs() const;
  void BeatOn();

  const std::string path_;
  const OwnerFileOptions options_;
  const std::string identity_;
  Duration sync_time_;
  std::mutex writing_;  // of the file
  uint64_t beats_ = 0;
  std::atomic<int64_t> last_beat_ = 0;  // nanoseconds, also of the time that the machine slept
  std::mutex stopping_;
  std::condition_variable stop_;
  bool stopped_ = false;
  std::thread thread_;
};

// The owner on another machine that the folder's file names. nullopt: there is none, or it is of
// this machine, where the kernel's lock tells.
std::optional<JobOwner> OwnerElsewhere(const std::string& folder);

// True if its last sign of life is less than a minute old, by this machine's clock: to tell people,
// and not to decide anything.
bool SeemsAlive(const std::string& folder);

}  // namespace spate::store
