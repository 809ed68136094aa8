#include "store/transient_store.h"

#include <utility>

namespace spate::store {
namespace {

std::unexpected<Error> NotKept() {
  return Fail(ErrorKind::kNotFound, "this program keeps no records of jobs that have ended");
}

class NothingKept final : public JobReader {
 public:
  Result<uint64_t> ReplayJob(JobId,
                             const std::function<void(const engine::Record&)>&) const override {
    return NotKept();
  }
  Result<uint64_t> KeptOf(const std::string&, std::set<JobId>) const override {
    return uint64_t{0};
  }
  Result<uint64_t> SizeOfOutput() const override { return uint64_t{0}; }
  Result<uint64_t> SizeOfRows() const override { return uint64_t{0}; }
};

}  // namespace

std::unexpected<Error> TransientStore::Missing() { return NotKept(); }

void TransientStore::Later(Done done, Status status) {
  if (!done) return;
  loop_.Post([done = std::move(done), status = std::move(status), alive = std::weak_ptr(alive_)] {
    if (alive.lock()) done(status);
  });
}

void TransientStore::PutJob(JobRow row, Done done) {
  AddJob(std::move(row));
  Later(std::move(done));
}

void TransientStore::ForgetJob(JobId job, Done done) {
  DropJob(job);
  Later(std::move(done));
}

Result<JobRow> TransientStore::ReadJob(JobId job) {
  auto at = jobs_.find(job);
  if (at == jobs_.end()) return NotKept();
  return at->second;
}

Result<std::vector<JobRow>> TransientStore::ReadJobsBetween(JobId first, JobId last, size_t most) {
  std::vector<JobRow> rows;
  auto at = jobs_.lower_bound(first);
  for (; at != jobs_.end() && at->first <= last && rows.size() < most; ++at) {
    rows.push_back(at->second);
  }
  return rows;
}

Result<std::vector<JobId>> TransientStore::JobsBetween(JobId first, JobId last, size_t most) {
  std::vector<JobId> jobs;
  auto at = jobs_.lower_bound(first);
  for (; at != jobs_.end() && at->first <= last && jobs.size() < most; ++at) {
    jobs.push_back(at->first);
  }
  return jobs;
}

Result<std::optional<JobId>> TransientStore::NewestOf(std::string_view user) {
  for (auto at = jobs_.rbegin(); at != jobs_.rend(); ++at) {
    if (at->second.user == user) return at->first;
  }
  return std::nullopt;
}

void TransientStore::PutCredential(CredentialRow row, Done done) {
  AddCredential(std::move(row));
  Later(std::move(done));
}

std::shared_ptr<const JobReader> TransientStore::Reader() const {
  return std::make_shared<NothingKept>();
}

Epoch TransientStore::BeginEpoch(Done done) {
  Later(std::move(done));
  return Epoch(last_epoch().value + 1);
}

}  // namespace spate::store
