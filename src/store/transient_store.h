// TransientStore: the rows of a hub that lives and ends with the program that has it. Each life
// begins without jobs, nodes and pools; what the program does keep is its own journal, which
// derives from this and has Append, Backlog and Rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/loop.h"
#include "store/hub_store.h"

namespace spate::store {

class TransientStore : public HubStore {
 public:
  explicit TransientStore(os::Loop& loop) : loop_(loop) {}

  // Adds a job that the owner gives to the engine, until it drops it.
  void AddJob(JobRow row) { jobs_.insert_or_assign(row.job, std::move(row)); }
  void DropJob(JobId job) { jobs_.erase(job); }
  // By which nodes come.
  void AddCredential(CredentialRow row) { credentials_.push_back(std::move(row)); }

  Status Replay(const std::function<void(const engine::Record&)>&) override { return {}; }
  Status ReplayJob(JobId, const std::function<void(const engine::Record&)>&) override {
    return Missing();
  }

  JobId NextJobId() override { return JobId(jobs_.empty() ? 1 : jobs_.rbegin()->first.value + 1); }
  void PutJob(JobRow row, Done done) override;
  void PutProgress(JobProgress, Done done) override { Later(std::move(done)); }
  void ForgetJob(JobId job, Done done) override;
  Result<std::optional<JobId>> FindSubmission(const std::string&) override { return std::nullopt; }
  void SetOutputEnd(JobId, uint64_t) override {}

  Result<JobRow> ReadJob(JobId job) override;
  Result<std::vector<JobRow>> ReadJobs(WhichJobs) override { return std::vector<JobRow>(); }
  Result<std::vector<JobRow>> ReadJobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::vector<JobId>> JobsBetween(JobId first, JobId last, size_t most) override;
  Result<std::optional<JobId>> NewestOf(std::string_view user) override;
  Result<std::vector<JobId>> EndedBefore(Instant, size_t, std::string_view) override {
    return std::vector<JobId>();
  }

  Result<std::vector<NodeRow>> ReadNodes() override { return std::vector<NodeRow>(); }
  Result<NodeRow> ReadNode(const std::string&) override { return Missing(); }
  void PutNode(NodeRow, Done done) override { Later(std::move(done)); }
  void RemoveNodes(Instant) override {}
  Result<std::vector<CredentialRow>> ReadCredentials() override { return credentials_; }
  void PutCredential(CredentialRow row, Done done) override;

  Status ReplayPools(const std::function<void(const provision::Record&)>&) override { return {}; }
  void AppendPoolRecords(std::vector<provision::Record>, Instant, Done done) override {
    Later(std::move(done));
  }
  void CutPools(std::vector<provision::Record>, Instant, Done done) override {
    Later(std::move(done));
  }
  Result<std::vector<PoolLogRow>> ReadPoolLog(provision::PoolId, size_t) override {
    return std::vector<PoolLogRow>();
  }

  const std::map<JobId, std::string>& damaged() const override { return damaged_; }
  std::shared_ptr<const JobReader> Reader() const override;
  uint64_t OutputOf(JobId) const override { return 0; }
  int64_t OutputChange() const override { return 0; }
  void KeepOutput(bool) override {}
  Epoch BeginEpoch(Done done) override;
  Epoch last_epoch() const override { return {}; }

 protected:
  // Calls it by the loop, unless this is gone by then. May be null.
  void Later(Done done, Status status = {});

 private:
  static std::unexpected<Error> Missing();

  os::Loop& loop_;
  std::map<JobId, JobRow> jobs_;
  std::vector<CredentialRow> credentials_;
  const std::map<JobId, std::string> damaged_;  // none ever is
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::store
