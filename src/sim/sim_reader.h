// SimReader: answers from the journal of a simulated hub, in the same process and a while later.
// It answers wire::ReadEnds alone; a position is the number of ends before it.
#pragma once

#include <memory>

#include "base/prng.h"
#include "hub/journal_reader.h"
#include "os/loop.h"
#include "sim/faults.h"
#include "sim/sim_store.h"

namespace spate::sim {

class SimReader final : public hub::JournalReader {
 public:
  // All outlive it.
  SimReader(os::Loop& loop, Faults& faults, std::shared_ptr<SimDisk> disk, uint64_t seed)
      : loop_(loop), faults_(faults), disk_(std::move(disk)), prng_(seed) {}
  Result<std::unique_ptr<hub::JournalAnswer>> Start(const hub::Caller& caller,
                                                    const wire::Request& request,
                                                    Events events) override;

 private:
  class Answer;

  os::Loop& loop_;
  Faults& faults_;
  const std::shared_ptr<SimDisk> disk_;
  Prng prng_;
};

}  // namespace spate::sim
