// HubProgram: a hub as a program: its folder, journal and key, a hub::Service on them, its door to
// the network, processes that read the journal for clients, and a server for monitors.
//
// Thread: the loop's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/metrics_server.h"
#include "doors/parasol/formats/site_facts.h"
#include "hub/aside.h"
#include "hub/door/door.h"
#include "hub/door/reader_process.h"
#include "hub/service.h"
#include "link/hub_keys.h"
#include "os/real_loop.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::daemon {

class HubProgram final : hub::Watcher {
 public:
  struct Options {
    // The program fills in product, user, key and functions but `log`.
    hub::Service::Options hub;
    hub::Door::Options door;                      // likewise: dir, product, log
    std::function<void(int code)> stopped;        // the hub has come to its end
    std::function<Status()> check = nullptr;      // may refuse the start; the folder is locked
    std::string reach = {};                       // options that reach it (present/advice.h)
    bool new_key = false;                         // replace the key if it is missing or differs
    std::string user;                             // whom this process runs as
    std::string node_user;                        // whose tasks the first access of nodes is for
    std::optional<os::Address> metrics;           // where monitors ask
    std::optional<parasol::ParasolSite> parasol;  // of paraHub
  };
  // kBusy: another hub runs in this folder.
  static Result<std::unique_ptr<HubProgram>> Open(os::RealLoop& loop, Options options);
  ~HubProgram() override;

  // Says goodbye to all; then Options::stopped is called.
  void Stop();
  hub::Service& service() { return *service_; }

 private:
  HubProgram(os::RealLoop& loop, Options options, store::HubDir dir,
             std::unique_ptr<store::SqliteStore> store, transport::Identity identity)
      : loop_(loop),
        options_(std::move(options)),
        dir_(std::move(dir)),
        store_(std::move(store)),
        identity_(std::move(identity)) {}
  Status Serve();
  Status OpenService();
  Status OpenDoor();
  Status OpenMetrics();
  void TellAbout(HubFacts& facts) const;
  void MeasureLag();
  Status WriteFirstAccess(const link::HubKeys& keys);

  // hub::Watcher
  void OnEnded(const engine::NoticeEnded&, const TaskOutputPtr&) override {}
  void OnHeld(const engine::NoticeHeld&) override {}
  void OnFinished(const engine::NoticeFinished&) override {}
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error&) override { options_.stopped(3); }

  os::RealLoop& loop_;
  const Options options_;
  const store::HubDir dir_;  // keeps others out
  const std::unique_ptr<store::SqliteStore> store_;
  const transport::Identity identity_;
  hub::AsideThreads aside_{loop_};
  std::unique_ptr<hub::ReaderProcesses> reader_;
  std::unique_ptr<hub::Commands> commands_;
  std::string site_;        // what a door has its programs know
  std::string metrics_at_;  // where monitors ask; empty: nowhere
  std::unique_ptr<hub::Service> service_;
  std::unique_ptr<hub::Door> door_;
  std::unique_ptr<MetricsServer> metrics_;
  Duration lag_{};  // by how much the loop was late at the last look, one a second
  os::TimerId lag_timer_ = 0;
};

// The reader of a hub's journal (history/reader_end.h): `spate __hub-reader DIR USER admin|user`,
// or `DIR JOB keep` (hub/replay_keeper.h). The process's exit code; nullopt when argv is something
// else.
std::optional<int> HubReaderEntry(int argc, char** argv);

}  // namespace spate::daemon
