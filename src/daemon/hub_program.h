// HubProgram: a hub as a program: its folder, journal and key, a hub::Service on them, what answers
// its clients' commands, and a server for monitors.
//
// Thread: the loop's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "daemon/metrics_server.h"
#include "doors/parasol/formats/site_facts.h"
#include "hub/service.h"
#include "link/hub_keys.h"
#include "os/real_loop.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::daemon {

class HubProgram {
 public:
  struct Options {
    hub::Service::Options hub;                    // without `product`, `habits`, `start_reader`
    std::string user;                             // whom this process runs as
    std::string node_user;                        // whose tasks the first access of nodes is for
    std::optional<os::Address> metrics;           // where monitors ask
    std::optional<parasol::ParasolSite> parasol;  // of paraHub
  };
  // kBusy: another hub runs in this folder.
  static Result<std::unique_ptr<HubProgram>> Open(os::RealLoop& loop, Options options);
  ~HubProgram();

  void Stop();
  hub::Service& service() { return *service_; }

 private:
  HubProgram(os::RealLoop& loop, Options options, store::HubDir dir,
             std::unique_ptr<store::SqliteStore> store)
      : loop_(loop), options_(std::move(options)), dir_(std::move(dir)), store_(std::move(store)) {}
  Status Serve(transport::Identity identity);
  Status OpenMetrics();
  void TellAbout(HubFacts& facts) const;
  void MeasureLag();
  Status WriteFirstAccess(const link::HubKeys& keys);

  os::RealLoop& loop_;
  const Options options_;
  const store::HubDir dir_;  // keeps others out
  const std::unique_ptr<store::SqliteStore> store_;
  std::string site_;        // what a door has its programs know
  std::string metrics_at_;  // where monitors ask; empty: nowhere
  std::unique_ptr<hub::Service> service_;
  std::unique_ptr<MetricsServer> metrics_;
  Duration lag_{};  // by how much the loop was late at the last look, one a second
  os::TimerId lag_timer_ = 0;
};

}  // namespace spate::daemon
