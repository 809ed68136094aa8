// The pack of files that comes home with an attempt (core/model/task_files.h): in memory, and a
// long one in a spool file.
//
// Functions return why they failed, or an empty text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/attempt.h"
#include "core/model/task_files.h"
#include "os/fd.h"
#include "shepherd/protocol.h"
#include "shepherd/pulse.h"

namespace spate::shepherd {

// A file without a name, which goes with its descriptor. Not valid: errno says why.
os::Fd OpenNameless(const std::string& folder);

class Pack {
 public:
  explicit Pack(Pulse pulse = Pulse()) : pulse_(pulse) {}

  // Before an attempt; `spool_folder` is ours.
  void Begin(const std::string& spool_folder, const AttemptRef& ref);
  // Its bytes follow, by Add or AddFrom.
  std::string AddHead(const PackedFile& file);
  std::string Add(std::string_view bytes);
  // The first `size` bytes of a file that people know as `name`.
  std::string AddFrom(int fd, uint64_t size, const std::string& name);
  bool met_full_disk() const { return full_; }
  // It is empty again.
  void Drop();
  // Valid until Close. The spool file is the reader's.
  StreamView view() const;
  // The reader alone has the spool file from now on, so that its room is free once it removes it.
  void Close() { spool_.Reset(); }

 private:
  std::string WriteSpool(std::string_view bytes);

  const Pulse pulse_;
  std::string bytes_;  // all of it when there is no spool file
  std::string spool_path_;
  os::Fd spool_;
  uint64_t total_ = 0;
  bool full_ = false;  // the disk
};

}  // namespace spate::shepherd
