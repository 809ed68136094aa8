// HubSlaves: the slaves of a resource file are tasks of one open job of a hub, which grows. Its
// pools bring nodes for them, as for all tasks.
//
// The job is known to the hub by a name that follows from the resource file's path and from what
// the slaves get, so that an overseer that was killed finds it again and starts nobody twice. A
// master that is restarted wants other slaves, and gets another job.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "client/hub_call.h"
#include "core/model/job_facts.h"
#include "core/model/needs.h"
#include "doors/mw/overseer/shipment.h"
#include "doors/mw/overseer/slaves.h"

namespace spate::mw {

class HubSlaves final : public Slaves {
 public:
  // `hub` outlives it.
  HubSlaves(client::HubCall& hub, ShipmentSettings how, Needs needs)
      : hub_(hub), how_(std::move(how)), needs_(std::move(needs)) {}

  Status Prepare(const ResourceFile& file) override;
  Result<SlaveRoster> List() override;
  Status Start(uint64_t count) override;
  Status Withdraw(uint64_t count) override;
  Status Close() override;

 private:
  // All that is left of the job with our name that has not ended; job 0: there is none. There may
  // have been others before it.
  Result<JobWork> FindWork();
  std::string Submission() const;
  // Closes jobs that a killed overseer of this file left behind, for another master.
  Status CloseOthers();
  Status CloseJob(JobId job);
  Result<uint32_t> WithdrawAll(JobId job);
  // Those that have ended since the last look.
  Status AskEnds(std::vector<TaskIndex> ended, SlaveRoster& roster);

  client::HubCall& hub_;
  const ShipmentSettings how_;
  const Needs needs_;

  std::string identity_;  // of the slaves that are wanted now
  Shipment shipment_;
  bool others_closed_ = false;
  uint32_t generation_ = 1;  // of the jobs with our name
  JobId job_;                // 0: none yet
  HoldReason held_ = HoldReason::kNone;
  std::set<TaskIndex> unended_;
};

}  // namespace spate::mw
