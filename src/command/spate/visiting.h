// Visits of running tasks by their owner: a command inside a task, for `spate exec` and
// `spate shell`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/history_call.h"
#include "core/model/selection.h"
#include "core/model/visit.h"
#include "os/real_loop.h"
#include "remote/client.h"
#include "remote/forwarded_ports.h"
#include "remote/ticket.h"

namespace spate::cli {

// ssh's code for an error of the connection, not of the command.
inline constexpr int kVisitFailure = 255;

// The way into a task, of which there is one. kUnavailable: it does not run.
Result<EnterTask::Answer> QueryWay(HistoryCall& call, TasksOfJob task, uint32_t rank);
remote::Client::Options VisitOptions(const EnterTask::Answer& way, remote::StartWords words);

// One visit, which begins once the loop runs.
class Visit {
 public:
  Visit(os::RealLoop& loop, const EnterTask::Answer& way, remote::Client::Options options,
        remote::Client::Done done);
  remote::Client& client() { return client_; }

 private:
  const remote::Ticket ticket_;
  remote::Client client_;
};

// Signals that would end this process go to the command; a second one ends this process.
void PassSignals(os::RealLoop& loop, const std::function<bool(int)>& pass);

struct VisitWish {
  TasksOfJob task;
  uint32_t rank = 0;
  std::vector<std::string> words;  // none: the visit lasts until it is ended from here
  bool terminal = false;           // the command gets one
  std::vector<remote::PortWish> ports;
};
// Visits one task with this process's streams. Returns the command's exit code, or kVisitFailure
// with the reason reported.
Result<int> VisitTask(HistoryCall& call, const VisitWish& wish);

// Both standard input and output are a terminal.
bool IsAtTerminal();

}  // namespace spate::cli
