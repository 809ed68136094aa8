// BatchCaller: carries out what the provision machine asks of batch systems: by their drivers
// (pool/driver.h), with commands (hub/pools/commands.h), as the user whose pool it is.
//
// Thread: the loop's. Answers come later, as events for the machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/pool_facts.h"
#include "core/provision/provisioner.h"
#include "hub/pools/commands.h"
#include "hub/pools/pool_change.h"

namespace spate::hub {

class BatchCaller {
 public:
  struct Known {  // of a pilot that may exist
    provision::PoolId pool;
    bool joined = false;
  };
  struct Here {
    std::string tag;      // of this hub, for batch jobs: up to 6 letters and digits
    std::string program;  // spate, as nodes that see this machine's files find it
    std::function<void(provision::Event)> tell;
    std::function<std::optional<Known>(provision::PilotId)> find;
  };
  BatchCaller(Commands& commands, Here here) : commands_(commands), here_(std::move(here)) {}
  ~BatchCaller() { *alive_ = false; }
  BatchCaller(const BatchCaller&) = delete;
  BatchCaller& operator=(const BatchCaller&) = delete;

  // A pool, as it is from now on. kInvalid: nothing can be done for it.
  Status Set(provision::PoolId pool, const PoolPolicy& policy);
  // Forgets a pool that is removed, and removes what its pilots wrote.
  void Drop(provision::PoolId pool);
  // nullptr: there is none.
  const PoolPolicy* Find(provision::PoolId pool) const;

  // Asks for a pilot whose credential is this text.
  void Submit(const provision::Submit& ask, std::string access);
  // With the output, and the hosts, of pilots that have ended and never joined.
  void Query(const provision::Query& ask);
  // All of one pool.
  void Cancel(provision::PoolId pool, const std::vector<provision::Cancel>& asks);
  // Removes what a pilot leaves in its pool's folder, but for what it wrote: that of the last 50
  // stays, for people.
  void CleanUp(provision::PoolId pool, provision::PilotId pilot);
  // The end of what a pilot wrote. kNotFound: nothing is kept.
  void ReadOutput(const PoolPolicy& policy, provision::PilotId pilot,
                  std::function<void(Result<std::string>)> done);
  // Tries a policy: what would be submitted, and the system's own test, if it has one and `test`.
  void Try(const PoolPolicy& policy, bool test, std::function<void(Result<PoolTrial>)> done);
  // "short.3"
  static std::string NodeName(const std::string& pool, provision::PilotId pilot);

 private:
  struct Pool {
    PoolPolicy policy;
    std::unique_ptr<pool::PoolDriver> driver;
  };
  pool::PilotSpec SpecOf(const PoolPolicy& policy, provision::PilotId pilot) const;
  std::vector<std::string> NodeCommand(const PoolPolicy& policy, provision::PilotId pilot,
                                       const std::string& access) const;
  std::string TagOf(const PoolPolicy& policy, provision::PilotId pilot) const;
  std::string NameOf(const PoolPolicy& policy, provision::PilotId pilot,
                     std::string_view end) const;
  std::string FileOf(const PoolPolicy& policy, provision::PilotId pilot,
                     std::string_view end) const;
  void Run(pool::CommandLine call, const PoolPolicy& policy, Duration patience,
           Commands::Done done);
  void SubmitNow(const provision::Submit& ask);
  void Listed(const provision::Query& ask, const Pool& pool,
              const std::vector<pool::ListedPilot>& pilots);
  void AddOutputs(const PoolPolicy& policy, provision::QueryAnswered answer,
                  const std::vector<size_t>& failed);
  void SubmitEnded(const provision::Submit& ask, const pool::Submitted& submitted);
  void Notify(provision::Event event) { here_.tell(std::move(event)); }

  Commands& commands_;
  const Here here_;
  std::map<provision::PoolId, std::shared_ptr<const Pool>> pools_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::hub
