#include "run/run_entrance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/number.h"
#include "os/account.h"
#include "os/file.h"
#include "os/socket.h"

namespace spate::run {
namespace {

constexpr size_t kGuestsMost = 64;
constexpr size_t kOrderMost = 4096;
constexpr Duration kTellEvery = Duration::Millis(100);
constexpr size_t kUnheardMost = 64 << 10;  // bytes that wait for one who does not read

}  // namespace

std::string FormatRunNews(const RunNews& news) {
  const JobCounts& c = news.counts;
  return fmt::format("news {} {} {} {} {} {} {} {} {:d} {:d}", c.total, c.queued, c.leased,
                     c.succeeded, c.failed, c.unknown, c.cancelled, news.running, news.open,
                     news.held);
}

std::optional<RunNews> ParseRunNews(std::string_view line) {
  std::array<uint32_t, 10> numbers{};
  if (!line.starts_with("news")) return std::nullopt;
  line.remove_prefix(4);
  for (uint32_t& number : numbers) {
    if (!line.starts_with(' ')) return std::nullopt;
    line.remove_prefix(1);
    auto read = ReadNumber<uint32_t>(line.substr(0, line.find(' ')));
    if (!read) return std::nullopt;
    number = *read;
    line.remove_prefix(std::min(line.size(), line.find(' ')));
  }
  JobCounts counts{.total = numbers[0],
                   .queued = numbers[1],
                   .leased = numbers[2],
                   .succeeded = numbers[3],
                   .failed = numbers[4],
                   .cancelled = numbers[6],
                   .unknown = numbers[5]};
  return RunNews{counts, numbers[7], numbers[8] != 0, numbers[9] != 0};
}

Result<RunAddress> RunAddressOf(const std::string& job_folder) {
  auto folder = os::OpenDir(job_folder);
  if (!folder) return std::unexpected(std::move(folder.error()));
  std::string path = fmt::format("/proc/self/fd/{}/control", folder->get());
  return RunAddress{std::move(*folder), std::move(path)};
}

Result<std::unique_ptr<RunEntrance>> RunEntrance::Open(os::RealLoop& loop,
                                                       const std::string& job_folder,
                                                       Events events) {
  auto at = RunAddressOf(job_folder);
  if (!at) return std::unexpected(std::move(at.error()));
  auto address = os::SocketAddress::Numeric({.host = "", .port = 0, .path = at->path});
  if (!address) return std::unexpected(std::move(address.error()));
  // What a killed run has left: the job's lock is ours.
  std::string path = os::JoinPath(job_folder, "control");
  (void)os::RemoveFile(path);
  auto listener = os::Listen(**address, static_cast<int>(kGuestsMost), 0600);
  if (!listener) return std::unexpected(std::move(listener.error()));
  return std::unique_ptr<RunEntrance>(
      new RunEntrance(loop, std::move(*listener), std::move(path), std::move(events)));
}

RunEntrance::RunEntrance(os::RealLoop& loop, os::Fd listener, std::string path, Events events)
    : loop_(loop),
      listener_(std::move(listener)),
      path_(std::move(path)),
      events_(std::move(events)) {
  loop_.WatchRead(listener_.get(), [this] { LetIn(); });
}

RunEntrance::~RunEntrance() {
  loop_.Cancel(timer_);
  loop_.Unwatch(listener_.get());
  (void)os::RemoveFile(path_);
  Tell();
  for (auto& guest : Guests(guests_)) {
    Say(guest, fmt::format("end {}", exit_code_));
    Leave(guest);
  }
}

void RunEntrance::LetIn() {
  for (;;) {
    auto accepted = os::Accept(listener_.get());
    if (!accepted || !*accepted) break;
    auto peer = os::PeerOf((*accepted)->fd.get());
    bool welcome = peer && (peer->user == os::EffectiveUser() || peer->user == 0);
    if (!welcome || guests_.size() >= kGuestsMost) continue;  // closed
    auto guest = std::make_shared<Guest>();
    guest->fd = std::move((*accepted)->fd);
    guests_.push_back(guest);
    loop_.WatchRead(guest->fd.get(), [this, guest] { Hear(guest); });
    Say(guest, FormatRunNews(events_.news()));
  }
  if (timer_ == 0) TellNowAndThen();
}

void RunEntrance::TellNowAndThen() {
  Tell();
  timer_ = guests_.empty() ? 0 : loop_.At(loop_.Now() + kTellEvery, [this] { TellNowAndThen(); });
}

void RunEntrance::Hear(const std::shared_ptr<Guest>& guest) {
  std::array<char, kOrderMost> bytes;
  os::IoStep step = os::Receive(guest->fd.get(), bytes.data(), bytes.size());
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Leave(guest);
  guest->in.append(bytes.data(), step.bytes);
  for (size_t end; (end = guest->in.find('\n')) != std::string::npos;) {
    std::string order = guest->in.substr(0, end);
    guest->in.erase(0, end + 1);
    events_.on_order(std::move(order), [this, weak = std::weak_ptr<Guest>(guest)](Answer answer) {
      auto there = weak.lock();
      if (there) Say(there, fmt::format("{} {}", answer.done ? "done" : "no", answer.text));
    });
  }
  if (guest->in.size() > kOrderMost) Leave(guest);
}

void RunEntrance::Say(const std::shared_ptr<Guest>& guest, std::string_view line) {
  if (!guest->fd) return;
  guest->out += line;
  guest->out += '\n';
  Flush(guest);
}

void RunEntrance::Flush(const std::shared_ptr<Guest>& guest) {
  if (guest->watches_write) return;
  os::IoStep step = os::SendSome(guest->fd.get(), guest->out);
  if (step.kind == os::IoStep::Kind::kError) return;  // Hear sees the end
  guest->out.erase(0, step.bytes);
  if (guest->out.empty()) return;
  guest->watches_write = true;
  loop_.WatchWrite(guest->fd.get(), [this, guest] {
    loop_.UnwatchWrite(guest->fd.get());
    guest->watches_write = false;
    Flush(guest);
  });
}

void RunEntrance::Leave(const std::shared_ptr<Guest>& guest) {
  if (!guest->fd) return;
  std::shared_ptr<Guest> keep = guest;  // the function that calls may be what holds it
  loop_.Unwatch(keep->fd.get());
  keep->fd.Reset();
  guests_.remove(keep);
}

void RunEntrance::Tell() {
  if (guests_.empty()) return told_.reset();
  RunNews news = events_.news();
  if (told_ == news) return;
  told_ = news;
  for (auto& guest : Guests(guests_)) {
    if (guest->out.size() < kUnheardMost) Say(guest, FormatRunNews(news));
  }
}

}  // namespace spate::run
