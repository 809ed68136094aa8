// Files and pipes that an attempt forwards (TaskForward): pipes of its own that it writes to, which
// are read as it goes, and files that are read at its end.
//
// A pipe can be opened again by /proc/self/fd/N, since it is the task's user's. We keep its writing
// end, too, so that it has no end before the attempt.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/body.h"
#include "os/fd.h"
#include "shepherd/pack.h"
#include "shepherd/spawn.h"
#include "shepherd/user_files.h"

namespace spate::shepherd {

inline constexpr size_t kForwardMemory = 1u << 20;  // of a pipe; the rest goes to a nameless file

class Forwards {
 public:
  // Begins a fresh attempt; the arguments must live until Clear.
  void Begin(const std::vector<TaskForward>& forwards, const std::string& spool_folder);
  bool empty() const { return forwards_ == nullptr || forwards_->empty(); }

  // The user's: makes the pipes. When they were made before, nothing is done.
  std::optional<StartFailure> Open();
  // Adds the descriptors that every command gets.
  void GiveTo(std::vector<Descriptor>& descriptors) const;
  // The pipes, to be polled.
  void AddTo(std::vector<pollfd>& polled) const;
  // The one that AddTo has added as its n-th can be read.
  void OnPipe(size_t n);

  // All processes are dead: takes the rest.
  void Drain();
  // The user's, in the attempt's folder, by way of `files`: opens the files. Why one cannot be
  // forwarded, or an empty text.
  std::string OpenFiles(UserFiles& files);
  // Likewise, once all are open: removes them, as nothing of an attempt stays for the next one.
  void RemoveFiles(UserFiles& files) const;
  // Ours. Why something is missing, or an empty text.
  std::string PutInto(Pack& pack);
  void Clear();

 private:
  struct Pipe {
    const TaskForward* forward = nullptr;
    os::Fd read, write;
    std::string bytes;         // the last of them
    os::Fd spool;              // what came before
    uint64_t spooled = 0;      // bytes in it
    std::string trouble = {};  // why some are missing
  };
  struct File {
    const TaskForward* forward = nullptr;
    os::Fd fd;  // not valid: there is none
    uint64_t size = 0;
    bool exists = false;
  };
  void Read(Pipe& pipe) const;
  void Spill(Pipe& pipe) const;
  static std::string OpenOne(File& file, UserFiles& files);

  const std::vector<TaskForward>* forwards_ = nullptr;
  std::string spool_folder_;
  std::vector<Pipe> pipes_;
  std::vector<File> files_;
};

}  // namespace spate::shepherd
