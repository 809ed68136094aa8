// Dialer: one round of reaching somebody at one of several addresses, in their order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/address.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::transport {

class Dialer {
 public:
  struct Reached {
    os::Fd fd;
    os::SocketAddress address;
  };
  // Called once by the loop, when somebody was reached or nobody could be: the error tells of
  // every address. May destroy the dialer.
  using Done = std::function<void(Result<Reached>)>;
  // `patience` is for each step: a name, a number.
  Dialer(os::RealLoop& loop, std::vector<os::Address> addresses, Done done,
         Duration patience = Duration::Seconds(5));
  // Gives up; `done` is not called any more.
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

 private:
  void Next();
  void Try(const os::SocketAddress& address);
  void Decided(const os::SocketAddress& address);
  void Failed(const Error& error);
  void Forget();
  void AwaitFor(std::string what);
  void Finish(Result<Reached> result);

  os::RealLoop& loop_;
  const std::vector<os::Address> addresses_;
  Done done_;
  const Duration patience_;

  size_t next_address_ = 0;
  std::vector<os::SocketAddress> numbers_;  // of the address before that; the next one last
  std::string failures_;
  ErrorKind last_kind_ = ErrorKind::kInvalid;
  // The step that is under way.
  std::unique_ptr<os::Lookup> lookup_;
  os::Fd fd_;
  os::TimerId timer_ = 0;
};

}  // namespace spate::transport
