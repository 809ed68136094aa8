// The events of a hub's jobs, as a stream: for programs that watch it, and for people.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "cli/world.h"
#include "command/history_call.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "present/text/size_text.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Duration kEventsAgain = Duration::Seconds(1);

constexpr Option kEventsSince = {.names = "since",
                                 .argument = "POSITION",
                                 .heading = Heading::kSelect,
                                 .help = "start after the event at this position"};
constexpr Option kEventsFollow = {.names = "follow",
                                  .letters = "f",
                                  .heading = Heading::kSelect,
                                  .help = "wait for more; without --since, new ones only"};

// An attempt's processor time has other names here: `user` is whose job it is.
void PutEvent(HistoryCall& call, const wire::EventFacts& event) {
  present::JsonLine line = present::TypedLine(event.what);
  present::AddFields(line, "position", event.position);
  if (event.clock) {
    present::AddFields(line, *event.clock);
    return call.Write(line);
  }
  present::AddFields(line, "job", event.job, "user", event.user, "name", event.name);
  const JobCounts& counts = event.counts;
  if (event.attempt) {
    present::AddFields(line, "task", uint64_t{event.attempt->end.ref.index} + 1);
    AddAttemptFields(line, *event.attempt, "user_time", "system_time");
    present::AddFields(line, "node", event.attempt->node);
  } else if (event.what == "finished") {
    present::AddFields(line, "total", counts.total, "succeeded", counts.succeeded, "failed",
                       counts.failed, "cancelled", counts.cancelled, "unknown", counts.unknown);
  } else if (event.what == "held" || event.what == "cancelled") {
    present::AddFields(line, "reason", event.reason);
  } else if (event.excess) {
    present::AddFields(line, "task", event.task, "resource", event.excess->what, "action",
                       event.excess->done, "used", event.excess->used, "limit",
                       event.excess->limit);
  } else if (event.to) {
    present::AddFields(line, "tasks", event.tasks, "task",
                       present::OrNull(event.task > 0, event.task), "from", event.from, "to",
                       event.to, "by", event.by, "at", event.at, "reason",
                       present::OrNull(event.reason));
  } else if (event.tasks > 0) {
    present::AddFields(line, "tasks", event.tasks);
  }
  call.Write(line);
}

std::string EventText(const wire::EventFacts& event) {
  if (event.attempt) {
    const AttemptEnd& end = event.attempt->end;
    return fmt::format("task {} {} on {} after {}{}{}", TaskId(event.job, end.ref.index),
                       WordOf(event.attempt->verdict), EscapeForScreen(event.attempt->node),
                       FormatDuration(end.wall),
                       end.not_kept == NotKept::kNone ? "" : "; its output was not kept",
                       present::NotKeptWhy(end.not_kept));
  }
  if (event.clock) {
    return "the hub's clock was " + FormatClockStep(event.clock->from, event.clock->to);
  }
  if (event.excess) {
    return fmt::format(
        "task {} {} {}{}", TaskId(event.job, event.task - 1), EscapeForScreen(event.what),
        event.what == "stopped" ? "because it " : "its request: ", TextOf(*event.excess));
  }
  if (event.to) {
    const bool is_one = event.task > 0;
    return fmt::format(
        "{} {}{}: {} by {}{}", is_one ? "task" : "job",
        is_one ? TaskId(event.job, event.task - 1) : fmt::format("{}", event.job.value),
        is_one ? "" : fmt::format(", {}", present::CountOf(event.tasks, "task")),
        EscapeForScreen(event.what), EscapeForScreen(event.by),
        fmt::format(": {}{}{}", present::SizeText(*event.to, event.from),
                    event.reason.empty() ? "" : ": ", EscapeForScreen(event.reason)));
  }
  std::string text = fmt::format("job {} {}", event.job.value, EscapeForScreen(event.what));
  if (event.what == "accepted") {
    text += fmt::format(" of {}: {}", EscapeForScreen(event.user), EscapeForScreen(event.name));
  }
  if (event.tasks > 0) text += fmt::format(", {}", present::CountOf(event.tasks, "task"));
  if (!event.reason.empty()) text += fmt::format(": {}", EscapeForScreen(event.reason));
  if (event.what == "finished") {
    text += fmt::format(": {} of {} succeeded", FormatCount(event.counts.succeeded),
                        present::CountOf(event.counts.total, "task"));
  }
  return text;
}

Result<int> Events(HistoryCall& call) {
  const bool follows = call.words().Has(kEventsFollow);
  wire::ReadEvents question;
  if (auto value = call.words().Last(kEventsSince)) {
    auto since = ParseCount(*value);
    if (!since) return Within("--since", std::move(since.error()));
    question.after = *since;
  } else if (!follows) {
    question.after = 0;
  }
  bool away = false;  // and that was told
  for (bool more = true; more || follows;) {
    auto told = call.Query(question, [&](const wire::ReadEvents::Answer& answer) {
      away = false;
      for (const wire::EventFacts& event : answer.events) {
        if (call.human()) {
          call.Write(fmt::format("{:>8}  {}\n", event.position, EventText(event)));
        } else {
          PutEvent(call, event);
        }
      }
      question.after = answer.position;
      more = answer.more;
    });
    if (told) told = call.Flush();
    const bool waits = !told && follows && told.error().kind == ErrorKind::kUnavailable;
    if (!told && !waits) return std::unexpected(std::move(told.error()));
    if (waits && !std::exchange(away, true)) {
      call.Report(fmt::format("the hub is unreachable ({}); trying again", told.error().message));
    }
    if (follows && (waits || !more) && call.environment().pause) {
      call.environment().pause(kEventsAgain);
    }
  }
  return kExitSuccess;
}

int RunEvents(const Invocation& invocation) {
  return invocation.wiring->world->LookIntoHub(invocation, Events);
}

}  // namespace

extern const Command kSpateEvents = {
    .order = 45,
    .group = CommandGroup::kHistory,
    .name = "events",
    .summary = "print what happens to the jobs of a hub",
    .details =
        "Events are the acceptance, hold, release, cancellation and end of a job, what people do "
        "to "
        "its tasks (stop, kill, signal, change), the end of each attempt of a task, the first time "
        "that a task uses more than it asked for, and each change of the hub's clock. They are "
        "printed in the order in "
        "which they became durable. You see the events of your own jobs; an administrator sees "
        "all. Each event has a position: a program that stopped can continue with --since POSITION "
        "without missing events. Jobs that are damaged or were removed have no events.",
    .examples = {{{"spate events --json --follow", "what happens from now on"},
                  {"spate events --since 0", "all that has happened"},
                  {"spate events -f --since 4711 --json", "what a program has not seen yet"}}},
    .options = {{kEventsSince, kEventsFollow, opt::kAboutHub}},
    .run = RunEvents,
};

}  // namespace spate::cli::command
