// EmbeddedHub: the hub inside a program that makes jobs of its own and keeps no history of them: a
// master of master-worker programs, the first process of an MPI job. Its owner gives it jobs;
// others may look at them at a socket, with the commands that look at any hub, and change nothing,
// unless Parts::steers says so.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "core/engine/engine.h"
#include "hub/answers/live_reader.h"
#include "hub/aside.h"
#include "hub/door/door.h"
#include "hub/pools/commands.h"
#include "hub/service.h"
#include "os/real_loop.h"
#include "store/transient_store.h"

namespace spate::hub {

class EmbeddedHub final : Watcher {
 public:
  struct Parts {
    os::RealLoop& loop;
    store::TransientStore& store;
    Watcher& owner;
    LiveReader::Texts texts;  // of its tasks
    std::string state_dir;    // of the user who runs the program
    Limits limits = kLimits;
    std::function<void()> stepped = nullptr;  // Service::Options
    // Its tasks are processes of nodes: others may stop, continue, kill and signal them.
    bool steers = false;
  };
  // All parts outlive it. Nodes may come from now on.
  static Result<std::unique_ptr<EmbeddedHub>> Open(Parts parts);
  ~EmbeddedHub() override;

  Service& service() { return *service_; }
  Hub& hub() { return service_->hub(); }
  const engine::Engine& engine() const { return service_->engine(); }
  // Gives it a job of these tasks, which is the user's who runs the program. `row` has its name and
  // what else people should see of it.
  void Submit(engine::SubmitJob job, store::JobRow row,
              std::shared_ptr<const JobSettings> settings);
  // Forgets a job that has finished. False: later (Hub::Unload).
  bool Drop(JobId job);

  // Lets others look: at STATE/masters/HOST-PID/socket, which ends with this. An error is no reason
  // not to go on.
  Result<std::string> OpenDoor();

 private:
  explicit EmbeddedHub(Parts parts);

  // Watcher
  void OnHubNotice(const engine::Notice& notice) override { parts_.owner.OnHubNotice(notice); }
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr& output) override {
    reader_.OnEnded(notice);
    parts_.owner.OnEnded(notice, output);
  }
  void OnHeld(const engine::NoticeHeld& notice) override { parts_.owner.OnHeld(notice); }
  void OnFinished(const engine::NoticeFinished& notice) override {
    parts_.owner.OnFinished(notice);
  }
  void OnNews(const wire::ToHub& news) override { parts_.owner.OnNews(news); }
  void OnStoreFailed(const Error& error) override { parts_.owner.OnStoreFailed(error); }

  const Parts parts_;
  std::string user_, host_;
  AsideThreads aside_;
  NoCommands commands_;
  LiveReader reader_;
  std::unique_ptr<Service> service_;
  std::string folder_;  // empty: none
  std::unique_ptr<Door> door_;
};

}  // namespace spate::hub
