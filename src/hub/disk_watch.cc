#include "hub/disk_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace spate::hub {
namespace {

constexpr Duration kDiskLookEvery = Duration::Seconds(1);

}  // namespace

uint64_t DiskReserve(uint64_t total) {
  const uint64_t least = std::min<uint64_t>(64 << 20, total / 8);
  return std::clamp<uint64_t>(total / 50, least, 1 << 30);
}

DiskState StateOfDisk(const os::Space& space, DiskState before) {
  const uint64_t reserve = DiskReserve(space.total);
  if (space.free < reserve / 2) return DiskState::kFull;
  const uint64_t enough = before == DiskState::kRoom ? reserve : reserve + reserve / 8;
  return space.free < enough ? DiskState::kLow : DiskState::kRoom;
}

DiskWatch::DiskWatch(os::Loop& loop, store::HubStore& store, Look look, WriteLog log)
    : loop_(loop), store_(store), look_(std::move(look)), log_(std::move(log)) {
  if (look_) LookNow();
}

void DiskWatch::LookNow() {
  timer_ = loop_.At(loop_.Now() + kDiskLookEvery, [this] { LookNow(); });
  auto space = look_();
  if (!space) return;  // the journal will tell what is wrong
  space_ = *space;
  const DiskState now = StateOfDisk(space_, state_);
  if (std::exchange(state_, now) == now) return;
  store_.KeepOutput(now == DiskState::kRoom);
  LogState();
}

void DiskWatch::LogState() const {
  const std::string left = FormatSize(space_.free);
  switch (state_) {
    case DiskState::kRoom:
      return log_(
          fmt::format("the disk has {} free: output of tasks is kept again, and jobs are "
                      "accepted",
                      left));
    case DiskState::kLow:
      return log_(
          fmt::format("the disk has only {} free: output of tasks is not kept until there "
                      "is more, so that the journal has room",
                      left));
    case DiskState::kFull:
      return log_({fmt::format("the disk has only {} free: no jobs are accepted until there is "
                               "more",
                               left),
                   Remedy("; free some space, or remove ended jobs ({})", Advice("job forget"))});
  }
}

Status DiskWatch::CheckRoom() const {
  if (state_ != DiskState::kFull) return {};
  return Fail(ErrorKind::kExhausted,
              fmt::format("the hub's disk has only {} free, which the jobs that it has accepted "
                          "need: try again when there is more",
                          FormatSize(space_.free)),
              Remedy("; to remove ended jobs: {}", Advice("job forget")));
}

void DiskWatch::TellAbout(HubFacts& facts) const {
  facts.disk_free = space_.free;
  facts.disk = state_ == DiskState::kRoom ? "" : state_ == DiskState::kLow ? "low" : "full";
}

}  // namespace spate::hub
