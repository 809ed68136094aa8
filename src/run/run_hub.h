// RunHub: the hub of one job on this machine, in the process that runs it: hub::Service over the
// job's journal. Whoever has the job's folder asks it at the socket there, like any hub.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "hub/aside.h"
#include "hub/door/door.h"
#include "hub/door/reader_process.h"
#include "hub/service.h"
#include "os/fd.h"
#include "os/real_loop.h"
#include "store/sqlite/sqlite_store.h"

namespace spate::run {

class RunHub {
 public:
  // All outlive it.
  struct Parts {
    os::RealLoop& loop;
    store::SqliteStore& store;
    std::string folder;     // of the job
    std::string state_dir;  // where that is
    std::string host;       // this machine
    std::string user;       // whom this process runs as
    hub::Watcher& owner;
    std::function<Status(const wire::Query&)> allows;  // as hub::Service::Options
  };
  // Reads an earlier life of the job back, and writes nothing.
  static Result<std::unique_ptr<RunHub>> Read(Parts parts);
  // Takes the job up; what the last life had under way is ended. Once.
  Status Begin() { return service_->Resume(engine::LastNodes::kEnded); }
  // The job is new, or goes on: clients may ask about it.
  void Announce(const store::JobRow& row);

  // Listens. kUnavailable and others: nobody can reach the run, which is no reason not to run.
  Status OpenDoor();
  void CloseDoor() { door_.reset(); }

  hub::Service& service() const { return *service_; }
  const engine::Engine& engine() const { return service_->engine(); }

 private:
  explicit RunHub(const Parts& parts);

  const Parts parts_;
  hub::AsideThreads aside_;
  hub::ReaderProcesses reader_;
  hub::NoCommands commands_;
  std::unique_ptr<hub::Service> service_;
  os::Fd folder_;  // a path may be longer than the address of a socket
  std::unique_ptr<hub::Door> door_;
};

}  // namespace spate::run
