#include "doors/mw/run/slave_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "doors/mw/run/constant_server.h"
#include "doors/mw/run/value_once.h"

namespace spate::mw {
namespace {

class SlaveConstant final : public detail::constant_value {
 public:
  SlaveConstant(uint64_t id, std::string bytes)
      : constant_value(id, bytes.size()), bytes_(std::move(bytes)) {}
  const void* get(const std::type_info& type, decoder make) override {
    return value_.Get(type, [&] {
      auto value = make(bytes_);
      std::string().swap(bytes_);
      return value;
    });
  }

 private:
  ValueOnce value_;
  std::string bytes_;  // until there is a value
};

uint32_t PiecesOf(uint64_t size) {
  return static_cast<uint32_t>((size + kConstantPiece - 1) / kConstantPiece);
}

}  // namespace

void SlaveConstants::Begin(std::function<void()> ring) {
  std::lock_guard lock(mutex_);
  FailAll("the master was lost");
  open_ = 0;
  ring_ = std::move(ring);
}

void SlaveConstants::End() {
  std::lock_guard lock(mutex_);
  FailAll("the master was lost");
  ring_ = nullptr;
}

void SlaveConstants::FailAll(const std::string& why) {
  while (!all_.empty()) Fail(all_.begin()->first, why);
}

void SlaveConstants::Wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

std::vector<wire::WantPiece> SlaveConstants::Wants() {
  std::lock_guard lock(mutex_);
  std::vector<wire::WantPiece> wants;
  if (queue_.empty()) return wants;
  Fetch& first = *all_.at(queue_.front());
  for (; first.asked < PiecesOf(first.size) && open_ < kPiecesAhead; ++open_) {
    wants.push_back({queue_.front(), first.asked++});
  }
  return wants;
}

bool SlaveConstants::Accept(wire::ToNode& message) {
  if (auto* piece = std::get_if<wire::PutPiece>(&message); piece && IsConstant(piece->job)) {
    std::lock_guard lock(mutex_);
    open_ -= open_ > 0 ? 1 : 0;
    Add(*piece);
    return true;
  }
  if (auto* close = std::get_if<wire::CloseJob>(&message); close && IsConstant(close->job)) {
    std::lock_guard lock(mutex_);
    Fail(close->job, "the master has dropped a constant that the task needs");
    return true;
  }
  return false;
}

// Pieces come in the order in which they were asked for; those of a constant that was given up are
// passed over.
void SlaveConstants::Add(wire::PutPiece& piece) {
  if (queue_.empty() || queue_.front() != piece.job) return;
  Fetch& fetch = *all_.at(piece.job);
  if (piece.bytes.empty()) {
    return Fail(piece.job, "the master has no longer a constant that the task needs");
  }
  const uint64_t expected = std::min(fetch.size - fetch.got * kConstantPiece, kConstantPiece);
  if (piece.piece != fetch.got || piece.bytes.size() != expected) {
    return Fail(piece.job, "the master has sent a constant that is broken");
  }
  try {
    if (fetch.got == 0) fetch.bytes.reserve(fetch.size);
    fetch.bytes += piece.bytes;
  } catch (const std::bad_alloc&) {
    return Fail(piece.job,
                fmt::format("the slave has no memory for a constant of {} bytes", fetch.size));
  }
  if (++fetch.got < PiecesOf(fetch.size)) return;
  queue_.pop_front();
  fetch.whole = std::make_shared<SlaveConstant>(fetch.id, std::exchange(fetch.bytes, {}));
  changed_.notify_all();
}

void SlaveConstants::Fail(JobId number, std::string why) {
  auto at = all_.extract(number);
  if (at.empty()) return;
  std::erase(queue_, number);
  if (!at.mapped()->whole) at.mapped()->trouble = std::move(why);
  changed_.notify_all();
}

std::shared_ptr<SlaveConstants::Fetch> SlaveConstants::FetchOf(const NamedConstant& named) {
  if (named.size == 0) {  // there is nothing to ask for, and to be dropped
    auto empty = std::make_shared<Fetch>();
    empty->whole = std::make_shared<SlaveConstant>(named.id, "");
    return empty;
  }
  std::shared_ptr<Fetch>& fetch = all_[NumberOf(named.id)];
  if (fetch && fetch->id == named.id && fetch->size == named.size) return fetch;
  if (fetch) {
    auto broken = std::make_shared<Fetch>();
    broken->trouble = "the master has given two constants one number";
    return broken;
  }
  fetch = std::make_shared<Fetch>();
  fetch->id = named.id;
  fetch->size = named.size;
  queue_.push_back(NumberOf(named.id));
  if (queue_.size() == 1 && ring_) ring_();
  return fetch;
}

std::string SlaveConstants::Await(std::span<const NamedConstant> named, detail::constant_list& held,
                                  const std::function<bool()>& stopped) {
  std::unique_lock lock(mutex_);
  if (!ring_) return "the master was lost";
  // Perhaps of an earlier master, whose constants may have the same numbers.
  if (stopped()) return "the task is not wanted any more";
  std::vector<std::shared_ptr<Fetch>> fetches;
  for (const NamedConstant& each : named) fetches.push_back(FetchOf(each));
  for (const auto& fetch : fetches) {
    changed_.wait(lock, [&] { return fetch->whole || !fetch->trouble.empty() || stopped(); });
    if (!fetch->trouble.empty()) return fetch->trouble;
    if (!fetch->whole) return "the task is not wanted any more";
    held.push_back(fetch->whole);
  }
  return "";
}

}  // namespace spate::mw
