#include "submit/hub_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/why_not.h"
#include "cli/job/failures.h"
#include "cli/view/summary.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"
#include "present/why.h"

namespace spate::submit {
namespace {

constexpr Duration kFirstWaitPause = Duration::Millis(200);
constexpr Duration kLongestWaitPause = Duration::Seconds(5);

engine::HoldReason HeldBy(const wire::JobNews& news) {
  return static_cast<engine::HoldReason>(news.held);
}

wire::JobNow NowOf(const wire::JobNews& news) {
  return {news.job, HeldBy(news), news.nodes, news.why, {}};
}

}  // namespace

std::string WhyNot(const wire::JobNews& news, const std::string& reach) {
  return news.finished ? "" : cli::WhyNot(NowOf(news), reach);
}

std::string BriefWhyNot(const wire::JobNews& news) {
  if (news.held != 0) return fmt::format("held, {}", cli::HeldWhy(HeldBy(news)));
  return cli::IsForWantOfNodes(news.nodes, news.why) ? "no node is connected"
                                                     : present::TextOf(news.why);
}

std::string KeyOfWait(const wire::JobNews& news) { return cli::KeyOfWait(NowOf(news)); }

bool HasStopped(const wire::JobNews& news) {
  bool by_rule = news.held != 0 && HeldBy(news) != engine::HoldReason::kUser;
  return by_rule && !news.finished && news.counts.leased == 0;
}

int WaitedCode(const HaltRule& halt, const wire::JobNews& news) {
  bool good = cli::DidAsAsked(halt, HeldBy(news), news.counts);
  return good ? cli::kExitSuccess : cli::kExitTasksFailed;
}

Waiter::Waiter(client::HubCall& call, os::RealLoop& loop, const client::Surroundings& here,
               WaitOptions options)
    : call_(call), loop_(loop), here_(here), options_(std::move(options)) {
  auto facts = os::LookAtTerminal(os::kStderr, here.environment);
  bar_ = options_.bar && facts.is_terminal;
  colour_ = facts.may_colour;
}

void Waiter::EraseBar() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
  shown_ = false;
}

void Waiter::TellWhyNot(const wire::JobNews& news) {
  const std::string why = WhyNot(news, options_.reach);
  if (why.empty()) return;
  std::string key = KeyOfWait(news);
  if (key == told_) return;
  told_ = std::move(key);
  if (options_.quiet) return;
  EraseBar();
  fmt::print(stderr, "spate: {}\n", why);
}

// Once, as `run` does; a bar shows the rest.
void Waiter::TellLeftRunning(const wire::JobNews& news) {
  if (bar_ || options_.quiet || news.left.empty() || std::exchange(told_left_, true)) return;
  const LeftRunningFacts& left = news.left.front();
  fmt::print(stderr,
             "spate: job {}: task {} has ended but left running on node {}: {}; waiting for that "
             "(see --leftovers)\n",
             news.job.value, left.task, EscapeForScreen(left.node),
             EscapeForScreen(left.processes));
}

void Waiter::Show(const wire::JobNews& news) {
  TellWhyNot(news);
  TellLeftRunning(news);
  if (!bar_) return;
  Instant now = loop_.Now();
  if (!rated_) rate_.Start(now);
  rated_ = true;
  rate_.Note(now, news.counts.finished());
  cli::BarState state;
  state.done = news.counts.succeeded;
  state.ended = news.counts.finished();
  state.total = news.counts.total;
  state.failed = news.counts.failed + news.counts.unknown;
  state.running = news.counts.leased;
  state.rate = rate_.PerSecond(now);
  state.pause = BriefWhyNot(news);
  state.left = present::LeftTextOfAll(news.left);
  state.colour = colour_;
  int width = static_cast<int>(os::TerminalWidth(os::kStderr, here_.environment));
  fmt::print(stderr, "\r\x1b[K{}", cli::DrawBar(state, width));
  shown_ = true;
}

// As `run` does. A user who may not look into the job, or asks an older hub, hears nothing of it.
void Waiter::TellFailures(const wire::JobNews& news) {
  uint64_t failed = uint64_t{news.counts.failed} + news.counts.unknown;
  auto text = cli::FailuresText(call_, news.job, failed, options_.reach);
  if (text) fmt::print(stderr, "{}", *text);
}

int Waiter::Finish(const wire::JobNews& news) {
  EraseBar();
  const JobCounts& counts = news.counts;
  bool good = counts.succeeded == counts.total;
  int code = WaitedCode(options_.stopped.value_or(HaltRule()), news);
  if (options_.quiet || (good && !bar_)) return code;
  if (counts.failed + counts.unknown > 0) TellFailures(news);
  std::string text =
      fmt::format("spate: job {}: {} of {} succeeded", news.job.value,
                  FormatCount(counts.succeeded), present::CountOf(counts.total, "task"));
  for (auto [count, what] : {std::pair{counts.failed, "failed"},
                             {counts.cancelled, "cancelled"},
                             {counts.unknown, "unknown"},
                             {counts.queued + counts.leased, "not done"}}) {
    if (count > 0) text += fmt::format(", {} {}", FormatCount(count), what);
  }
  fmt::print(stderr, "{}\n", text);
  const cli::HintContext hints = cli::HintsOf(NowOf(news), options_.reach);
  if (counts.failed > 0) {
    std::string blame = cli::BlameText(hints, counts, cli::AskBlamed(call_, news.job));
    if (!blame.empty()) fmt::print(stderr, "spate: {}", blame);
  }
  // One that is held has told what to type.
  if (!good && news.finished) {
    fmt::print(stderr, "spate: to run them again: {}\n", cli::RetryCommand(hints));
  }
  return code;
}

int Waiter::GoAway(JobId job) {
  if (shown_) fmt::print(stderr, "\n");
  fmt::print(stderr, "spate: job {} continues; to wait again: {}; to end it: {}\n", job.value,
             present::TextOf(Advice("job wait", job.value), options_.reach),
             present::TextOf(Advice("job cancel", job.value), options_.reach));
  return cli::kExitInterrupted;
}

Result<int> Waiter::Wait(JobId job) {
  Duration pause = kFirstWaitPause;
  bool told = false;
  for (;;) {
    auto watch = call_.Begin(wire::Watch{job});
    Error error = watch ? Error() : std::move(watch.error());
    while (watch) {
      auto news = call_.NextNews(**watch);
      if (!news) {
        error = std::move(news.error());
        break;
      }
      pause = kFirstWaitPause;
      told = false;
      job = news->job;
      Show(*news);
      if (news->finished || (options_.stopped && HasStopped(*news))) return Finish(*news);
    }
    if (call_.interrupted()) return GoAway(job);
    bool again = error.kind == ErrorKind::kUnavailable && call_.reached();
    if (!again) return std::unexpected(std::move(error));
    if (!told) {
      fmt::print(stderr, "{}spate: the hub is unreachable ({}); trying again\n", shown_ ? "\n" : "",
                 error.message);
    }
    told = true;
    call_.Pause(pause);
    pause = std::min(pause + pause, kLongestWaitPause);
  }
}

}  // namespace spate::submit
