// A file that one process at a time writes, each time whole: readers see the old text or the new
// one. The right to write it is a lock on the very file that lies there (an OFD lock, which network
// file systems know too), so no other file is left beside it, and the system drops the lock with
// its process, however that ends.
//
// Thread: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

class HeldFile {
 public:
  // kBusy: another process (or another object of this one) holds it for more than a moment. A file
  // that does not exist is held from the first write on. A file system that knows no locks is no
  // error: then nobody is kept out.
  static Result<HeldFile> Hold(std::string path);
  // Replaces the file. kBusy: it was removed or replaced, and somebody else holds what is there
  // now.
  Status Write(std::string_view bytes, uint32_t permissions);
  // Others may hold it from now on, also while a child of this process still has the descriptor.
  void Release();

 private:
  explicit HeldFile(std::string path) : path_(std::move(path)) {}
  // Locks what lies there; afterwards fd_ is open, unless nothing lies there (missing_) or it
  // cannot be opened.
  Status Acquire();
  bool IsThere() const;
  std::string path_;
  Fd fd_;
  bool missing_ = false;
};

}  // namespace spate::os
