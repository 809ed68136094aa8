// Gives open descriptors to another process of this machine, by a name that is no file (an abstract
// UNIX socket of this network namespace). It goes with its inbox.
//
// A name proves nothing: who knows it may take it when its inbox is gone. What is handed over must
// not be of worth to a stranger, such as a connection on which both ends prove who they are.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace spate::os {

class HandoverInbox {
 public:
  // kBusy: somebody has this name. `name` has at most 100 bytes.
  static Result<HandoverInbox> Open(std::string_view name);

  int fd() const { return fd_.get(); }  // readable when something may be there
  // The next descriptor that root or this process' own user has sent, close-on-exec. What others
  // sent is dropped, and never opened here. Nullopt: there is none, or only behind so much of
  // others that the inbox is still readable.
  Result<std::optional<Fd>> Receive();

 private:
  explicit HandoverInbox(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// `fd` stays the caller's. kNotFound: nobody has this name; kBusy: its inbox is full for now.
Status HandOver(std::string_view name, int fd);

}  // namespace spate::os
