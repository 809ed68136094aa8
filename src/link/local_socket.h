// Place of a folder's UNIX socket.
//
// A socket belongs to one machine. A network file system shows its name to all of them, or can hold
// none (FUSE, CIFS). There it lies in a temporary folder of this machine, and in its place is a
// file of one line, the path of the socket.
//
// Thread: one at a time.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "os/address.h"
#include "os/temp_dir.h"

namespace spate::link {

class LocalSocket {
 public:
  // For a listener: `name` is where others look for it. `for_others`: users other than this one
  // may come.
  static Result<LocalSocket> Make(const std::string& name, bool for_others);
  ~LocalSocket();
  LocalSocket(LocalSocket&& other) noexcept = default;
  LocalSocket& operator=(LocalSocket&& other) noexcept = default;

  // To listen at.
  const std::string& path() const { return path_; }

 private:
  LocalSocket() = default;
  std::string name_, path_;
  std::unique_ptr<os::TempDir> elsewhere_;
};

// For a caller: the address where what `address` names listens; most are their own.
os::Address WhereItListens(os::Address address);

}  // namespace spate::link
