// HubProcess: one life of a simulated hub: the real hub::Service over a SimStore, a SimBatch and a
// SimReader. Only the door is left out: clients come by connections of their own (HubClient), and
// speak what programs speak.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hub/service.h"
#include "sim/fact.h"
#include "sim/faults.h"
#include "sim/hub_client.h"
#include "sim/options.h"
#include "sim/process_loop.h"
#include "sim/sabotage.h"
#include "sim/sim_batch.h"
#include "sim/sim_reader.h"
#include "sim/sim_store.h"
#include "sim/uploads.h"
#include "sim/workload.h"

namespace spate::sim {

// News that users get of their jobs, whatever they asked.
class HubEvents {
 public:
  virtual ~HubEvents() = default;
  virtual void OnHeldByRule(JobId job) = 0;
  virtual void OnFinished(JobId job) = 0;
  virtual void OnNodeSick() = 0;
};

class HubProcess final : hub::Watcher {
 public:
  static constexpr uint32_t kHubUser = 4711;  // the number of whom the hub runs as

  struct Parts {
    os::Loop& world;
    const Options& options;
    const Workload& workload;
    FactSink sink;
    std::shared_ptr<SimDisk> disk;
    HubEvents& events;
    uint32_t life = 1;  // of the hub, whether or not an epoch of its own became durable
    Duration clock_ahead;
    uint64_t crash_at = 0;
    uint64_t seed = 1;
    Sabotage sabotage = Sabotage::kNone;
    SimBatch* batch = nullptr;  // null: there is none
  };
  explicit HubProcess(Parts parts);
  ~HubProcess() override;

  // Reads the journal and takes up what is there.
  Status Resume();
  // The process is gone; any part of what was on its way to the disk may have reached it.
  // `replayed` and `live` are digests of what must be the same state.
  struct Digests {
    uint64_t live = 0;
    uint64_t replayed = 0;
  };
  Digests Die(bool lose_nothing, Prng& prng);

  // ---- What people say
  // To a question: the bytes of all answers. kUnavailable: nobody knows what became of it.
  using Answers = std::vector<std::string>;
  using Heard = std::function<void(const Result<Answers>&)>;
  // Over one of the user's connections, or a new one.
  void Query(const std::string& user, wire::Question question, Heard heard);
  using Accepted = std::function<void(const Result<JobId>&)>;
  void Submit(const SimJob& job, bool deadlines, Accepted heard);
  // Adds tasks up to `total`, if the job takes any now.
  void Grow(const SimJob& job, uint32_t total, Accepted heard);
  // Some connection carries a submission of the job, or what is left of one.
  bool IsUploading(JobId job) const;
  // Reads ends of a job, behind so many. `heard`: how many there are now, and whether it was told
  // that there are no more.
  void Follow(const SimJob& job, uint64_t after, std::function<void(uint64_t, bool)> heard);
  // Somebody without any rights or manners speaks to the hub as another user does.
  void Pester();
  // Somebody asks much and reads nothing.
  void StayDeaf();
  // The connections of clients break now and then.
  void BreakClients(bool breaks) { clients_break_ = breaks; }
  // After each turn of the loop: the mirror unloads what the hub has unloaded.
  void FollowHub();

  uint32_t life() const { return parts_.life; }
  hub::Service& service() { return *service_; }
  const engine::Engine& engine() const { return service_->engine(); }
  // The facts that the hub has of a job. Null: it was not accepted, or was forgotten.
  const hub::KnownJobs::Job* Find(JobId job) const { return service_->known().Find(job); }
  ProcessLoop& loop() { return loop_; }
  Faults& faults() { return faults_; }
  SimStore& store() { return *store_; }
  bool store_failed() const { return store_failed_; }
  uint64_t log_lines() const { return log_lines_; }  // in this life
  // It has read its journal.
  bool is_up() const { return service_ != nullptr; }
  // True if newcomers are let in, and heard.
  bool answers() const {
    return is_up() && !service_->stopping() && !loop_.suspended() && !faults_.dead() &&
           !store_failed_;
  }
  // It was asked to end, and all is durable.
  bool stopped() const { return stopped_; }

 private:
  struct Client {
    std::string user;
    JobId uploads;           // 0: none
    bool takes_all = false;  // questions, one after the other
    std::unique_ptr<HubClient> client;
  };

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override;
  void OnHeld(const engine::NoticeHeld& notice) override;
  void OnFinished(const engine::NoticeFinished& notice) override;
  void OnHubNotice(const engine::Notice& notice) override;
  void OnNews(const wire::ToHub&) override { faults_.Alive(); }
  void OnStoreFailed(const Error& error) override;

  hub::Service::Options ServiceOptions();
  FactSink RecordSink();
  Client& Connect(const std::string& user, HubClient::Parts parts);
  HubClient::Parts ClientParts(size_t messages);
  HubClient& Upload(const SimJob& job, Requests requests, Accepted heard);
  bool PrepareNumber(JobId job, uint64_t client);
  HubClient& ClientOf(const std::string& user);
  hub::Caller CallerOf(const std::string& user) const;
  Requests Mischief();
  wire::Question MischievousQuestion();
  uint64_t DigestOf(bool as_hub) const;

  Parts parts_;
  ProcessLoop loop_;
  Faults faults_;
  std::unique_ptr<SimStore> store_;
  engine::Engine mirror_;  // has the records alone
  SimAside aside_;
  SimReader reader_;
  Prng prng_;
  Uploads uploads_;
  std::unique_ptr<hub::Commands> commands_;
  std::unique_ptr<hub::Service> service_;
  provision::Provisioner of_pools_;  // has the records alone
  bool images_differ_ = false;
  uint64_t last_client_ = 0;
  std::map<uint64_t, Client> clients_;
  uint64_t last_question_ = 0;
  bool clients_break_ = false;
  bool store_failed_ = false;
  bool stopped_ = false;
  uint64_t log_lines_ = 0;
};

}  // namespace spate::sim
