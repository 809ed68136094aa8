// RunAsker: the runs of this machine, as whoever asks about jobs sees them. What their journals
// know is read from there; all else, orders among it, is asked of the runs that it is about, each a
// hub with a socket in its job's folder (run/run_hub.h).
//
// A run is found by its number in the state folder, so it does not matter where it was started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/asker.h"
#include "client/hub_call.h"
#include "client/surroundings.h"
#include "core/model/selection.h"
#include "history/journal_asker.h"
#include "os/fd.h"
#include "os/real_loop.h"

namespace spate::run {

// The hub of the run of a job. `folder` must be open until it is connected: a path may be longer
// than the address of a socket.
struct RunTarget {
  os::Fd folder;
  client::HubTarget hub;
};
Result<RunTarget> TargetOf(const std::string& job_folder);

class RunAsker final : public client::Asker {
 public:
  // `whose`: options that make commands mean these runs (" --local"), for messages.
  RunAsker(const client::Surroundings& here, std::string state_dir, std::string whose);
  ~RunAsker() override;

  // kUnavailable: a run that is named does not run, or does not answer.
  Status Query(wire::Question question, const AcceptAnswer& take) override;
  // Numbers, ascending, each once. kNotFound: there is no such job.
  Result<std::vector<uint32_t>> Pick(const JobSelector& jobs) const;

 private:
  Result<uint32_t> Newest() const;
  std::unexpected<Error> NotRunning(uint32_t number) const;
  Status AskRun(uint32_t number, wire::Question question, const AcceptAnswer& take);
  // Ended runs are passed over if several are named: their numbers come back.
  template <typename Q>
  Result<std::vector<uint32_t>> AskEach(Q question, const std::function<void(typename Q::Answer)>&);

  Status Answer(wire::ChangeJobs question, const AcceptAnswer& take);
  Status Answer(const wire::Cancel& question, const AcceptAnswer& take);
  Status Answer(const wire::Steer& question, const AcceptAnswer& take);
  Status Answer(const wire::ExplainTasks& question, const AcceptAnswer& take);
  Status Answer(wire::LookAtJobs question, const AcceptAnswer& take);
  Status Answer(wire::LookAtRun question, const AcceptAnswer& take) {
    return AskOfTask(std::move(question), take);
  }
  Status Answer(wire::EnterTask question, const AcceptAnswer& take) {
    return AskOfTask(std::move(question), take);
  }
  template <typename Q>
  Status AskOfTask(Q question, const AcceptAnswer& take);
  Status Answer(const wire::ListProcesses& question, const AcceptAnswer& take);

  const std::string state_dir_;
  const std::string whose_;
  history::JournalAsker journals_;
  std::unique_ptr<os::RealLoop> loop_;  // once a run is asked
};

// The reader of a run's journal (history/reader_end.h): `spate __run-reader STATE USER admin|user`,
// or `STATE JOB keep` (hub/replay_keeper.h). The process's exit code; nullopt when argv is
// something else.
std::optional<int> RunReaderEntry(int argc, char** argv);

}  // namespace spate::run
