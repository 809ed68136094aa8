// LocalSlaves: slaves on this machine, without a hub. They end with this process, however it ends.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "doors/mw/overseer/keeper.h"
#include "doors/mw/overseer/slaves.h"
#include "os/real_loop.h"

namespace spate::mw {

class LocalSlaves final : public Slaves {
 public:
  // `path`: of the resource file, absolute. `offers`: OfferWords(). `loop` outlives it.
  LocalSlaves(os::RealLoop& loop, std::string path, std::vector<std::string> offers);
  ~LocalSlaves() override;
  LocalSlaves(const LocalSlaves&) = delete;
  LocalSlaves& operator=(const LocalSlaves&) = delete;

  Status Prepare(const ResourceFile& file) override;
  Result<SlaveRoster> List() override;
  Status Start(uint64_t count) override;
  Status Withdraw(uint64_t) override { return {}; }  // none is ever queued
  Status Close() override { return {}; }

 private:
  struct Slave {
    uint64_t id = 0;
    Kept kept;
    Instant since;
    std::string written;  // its end
  };
  void Read(Slave& slave);

  os::RealLoop& loop_;
  const std::string path_;
  const std::vector<std::string> offers_;
  std::vector<std::string> argv_;
  std::list<Slave> slaves_;
  uint64_t next_id_ = 1;
};

}  // namespace spate::mw
