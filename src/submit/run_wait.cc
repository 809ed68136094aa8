// Runs of this machine that are waited for, each at its own socket.
//
// One that nobody carries on (its process was killed, or has stopped) cannot change any more, and
// whoever waits for it is told so at once. What became of it is read from its journal.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/options/shared.h"
#include "client/hub_call.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "present/why.h"
#include "run/run_asker.h"
#include "run/whose_jobs.h"
#include "store/sqlite/job_list.h"
#include "submit/hub_submit.h"
#include "submit/hub_wait.h"
#include "view/failures.h"
#include "view/summary.h"

namespace spate::submit {
namespace {

using store::JobStanding;

// A run that cannot be talked to is looked at so often.
constexpr Duration kLookAgain = Duration::Millis(100);
// Looks without an answer before that is told: one that ends does not answer for a moment.
constexpr int kUnanswered = 10;

struct RunSetting {
  client::Surroundings here;
  std::string state_dir;
  std::unique_ptr<os::RealLoop> loop;
  std::string whose;  // what makes commands mean these: " --local"
  run::RunAsker runs{here, state_dir, whose};
  bool interrupted = false;
  std::unique_ptr<client::HubCall> call = nullptr;  // of the run that is waited for

  void Interrupt() {
    interrupted = true;
    call ? call->Interrupt() : loop->Stop();
  }
  void Pause(Duration time) {
    os::TimerId timer = loop->At(loop->Now() + time, [this] { loop->Stop(); });
    if (!interrupted) loop->Run();
    loop->Cancel(timer);
  }
};

class RunWaiter {
 public:
  RunWaiter(RunSetting& place, bool bar)
      : place_(place),
        bar_(place.here.environment,
             bar && os::LookAtTerminal(os::kStderr, place.here.environment).may_move),
        tells_(bar) {}

  Result<int> Wait(uint32_t number);

 private:
  void Show(const wire::JobNews& news);
  void TellHeld(const wire::JobNews& news);
  // Reports, once, a run that has not answered for a while.
  void TellSilent(uint32_t number, const Error& why);
  Status Follow(uint32_t number);
  static std::unexpected<Error> Elsewhere(const store::JobOwner& owner);
  int Finish(const store::JobSummary& job);

