// Waiting for a job of a hub: to its end, or until only a person can change something.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/words.h"
#include "client/hub_call.h"
#include "client/surroundings.h"
#include "core/engine/record.h"
#include "core/model/job.h"
#include "core/model/selection.h"
#include "os/environment.h"
#include "view/bar.h"
#include "wire/client_messages.h"

namespace spate::submit {

// The reason why the job cannot continue; empty: none, or it only waits for its turn.
// "job 29 is held: its tasks fail one after the other; ...", with the command to type next.
std::string WhyNot(const wire::JobNews& news, const std::string& reach);
// The same in few words, for the bar.
std::string BriefWhyNot(const wire::JobNews& news);
// Changes when a person has to be told again: not with times and counts.
std::string KeyOfWait(const wire::JobNews& news);
// Nothing of it runs, and by its own rule nothing more is started: --halt, --max-failures, or all
// of its tasks fail.
bool HasStopped(const wire::JobNews& news);
// The exit code of who has waited for a job that has finished or stopped.
int WaitedCode(const HaltRule& halt, const wire::JobNews& news);

// A bar on standard error, of a job that is waited for.
class WaitBar {
 public:
  WaitBar(const os::Environment& environment, bool on) : environment_(environment), on_(on) {}
  bool on() const { return on_; }
  bool shown() const { return shown_; }
  // `pause`: why nothing is started, in few words; empty: something is.
  void Show(const wire::JobNews& news, std::string pause, Instant now);
  void Erase();

 private:
  const os::Environment& environment_;
  const bool on_;
  bool shown_ = false;
  cli::RateMeter rate_;
  bool rated_ = false;
};

// Jobs that are waited for, one by one, until all have ended or the wait is interrupted.
struct Waits {
  std::function<Result<std::vector<uint32_t>>(const JobSelector& jobs)> pick;
  std::function<Result<int>(uint32_t job)> wait;  // the exit code
  std::function<void()> interrupt;
  std::function<bool()> interrupted;
  bool passes_over_absent = false;  // of several jobs
};
// The jobs that the words name, else the last one; --timeout interrupts, too. The highest of the
// exit codes.
Result<int> WaitForEach(const cli::Words& words, os::RealLoop& loop, const Waits& of);

// Shown to who does not wait any more. Returns the exit code.
int TellItContinues(JobId job, const std::string& reach);

struct WaitOptions {
  bool bar = false;                 // where there is a terminal
  bool quiet = false;               // nothing but errors
  std::optional<HaltRule> stopped;  // a job that has stopped is waited for no longer; its --halt
  std::string reach;                // what makes commands mean a job of this hub
  bool needs_output = false;        // it failed where output was not kept
};

// Retries with a hub that is lost, for as long as that lasts.
class Patience {
 public:
  explicit Patience(client::HubCall& call) : call_(call) {}
  // After `error`. `say` gets the trouble, once for each kind of it. False, without a pause:
  // another try does not help, or Ctrl-C came.
  bool Again(const Error& error, const std::function<void(std::string)>& say);
  void Heard() { pause_ = kFirst, told_ = 0; }

 private:
  static constexpr Duration kFirst = Duration::Millis(200);
  client::HubCall& call_;
  Duration pause_ = kFirst;
  int told_ = 0;  // 1: it is lost; 2: it does not answer
};

// Follows one job.
class Waiter {
 public:
  Waiter(client::HubCall& call, os::RealLoop& loop, const client::Surroundings& here,
         WaitOptions options);
  // The exit code.
  Result<int> Wait(JobId job);

 private:
  void TellWhyNot(const wire::JobNews& news);
  void TellLeftRunning(const wire::JobNews& news);
  void Show(const wire::JobNews& news);
  void TellFailures(const wire::JobNews& news);
  int Finish(const wire::JobNews& news);

  client::HubCall& call_;
  os::RealLoop& loop_;
  const WaitOptions options_;
  WaitBar bar_;
  std::string told_;
  bool told_left_ = false;
};

}  // namespace spate::submit
