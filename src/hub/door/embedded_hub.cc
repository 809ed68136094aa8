#include "hub/door/embedded_hub.h"

#include <fmt/format.h>

#include <utility>

#include "base/product.h"
#include "link/master_place.h"
#include "os/account.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/own_dir.h"
#include "os/process.h"

namespace spate::hub {
namespace {

constexpr size_t kConnections = 64;
constexpr Duration kSuspectAfter = Duration::Seconds(60);

// The program alone decides what becomes of its jobs, and would not know of changes.
Status Allows(const wire::Query& query, bool steers) {
  if (!wire::IsChange(query.question.number())) return {};
  if (steers && query.question.Is<wire::Steer>()) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("these are the jobs of a program that changes them itself; others may "
                          "only {}",
                          steers ? "stop, continue, kill and signal its tasks" : "look"));
}

}  // namespace

EmbeddedHub::EmbeddedHub(Parts parts)
    : parts_(std::move(parts)),
      aside_(parts_.loop),
      commands_(parts_.loop),
      reader_(parts_.loop, parts_.texts) {
  os::Machine machine(os::Environment::OfProcess());
  user_ = machine.facts().user_name;
  host_ = machine.facts().host_name;
}

Result<std::unique_ptr<EmbeddedHub>> EmbeddedHub::Open(Parts parts) {
  std::unique_ptr<EmbeddedHub> hub(new EmbeddedHub(std::move(parts)));
  Service::Options with;
  with.product = ProductVersion();
  with.user = hub->user_;
  with.owner = os::EffectiveUser();
  with.limits = hub->parts_.limits;
  with.one_job = true;
  with.nodes_return = false;
  with.allows = [steers = hub->parts_.steers](const auto& query) { return Allows(query, steers); };
  with.stepped = hub->parts_.stepped;
  with.log = [](const LogText&) {};
  with.about = [host = hub->host_](HubFacts& facts) { facts.host = host; };
  auto service = TRY(Service::Open(
      {hub->parts_.loop, hub->parts_.store, hub->aside_, hub->reader_, hub->commands_, *hub},
      std::move(with)));
  hub->service_ = std::move(service);
  hub->reader_.Serve(hub->service_->jobs());
  return hub;
}

EmbeddedHub::~EmbeddedHub() {
  door_.reset();
  service_.reset();
  if (!folder_.empty()) (void)os::RemoveTree(folder_);
}

void EmbeddedHub::Submit(engine::SubmitJob job, store::JobRow row,
                         std::shared_ptr<const JobSettings> settings) {
  row.job = job.job;
  row.user = job.plan.user = user_;
  row.host = host_;
  row.pid = os::OwnPid();
  row.created = row.started = parts_.loop.Wall();
  service_->known().Add(row.job, user_);
  service_->known().SetName(row);
  parts_.store.AddJob(std::move(row));
  hub().SetSettings(job.job, std::move(settings));
  hub().Post(std::move(job));
}

bool EmbeddedHub::Drop(JobId job) {
  if (!hub().Unload(job)) return false;
  parts_.store.DropJob(job);
  reader_.Forget(job);
  return true;
}

Result<std::string> EmbeddedHub::OpenDoor() {
  if (parts_.state_dir.empty()) return Fail(ErrorKind::kUnavailable, "there is no state folder");
  (void)link::FindMasters(parts_.state_dir, host_);  // removes what killed ones have left
  std::string folder = link::MasterFolder(parts_.state_dir, host_, os::OwnPid());
  TRY(os::MakeOwnDir(folder));
  folder_ = folder;
  Door::Options with;
  with.dir = folder;
  with.permissions = 0600;
  with.product = ProductVersion();
  with.connections = with.strangers = kConnections;
  with.suspect_after = kSuspectAfter;
  with.log = [](const std::string&) {};
  door_ = TRY(Door::Open(parts_.loop, *service_, nullptr, std::move(with)));
  return os::JoinPath(folder, "socket");
}

}  // namespace spate::hub
