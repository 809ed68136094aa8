#include "shepherd/orphan.h"

#include <algorithm>

namespace spate::shepherd {
namespace {

// Between two looks whether the node's folder is there, and two tries to write the ends.
constexpr int64_t kLookEvery = 2'000'000'000;  // nanoseconds

}  // namespace

Orphan::Orphan(AttemptRunner& runner, Outbox& outbox, const Rendezvous& rendezvous,
               Duration patience, int64_t now)
    : runner_(runner),
      outbox_(outbox),
      rendezvous_(rendezvous),
      end_at_(now + patience.ns),
      look_at_(now) {}

bool Orphan::IsOver(int64_t now) {
  if (runner_.idle()) return HasLeftEnds(now);
  if (now >= look_at_) {
    look_at_ = now + kLookEvery;
    if (!rendezvous_.IsThere() && !nobody_comes_) {
      nobody_comes_ = true;
      end_at_ = now;
    }
  }
  if (now >= end_at_ && kill_at_ == kNever) {
    kill_at_ = now + runner_.kill_grace().ns;
    runner_.End(false, Cause::kNode, now, "its node did not come back, so it was ended");
  }
  if (now >= kill_at_) {
    kill_at_ = now + kLookEvery;
    runner_.End(true, Cause::kNode, now);
  }
  return false;
}

// On a full disk it goes on trying; in the meantime they can be had from memory.
bool Orphan::HasLeftEnds(int64_t now) {
  if (outbox_.kept() == 0 || nobody_comes_) return true;
  if (now < write_at_) return false;
  write_at_ = now + kLookEvery;
  return rendezvous_.LeaveEnds(outbox_.KeptFrames()).has_value() || !rendezvous_.IsThere() ||
         now >= end_at_;
}

int64_t Orphan::Deadline() const {
  if (runner_.idle()) return write_at_;
  return std::min({look_at_, kill_at_, kill_at_ == kNever ? end_at_ : kNever});
}

}  // namespace spate::shepherd
