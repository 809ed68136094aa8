// Gathering: the connections of a gang's members to its first process, which serves them by what a
// space (PmiSpace, PmixSpace) makes of their messages.
//
//   connection := "rank N" newline, then messages; back: the gang's word and a newline, then
//   messages
//
// Thread: the loop's.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "os/fd.h"
#include "os/handover.h"
#include "os/real_loop.h"
#include "os/socket.h"

namespace spate::remote {

// A Space has members(), a static SizeOf(bytes) of the first message in bytes (0: not known yet),
// and Handle(member, message) and Left(member), whose steps have replies and maybe an end of the
// program.
template <typename Space>
class Gathering {
 public:
  using Step = typename Space::Step;
  using Aborted = std::function<void(const Step& step)>;
  // `word` ends with a newline.
  Gathering(os::RealLoop& loop, os::HandoverInbox inbox, std::string word, Space space,
            Aborted aborted)
      : loop_(loop),
        inbox_(std::move(inbox)),
        word_(std::move(word)),
        space_(std::move(space)),
        aborted_(std::move(aborted)) {
    loop_.WatchRead(inbox_.fd(), [this] { TakeSome(); });
  }
  ~Gathering() {
    loop_.Unwatch(inbox_.fd());
    for (const Member& member : members_) loop_.Unwatch(member.fd.get());
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  // This process' own connection, where nobody has to prove anything.
  void AddOwn(os::Fd fd) {
    if (auto at = Add(std::move(fd))) Name(*at, 0);
  }
  const Space& space() const { return space_; }
  // Called once, when all have come and left: those whose command has ended at once may still be on
  // their way.
  void WhenEmpty(std::function<void()> fn) {
    when_empty_ = std::move(fn);
    TellIfEmpty();
  }

 private:
  static constexpr size_t kHelloMost = 64;
  struct Member {
    os::Fd fd;
    std::optional<uint32_t> number = std::nullopt;
    std::string in = {};
    std::deque<std::shared_ptr<const std::string>> out = {};
    size_t sent = 0;  // of the first of them
  };
  using At = std::list<Member>::iterator;

  void TakeSome() {
    for (;;) {
      auto fd = inbox_.Receive();
      if (!fd || !*fd) return;
      (void)Add(std::move(**fd));
    }
  }
  std::optional<At> Add(os::Fd fd) {
    if (!os::SetNonBlocking(fd.get(), true)) return std::nullopt;
    auto at = members_.emplace(members_.end(), Member{std::move(fd)});
    loop_.WatchRead(at->fd.get(), [this, at] { Read(at); });
    return at;
  }
  void Name(At at, uint32_t number) {
    at->number = number;
    by_number_[number] = at;
    came_.insert(number);
  }

  void Read(At at) {
    char bytes[65536];
    const os::IoStep step = os::Receive(at->fd.get(), bytes, sizeof bytes);
    if (step.kind == os::IoStep::Kind::kWouldBlock) return;
    if (step.kind != os::IoStep::Kind::kDone) return Drop(at);
    at->in.append(bytes, step.bytes);
    if (!at->number && !Greet(at)) return Drop(at);
    if (!at->number) return;
    for (;;) {
      auto size = Space::SizeOf(at->in);
      if (!size) return Drop(at);
      if (*size == 0 || *size > at->in.size()) return;
      const std::string message = at->in.substr(0, *size);
      at->in.erase(0, *size);
      Carry(space_.Handle(*at->number, message));
    }
  }

  // False: not a member.
  bool Greet(At at) {
    constexpr std::string_view kRank = "rank ";
    const size_t end = at->in.find('\n');
    if (end == std::string::npos) return at->in.size() < kHelloMost;
    const std::string line = at->in.substr(0, end);
    at->in.erase(0, end + 1);
    if (!line.starts_with(kRank)) return false;
    auto number = ParseCount(line.substr(kRank.size()));
    if (!number || *number >= space_.members()) return false;
    if (by_number_.contains(static_cast<uint32_t>(*number))) return false;
    Name(at, static_cast<uint32_t>(*number));
    Write(at, std::make_shared<const std::string>(word_));
    return true;
  }

  void Carry(const Step& step) {
    for (const auto& reply : step.replies) {
      if (auto to = by_number_.find(reply.to); to != by_number_.end())
        Write(to->second, reply.text);
    }
    if (step.abort) aborted_(step);
  }

  void Write(At at, std::shared_ptr<const std::string> text) {
    at->out.push_back(std::move(text));
    if (at->out.size() == 1) Flush(at);
  }
  // One that is gone is found by reading.
  void Flush(At at) {
    while (!at->out.empty()) {
      const std::string_view rest = std::string_view(*at->out.front()).substr(at->sent);
      const os::IoStep step = os::SendSome(at->fd.get(), rest);
      if (step.kind == os::IoStep::Kind::kWouldBlock) {
        return loop_.WatchWrite(at->fd.get(), [this, at] { Flush(at); });
      }
      if (step.kind != os::IoStep::Kind::kDone) break;
      at->sent += step.bytes;
      if (step.bytes < rest.size()) continue;
      at->out.pop_front();
      at->sent = 0;
    }
    loop_.UnwatchWrite(at->fd.get());
  }

  void Drop(At at) {
    loop_.Unwatch(at->fd.get());
    const auto number = at->number;
    members_.erase(at);
    if (number) {
      by_number_.erase(*number);
      Carry(space_.Left(*number));
    }
    TellIfEmpty();
  }
  void TellIfEmpty() {
    if (!when_empty_ || !members_.empty() || came_.size() < space_.members()) return;
    loop_.Post(std::exchange(when_empty_, nullptr));
  }

  os::RealLoop& loop_;
  os::HandoverInbox inbox_;
  const std::string word_;
  Space space_;
  const Aborted aborted_;
  std::list<Member> members_;
  std::map<uint32_t, At> by_number_;
  std::set<uint32_t> came_;
  std::function<void()> when_empty_;
};

}  // namespace spate::remote
