// DiskWatch: how much room is left on the disk of a hub's folder. The journal needs some to the
// end: output of tasks stops being kept first, then nothing new is accepted.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "core/model/facts.h"
#include "hub/hub.h"
#include "os/file.h"
#include "os/loop.h"
#include "store/hub_store.h"

namespace spate::hub {

enum class DiskState : uint8_t {
  kRoom,
  kLow,   // output of tasks is not kept
  kFull,  // nor is a submission accepted
};

// Bytes that are to stay free on a disk of that size: 2 % of it, from 64 MiB to 1 GiB, but no more
// than an eighth of a small one.
uint64_t DiskReserve(uint64_t total);
// Low below the reserve, full below a half of it. It has room again at nine eighths of the reserve.
DiskState StateOfDisk(const os::Space& space, DiskState before);

class DiskWatch {
 public:
  using Look = std::function<Result<os::Space>()>;
  // Looks now and each second; without `look` there is always room. All outlive it.
  DiskWatch(os::Loop& loop, store::HubStore& store, Look look, WriteLog log);
  ~DiskWatch() { loop_.Cancel(timer_); }
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  DiskState state() const { return state_; }
  // kExhausted: nothing new is accepted.
  Status CheckRoom() const;
  void TellAbout(HubFacts& facts) const;

 private:
  void LookNow();
  void LogState() const;

  os::Loop& loop_;
  store::HubStore& store_;
  const Look look_;
  const WriteLog log_;
  DiskState state_ = DiskState::kRoom;
  os::Space space_;
  os::TimerId timer_ = 0;
};

}  // namespace spate::hub
