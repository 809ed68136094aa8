// HubStore: all that a hub keeps: the records of its jobs (Store), rows of jobs, nodes and
// credentials, and the records of its pools.
//
// Threads and guarantees: as of Store. Rows change in the order of the calls that change them and
// of Append. All that is read is durable, but for FindSubmission.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/hub_rows.h"
#include "store/job_row.h"
#include "store/store.h"

namespace spate::store {

using Done = std::function<void(Status)>;  // when it is durable; may be null

class JobRows {
 public:
  virtual ~JobRows() = default;
  // Numbers of jobs ascend and are never used twice.
  virtual JobId NextJobId() = 0;
  // The row comes before the job's text and its JobAccepted.
  virtual void PutJob(JobRow row, Done done) = 0;
  virtual void PutProgress(JobProgress row, Done done) = 0;
  // Removes a job that has finished or was never accepted, and all that is kept of it, in pieces
  // between other commits. One that has not finished stays, unless it is damaged.
  virtual void ForgetJob(JobId job, Done done) = 0;
  // The job with this name of a submission, accepted or on its way. nullopt: none.
  virtual Result<std::optional<JobId>> FindSubmission(const std::string& submission) = 0;
  // The end of a resumed job's output (JobReader::ReplayJob), set before its next record.
  virtual void SetOutputEnd(JobId job, uint64_t end) = 0;
};

class JobIndex {
 public:
  virtual ~JobIndex() = default;
  // The row with its texts, which take long to read if the submitter made them long. kNotFound: the
  // job does not exist.
  virtual Result<JobRow> ReadJob(JobId job) = 0;
  // Those that were accepted, ascending, without their texts (argv, files, settings).
  virtual Result<std::vector<JobRow>> ReadJobs(WhichJobs which) = 0;
  // The first `most` accepted jobs from `first` to `last`, ascending, without their texts; damaged
  // rows are included. A job of which only the texts are damaged is sound here.
  virtual Result<std::vector<JobRow>> ReadJobsBetween(JobId first, JobId last, size_t most) = 0;
  // The numbers alone of the first so many, which cost some 0.1 us each.
  virtual Result<std::vector<JobId>> JobsBetween(JobId first, JobId last, size_t most) = 0;
  virtual Result<std::optional<JobId>> NewestOf(std::string_view user) = 0;
  // The first jobs to finish before `when`. An empty user: of all.
  virtual Result<std::vector<JobId>> EndedBefore(Instant when, size_t most,
                                                 std::string_view user) = 0;
};

class NodeRows {
 public:
  virtual ~NodeRows() = default;
  virtual Result<std::vector<NodeRow>> ReadNodes() = 0;
  // kNotFound: there is none of this name.
  virtual Result<NodeRow> ReadNode(const std::string& name) = 0;
  virtual void PutNode(NodeRow row, Done done) = 0;
  // Removes rows of nodes that were forgotten before then.
  virtual void RemoveNodes(Instant before) = 0;
};

class CredentialRows {
 public:
  virtual ~CredentialRows() = default;
  // Without those that are damaged.
  virtual Result<std::vector<CredentialRow>> ReadCredentials() = 0;
  virtual void PutCredential(CredentialRow row, Done done) = 0;
};

// The records of provision (core/provision/provisioner.h), in their order among all other changes.
class PoolRows {
 public:
  static constexpr size_t kRowsOfPool = 1'000;  // that stay to be read
  virtual ~PoolRows() = default;
  // Visits the durable state: the newest image and the records since. Before these are added to.
  // kCorrupt names the row: nothing was visited, and nothing is known of pools but which numbers
  // are used up. The next call gives these alone, and the first change puts the damaged rows aside.
  virtual Status ReplayPools(const std::function<void(const provision::Record&)>& visit) = 0;
  // `now`: when they were decided.
  virtual void AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                                 Done done) = 0;
  // `images` (Provisioner::Images) stand for all records before them from now on: replays begin
  // there. Rows before them go that nobody would read: older than keep_since, of pools that are no
  // more, all but the newest kRowsOfPool of each other one; 20,000 of each kind at most. For the
  // begin of a life, each 10,000 records, and once a day.
  virtual void CutPools(std::vector<provision::Record> images, Instant keep_since, Done done) = 0;
  // The newest rows of a pool, at most so many, ascending; no images, and nothing that is damaged.
  virtual Result<std::vector<PoolLogRow>> ReadPoolLog(provision::PoolId pool, size_t most) = 0;
};

// Reads what is durable, on any thread: each call has a connection of its own.
class JobReader {
 public:
  virtual ~JobReader() = default;
  // The records of one job, also a finished one. Returns where its output ends.
  virtual Result<uint64_t> ReplayJob(
      JobId job, const std::function<void(const engine::Record&)>& visit) const = 0;
  // Bytes that are kept of a user's jobs and of `arriving` ones: commands of tasks and files (after
  // compression), graphs, environments and other texts, and output.
  virtual Result<uint64_t> KeptOf(const std::string& user, std::set<JobId> arriving) const = 0;
  // Bytes of disk that the output of all jobs takes. Cost: 1 us for each job.
  virtual Result<uint64_t> SizeOfOutput() const = 0;
  // Bytes of disk that are used for all else.
  virtual Result<uint64_t> SizeOfRows() const = 0;
};

class HubStore : public Store,
                 public JobRows,
                 public JobIndex,
                 public NodeRows,
                 public CredentialRows,
                 public PoolRows {
 public:
  // Jobs that are set aside, and what is damaged of each. Complete after Replay, which fails as
  // kCorrupt whenever one was added: the visitor begins again with nothing, and the next Replay
  // leaves these jobs out.
  virtual const std::map<JobId, std::string>& damaged() const = 0;
  virtual std::shared_ptr<const JobReader> Reader() const = 0;
  // Bytes of disk that the output of a job takes.
  virtual uint64_t OutputOf(JobId job) const = 0;
  // By how much JobReader::SizeOfOutput has grown through this store: a sum that is kept.
  virtual int64_t OutputChange() const = 0;
  // Sets if output of tasks is kept from now on. Files of --get always are.
  virtual void KeepOutput(bool keep) = 0;
  // The number of the hub's life that begins now, one above the last. It counts when `done` is
  // called.
  virtual Epoch BeginEpoch(Done done) = 0;
  virtual Epoch last_epoch() const = 0;
};

}  // namespace spate::store
