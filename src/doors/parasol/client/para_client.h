// BatchClient: a batch as `para` sees it, on a hub.
//
// Thread: one; functions run the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/needs.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/programs/batch_hub.h"

namespace spate::parasol {

// Tasks that are to be added to a batch, by their place among them.
struct NewTasks {
  size_t count = 0;
  std::function<Needs(size_t)> needs = {};
  std::function<std::string(size_t)> row = {};  // doors/parasol/row/parasol_row.h
  std::optional<uint64_t> known = {};
};
// Needs of a job of Parasol; 0 cpus: one.
Needs NeedsOfJob(double cpus, uint64_t memory);
// Adds tasks to the batch; makes it when the hub has none. The hub's job, and the first task's
// index in it. kExists: the batch does not have `known` tasks, when that is given. Others who
// submit to the batch are waited for.
Result<wire::Accepted> SubmitTasks(BatchLink& link, const std::string& folder,
                                   const NewTasks& tasks);

// Machines on which jobs of the batch failed are used by it again. kNotFound: there is no batch.
Status TrustNodesOfBatch(BatchLink& link);

// A priority of Parasol, 1 to 10000, as the weight of a job: of 10, the usual one, it is
// kJobWeight.
uint32_t WeightOfPriority(int64_t priority);
int64_t PriorityOfWeight(uint32_t weight);

class BatchClient final : public BatchHub {
 public:
  // kUnavailable: there is no hub to ask.
  static Result<std::unique_ptr<BatchClient>> Open(const ParaState& state);
  // On a hub that was found already.
  static std::unique_ptr<BatchClient> Of(client::HubSetting setting, const ParaState& state);

  Result<State> QueryState() override { return QueryAbout(""); }
  Result<State> QueryForReport() override;
  Status CatchUp() override;
  Result<std::vector<Submitted>> SubmittedFrom(uint64_t first) override;
  Result<uint64_t> Submit(std::span<const Submission> jobs, uint64_t known,
                          const std::string& folder, int64_t now) override;
  Result<uint64_t> Chill() override;
  Status Remove(std::span<const uint64_t> ids) override;
  Status SetPriority(int64_t priority) override;
  Status SetMaxJob(int64_t most) override;
  Status ClearSick() override;
  Status ResetCounts() override;
  Result<Freed> Free() override;
  Result<std::string> FetchStderr(uint64_t id, const std::string& host) override;
  Status WaitForChange(Duration most) override;
  void Settle() override;
  Status Pause(Duration time) override;

 private:
  BatchClient(client::HubSetting setting, ParaState state);
  Result<State> QueryAbout(const std::string& owner);
  // `change` lacks the job, which is made when there is none.
  Status Change(const wire::ChangeJobs& change);
  Status Watch();

  client::HubSetting setting_;
  BatchLink link_;
  std::unique_ptr<client::Exchange> watch_;  // while the batch is watched
  JobId job_;  // of the batch that was asked about last, which may be another user's
};

}  // namespace spate::parasol
