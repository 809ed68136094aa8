// Links of an attempt's commands: pipes, named pipes, buffers in memory and files. They are
// opened step by step, as the task's user, and closed when the processes that use them have them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/body.h"
#include "os/fd.h"
#include "shepherd/spawn.h"
#include "shepherd/user_files.h"

namespace spate::shepherd {

class Links {
 public:
  // Begins a fresh attempt, in the order in which CheckLinks saw its links; they must live until
  // Clear. Files are opened by way of `files`.
  void Begin(const std::vector<Link>& links, bool in_own_folder, UserFiles& files);
  bool empty() const { return links_ == nullptr || links_->empty(); }

  // Opens what the commands of this step use; what is open for a step is closed before.
  std::optional<StartFailure> Open(uint16_t step);
  // The descriptors that a command gets, once its step is open; until the next call.
  const std::vector<Descriptor>& Of(uint16_t step, uint16_t command);
  // The step's commands have all been started.
  void StepStarted();
  // The attempt is over.
  void Clear();
  // Memory that buffers hold.
  uint64_t BufferBytes() const;

 private:
  struct Opened {
    LinkEnd end;
    int fd;
  };
  bool OpenLink(size_t index, uint16_t step);
  bool OpenPipe(const Link& link);
  bool MakeNamedPipe(size_t index);
  bool OpenBuffer(size_t index, uint16_t step);
  bool OpenFile(size_t index, uint16_t step);
  // Keeps it until the step has started, out of the way of what commands have; -1: errno says why.
  int Retain(os::Fd fd);
  bool Fail(const char* what, const std::string& name, int error);

  const std::vector<Link>* links_ = nullptr;
  UserFiles* files_ = nullptr;
  bool in_own_folder_ = false;
  int highest_ = 2;             // descriptor of a command
  std::vector<os::Fd> memory_;  // by link; of buffers that somebody has written to
  std::vector<bool> made_;      // by link: its name is there
  std::vector<os::Fd> fds_;
  std::vector<Opened> open_;
  std::vector<Descriptor> descriptors_;
  StartFailure failure_;
};

}  // namespace spate::shepherd
