#include "run/run_hub.h"

#include <fmt/format.h>

#include <utility>

#include "base/product.h"
#include "history/reader.h"
#include "os/account.h"
#include "os/file.h"

namespace spate::run {
namespace {

constexpr size_t kConnections = 64;  // with the node
constexpr Duration kSuspectAfter = Duration::Seconds(60);

template <typename Line>
void Unheard(const Line&) {}

}  // namespace

RunHub::RunHub(const Parts& parts)
    : parts_(parts),
      aside_(parts_.loop),
      reader_(parts_.loop, {"/proc/self/exe", "__run-reader", parts_.state_dir}, history::FindRow),
      commands_(parts_.loop) {}

Result<std::unique_ptr<RunHub>> RunHub::Read(Parts parts) {
  std::unique_ptr<RunHub> hub(new RunHub(parts));
  hub::Service::Options with;
  with.dir = parts.folder;
  with.product = ProductVersion();
  with.user = parts.user;
  with.owner = os::EffectiveUser();
  with.one_job = true;
  with.keep_replay = [reader = &hub->reader_](JobId job, std::function<void()> done) {
    return reader->StoreState(job, std::move(done));
  };
  with.allows = std::move(parts.allows);
  with.log = Unheard<LogText>;
  with.about = [hub = hub.get()](HubFacts& facts) {
    if (hub->door_) hub->door_->TellAbout(facts);
  };
  auto service = TRY(hub::Service::Read(
      {parts.loop, parts.store, hub->aside_, hub->reader_, hub->commands_, parts.owner},
      std::move(with)));
  hub->service_ = std::move(service);
  return hub;
}

void RunHub::Announce(const store::JobRow& row) {
  hub::KnownJobs& known = service_->known();
  if (engine().Counts(row.job)) return known.Reopened(row.job);
  known.Add(row.job, row.user);
  known.SetName(row);
}

Status RunHub::OpenDoor() {
  folder_ = TRY(os::OpenDir(parts_.folder));
  hub::Door::Options with;
  with.dir = fmt::format("/proc/self/fd/{}", folder_.get());
  with.host = parts_.host;
  with.permissions = 0600;
  with.product = ProductVersion();
  with.connections = with.strangers = kConnections;
  with.suspect_after = kSuspectAfter;
  with.log = Unheard<LogText>;
  door_ = TRY(hub::Door::Open(parts_.loop, *service_, nullptr, std::move(with)));
  return {};
}

}  // namespace spate::run
