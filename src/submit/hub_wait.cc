#include "submit/hub_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "cli/report.h"
#include "format/selector/selector.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"
#include "present/why.h"
#include "view/failures.h"
#include "view/summary.h"
#include "view/why_not.h"

namespace spate::submit {
namespace {

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
  return present::TextOf(news.why);
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

bool Patience::Again(const Error& error, const std::function<void(std::string)>& say) {
  const bool refused = error.kind == ErrorKind::kBusy && !call_.connected();
  const bool lost = error.kind == ErrorKind::kUnavailable || refused;
  if (call_.interrupted() || !call_.reached() || !lost) return false;
  const int trouble = call_.hung() ? 2 : 1;
  if (trouble > told_) {
    say(fmt::format("the hub is unreachable ({}); trying again", error.message));
    told_ = trouble;
  }
  call_.Pause(pause_);
  pause_ = std::min(pause_ + pause_, kLongestWaitPause);
  return true;
}

void WaitBar::Erase() {
  if (std::exchange(shown_, false)) fmt::print(stderr, "\r\x1b[K");
}

void WaitBar::Show(const wire::JobNews& news, std::string pause, Instant now) {
  if (!on_) return;
  const JobCounts& counts = news.counts;
  if (!std::exchange(rated_, true)) rate_.Start(now, counts.finished());
  rate_.Note(now, counts.finished());
  const cli::BarState state{.done = counts.succeeded,
                            .ended = counts.finished(),
                            .total = counts.total,
                            .failed = uint64_t{counts.failed} + counts.unknown,
                            .running = counts.leased,
                            .rate = rate_.PerSecond(now),
                            .pause = std::move(pause),
                            .left = present::LeftTextOfAll(news.left),
                            .colour = os::LookAtTerminal(os::kStderr, environment_).may_colour};
  const auto width = static_cast<int>(os::TerminalWidth(os::kStderr, environment_));
  fmt::print(stderr, "\r\x1b[K{}", cli::DrawBar(state, width));
  shown_ = true;
}

Result<int> WaitForEach(const cli::Words& words, os::RealLoop& loop, const Waits& of) {
  loop.OnSignal(os::kSignalInt, of.interrupt);
  bool late = false;
  if (auto timeout = TRY(cli::TimeoutOf(words))) {
    loop.At(loop.Now() + *timeout, [&] {
      late = true;
      of.interrupt();
    });
  }
  std::vector<std::string> names = words.words;
  if (names.empty()) names.emplace_back("last");
  int code = cli::kExitSuccess;
  for (const std::string& name : names) {
    const auto jobs = TRY(of.pick(TRY(format::ParseJobSelector(name))));
    for (uint32_t job : jobs) {
      auto waited = of.wait(job);
      const bool absent = !waited && waited.error().kind == ErrorKind::kNotFound;
      if (absent && of.passes_over_absent && jobs.size() > 1) continue;
      if (!waited) return waited;
      code = std::max(code, *waited);
      if (of.interrupted()) return late ? cli::kExitTimedOut : code;
    }
  }
  return code;
}

int TellItContinues(JobId job, const std::string& reach) {
  // Its number may not have come yet.
  const std::string name = job == JobId() ? "last" : fmt::format("{}", job.value);
  fmt::print(stderr, "spate: {} continues; to wait again: {}; to end it: {}\n",
             job == JobId() ? "the last job" : "job " + name,
             present::TextOf(Advice("job wait", name), reach),
             present::TextOf(Advice("job cancel", name), reach));
  return cli::kExitInterrupted;
}

Waiter::Waiter(client::HubCall& call, os::RealLoop& loop, const client::Surroundings& here,
               WaitOptions options)
    : call_(call),
      loop_(loop),
      options_(std::move(options)),
      bar_(here.environment,
           options_.bar && os::LookAtTerminal(os::kStderr, here.environment).is_terminal) {}

void Waiter::TellWhyNot(const wire::JobNews& news) {
  const std::string why = WhyNot(news, options_.reach);
  if (why.empty()) return;
  std::string key = KeyOfWait(news);
  if (key == told_) return;
  told_ = std::move(key);
  if (options_.quiet) return;
  bar_.Erase();
  cli::PrintMessage(why);
}

// Once, as `run` does; a bar shows the rest.
void Waiter::TellLeftRunning(const wire::JobNews& news) {
  if (bar_.on() || options_.quiet || news.left.empty() || std::exchange(told_left_, true)) return;
  const LeftRunningFacts& left = news.left.front();
  const std::string text =
      present::WaitText(fmt::format("has ended but left processes running on node {}: ", left.node),
                        left.processes, "; waiting for them (see --leftovers)");
  fmt::print(stderr, "spate: job {}: task {} {}\n", news.job.value, left.task,
             EscapeForScreen(text));
}

void Waiter::Show(const wire::JobNews& news) {
  TellWhyNot(news);
  TellLeftRunning(news);
  bar_.Show(news, BriefWhyNot(news), loop_.Now());
}

// Same text as in `run`. A user who may not look into the job, or asks an older hub, hears nothing.
void Waiter::TellFailures(const wire::JobNews& news) {
  uint64_t failed = uint64_t{news.counts.failed} + news.counts.unknown;
  auto text = cli::FailuresText(call_, news.job, failed, options_.reach, options_.quiet);
  if (text) fmt::print(stderr, "{}", *text);
}

int Waiter::Finish(const wire::JobNews& news) {
  bar_.Erase();
  const JobCounts& counts = news.counts;
  bool good = counts.succeeded == counts.total;
  int code = WaitedCode(options_.stopped.value_or(HaltRule()), news);
  if (counts.failed + counts.unknown > 0) TellFailures(news);
  const int lost = cli::TellNotKept(news.job, news.not_kept, [&](const std::string& text) {
    if (!options_.quiet || options_.needs_output) fmt::print(stderr, "spate: {}\n", text);
  });
  if (options_.needs_output) code = std::max(code, lost);
  if (options_.quiet || (good && !bar_.on())) return code;
  fmt::print(stderr, "{}", cli::EndedText(news.job, counts));
  if (good) return code;
  const cli::HintContext hints = cli::HintsOf(NowOf(news), options_.reach);
  const JobDetails details = cli::AskDetails(call_, news.job);
  const std::string blame = cli::BlameText(hints, counts, details.blamed);
  if (!blame.empty()) fmt::print(stderr, "spate: {}", blame);
  // One that is held has told what to type.
  if (news.finished) {
    fmt::print(stderr, "spate: {}\n",
               cli::AgainText(hints, details.job.why_cancelled.value_or("")));
  }
  return code;
}

Result<int> Waiter::Wait(JobId job) {
  Patience patience(call_);
  for (;;) {
    auto watch = call_.Begin(wire::Watch{job});
    Error error = watch ? Error() : std::move(watch.error());
    while (watch) {
      auto news = call_.NextNews(**watch);
      if (!news) {
        error = std::move(news.error());
        break;
      }
      patience.Heard();
      job = news->job;
      Show(*news);
      if (news->finished || (options_.stopped && HasStopped(*news))) return Finish(*news);
    }
    if (call_.interrupted()) {
      if (bar_.shown()) fmt::print(stderr, "\n");
      return TellItContinues(job, options_.reach);
    }
    const bool again = patience.Again(error, [this](const std::string& text) {
      fmt::print(stderr, "{}spate: {}\n", bar_.shown() ? "\n" : "", text);
    });
    if (!again) return std::unexpected(std::move(error));
  }
}

}  // namespace spate::submit
