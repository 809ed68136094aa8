// Meeting place of a node's shepherds and the node's next process: the folder `shepherds` of the
// node's state folder (0700). A shepherd listens there from its beginning on, at a socket that is
// named after it, and takes a connection once its parent is gone. One whose attempt ended while
// there was no node leaves its ends there as a file, and leaves.
//
// Names are PID-START, the start in ticks since boot: no two shepherds of a boot have the same.
// Files of an earlier boot mean nothing, and the node removes them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::shepherd {

std::string RendezvousFolder(const std::string& node_folder);

// A shepherd's side.
class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(Rendezvous&&) = default;
  Rendezvous& operator=(Rendezvous&&) = default;
  ~Rendezvous();  // removes the socket's name

  // The folder must be there.
  static Result<Rendezvous> Open(const std::string& node_folder);
  // Readable when somebody waits for Accept; -1 when this was not opened.
  int fd() const { return listener_.get(); }
  // The process that waits, if it is of our user; else not valid.
  os::Fd Accept();
  // True if the next process of the node can still find us.
  bool IsThere() const;
  // Leaves the frames of ends for the node's next process, which finds all of them or nothing.
  Status LeaveEnds(std::string_view frames) const;

 private:
  os::Fd folder_;
  std::string name_;
  os::Fd listener_;
};

// The node's side. All by pid and start: the process may have ended, and its pid may be used again.
struct ShepherdName {
  pid_t pid = 0;
  uint64_t start = 0;
  friend bool operator==(const ShepherdName&, const ShepherdName&) = default;
};
// Shepherds obey whoever connects, so this is for one process at a time: kBusy, and who it is, when
// there is another one. The folder must be there.
Result<os::FileLock> OwnNode(const std::string& node_folder);
struct NodeProcess {
  pid_t pid = 0;
  os::Fd process;  // a pidfd
};
// The node's process, which holds the lock; nullopt: none does. kPermission: the folder is not the
// caller's own, or others may write there, so its content is not trusted.
Result<std::optional<NodeProcess>> ProcessOfNode(const std::string& node_folder);
// Shepherds with a socket or a file of ends, alive or not. Creates the folder when it is missing,
// and empties it when the machine has been started since it was used.
Result<std::vector<ShepherdName>> ShepherdsIn(const std::string& node_folder);
// kUnavailable when it does not listen any more; what it left, if anything, is then in its file.
Result<os::Fd> ConnectTo(const std::string& node_folder, const ShepherdName& name);
// Waits so many nanoseconds at most; a shepherd that is gone is readable, too.
bool AwaitReadable(int socket, int64_t patience);
std::string PathOfEnds(const std::string& node_folder, const ShepherdName& name);
// Removes what one that is gone left, but for its file of ends.
void RemoveSocket(const std::string& node_folder, const ShepherdName& name);

}  // namespace spate::shepherd
