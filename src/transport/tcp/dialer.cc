#include "transport/tcp/dialer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/socket.h"

namespace spate::transport {

Dialer::Dialer(os::RealLoop& loop, std::vector<os::Address> addresses, Done done, Duration patience)
    : loop_(loop), addresses_(std::move(addresses)), done_(std::move(done)), patience_(patience) {
  timer_ = loop_.At(loop_.Now(), [this] { Next(); });
}

Dialer::~Dialer() { Forget(); }

void Dialer::Forget() {
  lookup_.reset();
  if (fd_) loop_.Unwatch(fd_.get());
  fd_.Reset();
  loop_.Cancel(timer_);
}

void Dialer::Next() {
  if (!numbers_.empty()) {
    os::SocketAddress number = numbers_.back();
    numbers_.pop_back();
    return Try(number);
  }
  if (next_address_ == addresses_.size()) {
    return Finish(Fail(last_kind_, failures_.empty() ? "there is no address to try" : failures_));
  }
  const os::Address& address = addresses_[next_address_++];
  AwaitFor(fmt::format("find the host '{}'", address.host));
  lookup_ = std::make_unique<os::Lookup>(loop_, address, [this](auto numbers) {
    Forget();
    if (!numbers) return Failed(numbers.error());
    numbers_ = std::move(*numbers);
    std::ranges::reverse(numbers_);
    Next();
  });
}

void Dialer::Try(const os::SocketAddress& address) {
  auto fd = os::StartConnect(address);
  if (!fd) return Failed(fd.error());
  fd_ = std::move(*fd);
  AwaitFor("connect to " + address.Text());
  loop_.WatchWrite(fd_.get(), [this, address] { Decided(address); });
}

void Dialer::Decided(const os::SocketAddress& address) {
  Status status = os::FinishConnect(fd_.get(), address);
  loop_.Unwatch(fd_.get());
  os::Fd fd = std::move(fd_);
  Forget();
  if (!status) return Failed(status.error());
  Finish(Reached{std::move(fd), address});
}

void Dialer::Failed(const Error& error) {
  last_kind_ = error.kind;
  if (!failures_.empty()) failures_ += '\n';
  failures_ += error.message;
  Next();
}

void Dialer::AwaitFor(std::string what) {
  timer_ = loop_.At(loop_.Now() + patience_, [this, what = std::move(what)] {
    Forget();
    Failed({ErrorKind::kUnavailable,
            fmt::format("cannot {}: no answer within {:.0f} s; check the address, the network and "
                        "any firewall between",
                        what, patience_.seconds())});
  });
}

void Dialer::Finish(Result<Reached> result) {
  Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace spate::transport