  RunSetting& place_;
  WaitBar bar_;
  bool tells_;         // a good end, too
  uint32_t held_ = 0;  // as it was told last
  int unanswered_ = 0;
};

void RunWaiter::TellHeld(const wire::JobNews& news) {
  if (std::exchange(held_, news.held) == news.held || news.held == 0) return;
  bar_.Erase();
  if (static_cast<HoldReason>(news.held) != HoldReason::kUser) return;  // it is ending
  fmt::print(stderr, "spate: job {} is held: no more of its tasks start; to continue: {}\n",
             news.job.value, present::TextOf(Advice("job release", news.job.value), place_.whose));
}

void RunWaiter::TellSilent(uint32_t number, const Error& why) {
  if (++unanswered_ != kUnanswered) return;
  bar_.Erase();
  fmt::print(stderr, "spate: job {} does not answer: {}; waiting\n", number, why.message);
}

void RunWaiter::Show(const wire::JobNews& news) {
  TellHeld(news);
  bar_.Show(news, news.held != 0 ? "held" : present::TextOf(news.why, place_.whose),
            place_.loop->Now());
}

int RunWaiter::Finish(const store::JobSummary& job) {
  bar_.Erase();
  const JobCounts& counts = job.row.counts;
  uint32_t failed = counts.failed + counts.unknown;
  bool ended = job.standing == JobStanding::kFinished;
  JobFacts facts;
  if (counts.cancelled > 0) facts = cli::AskDetails(place_.runs, JobId(job.number)).job;
  // Others have left their list.
  const bool is_cancelled = facts.job == JobId() || facts.counts.cancelled > 0;
  const bool good = ended && failed == 0 && (counts.cancelled == 0 || !is_cancelled);
  if (good && !tells_) return cli::kExitSuccess;
  const char* cancelled = good ? "no longer in the list" : "cancelled";
  fmt::print(stderr, "{}", cli::EndedText(JobId(job.number), counts, cancelled));
  if (auto why = facts.why_cancelled) {
    fmt::print(stderr, "spate: cancelled: {}\n", EscapeForScreen(*why));
  }
  if (!ended) {
    fmt::print(stderr, "spate: it {}; for the next step: {}\n",
               job.standing == JobStanding::kStopped ? "has stopped" : "was interrupted",
               present::TextOf(Advice("job info", job.number), place_.whose));
  } else if (failed > 0) {
    fmt::print(stderr, "spate: to run them again: {}\n",
               present::TextOf(Advice("job retry", job.number), place_.whose));
  }
  return good ? cli::kExitSuccess : cli::kExitTasksFailed;
}

// Shows its news until it hangs up, or the wait is interrupted.
Status RunWaiter::Follow(uint32_t number) {
  auto target = TRY(run::TargetOf(store::JobPath(place_.state_dir, number)));
  place_.call = std::make_unique<client::HubCall>(*place_.loop, target.hub);
  auto watch = place_.call->Begin(wire::Watch{JobId(number)});
  while (watch) {
    auto news = place_.call->NextNews(**watch);
    if (!news) break;
    Show(*news);
  }
  Status told = watch ? Status() : std::unexpected(watch.error());
  watch = nullptr;  // before its connection
  place_.call.reset();
  return told;
}

std::unexpected<Error> RunWaiter::Elsewhere(const store::JobOwner& owner) {
  return Fail(ErrorKind::kUnavailable, fmt::format("{} runs it", owner.Text()));
}

Result<int> RunWaiter::Wait(uint32_t number) {
  const std::string folder = store::JobPath(place_.state_dir, number);
  for (;;) {
    auto owner = TRY(store::RunningOwner(folder));
    if (!owner) break;
    auto followed = owner->IsOfThisMachine() ? Follow(number) : Elsewhere(*owner);
    if (followed) {
      unanswered_ = 0;
    } else if (!place_.interrupted) {
      TellSilent(number, followed.error());
    }
    if (place_.interrupted) {
      bar_.Erase();
      return TellItContinues(JobId(number), place_.whose);
    }
    place_.Pause(kLookAgain);  // it writes its last words, or begins, or cannot be talked to
  }
  auto job = TRY(store::SummarizeJob(place_.state_dir, number));
  if (job.standing == JobStanding::kDamaged) return Fail(ErrorKind::kCorrupt, job.problem);
  if (job.standing == JobStanding::kNewer) return Fail(ErrorKind::kNewer, job.problem);
  return Finish(job);
}

Result<int> WaitFor(const cli::Words& words, bool bar) {
  auto here = TRY(client::Surroundings::Find());
  std::string state =
      client::StateDirOf(std::string(words.Last(cli::opt::kState).value_or("")), here);
  std::string whose = run::RunsOption(words, here);
  RunSetting place{std::move(here), std::move(state), TRY(os::RealLoop::Create()),
                   std::move(whose)};
  os::IgnoreSignal(os::kSignalPipe);
  return WaitForEach(words, *place.loop,
                     {.pick = [&](const JobSelector& jobs) { return place.runs.Pick(jobs); },
                      .wait = [&](uint32_t job) { return RunWaiter(place, bar).Wait(job); },
                      .interrupt = [&] { place.Interrupt(); },
                      .interrupted = [&] { return place.interrupted; },
                      .passes_over_absent = true});
}

}  // namespace

int WaitForRuns(const cli::Invocation& invocation, bool bar) {
  auto code = WaitFor(invocation.words, bar);
  return cli::Conclude(invocation, code);
}

}  // namespace spate::submit
