#include "command/steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/job/job_changes.h"
#include "format/selector/selector.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

constexpr Duration kLook = Duration::Millis(100);
constexpr Duration kPatience = Duration::Seconds(5);

// JOB.TASK[.RANK]@NODE:PID
Status TakeProcess(const HubScreen& screen, const std::string& word, wire::Steer& question) {
  auto wrong = [&] {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not the id of a process, JOB.TASK@NODE:PID or "
                            "JOB.TASK.RANK@NODE:PID, as spate ps prints it",
                            EscapeForScreen(word)));
  };
  const size_t at = word.find('@'), colon = word.rfind(':');
  if (colon == word.npos || colon < at) return wrong();
  std::string task = word.substr(0, at);
  const size_t dot = task.find('.');
  if (dot == task.npos) return wrong();
  if (const size_t rank = task.find('.', dot + 1); rank != task.npos) {
    if (!ReadNumber<uint32_t>(task.substr(rank + 1))) return wrong();
    task.resize(rank);  // the process itself says it
  }
  auto pid = ReadNumber<int32_t>(word.substr(colon + 1));
  if (!pid || *pid <= 0) return wrong();
  question.node = word.substr(at + 1, colon - at - 1);
  question.pid = *pid;
  auto tasks = TRY(format::ParseTaskSelector(task));
  question.tasks = std::move(tasks);
  return LookUpNames(screen.hub, question.tasks);
}

// Asks again until all processes stand still, or for so long.
Status AwaitFrozen(const HubScreen& screen, const wire::Steer& question,
                   wire::Steer::Answer& done) {
  for (Duration waited; done.frozen < done.running && waited < kPatience; waited = waited + kLook) {
    screen.pause(kLook);
    auto now = client::QueryOne(screen.hub, question);
    if (!now) {
      // A task that has ended meanwhile cannot be stopped any more.
      if (now.error().kind != ErrorKind::kInvalid) return std::unexpected(now.error());
      done.running = done.frozen = 0;
      done.unanswered.clear();
      return {};
    }
    done.running = now->running;
    done.frozen = now->frozen;
    done.unanswered = std::move(now->unanswered);
  }
  return {};
}

Result<int> PutJson(const HubScreen& screen, const wire::Steer::Answer& done,
                    std::string_view change) {
  TRY(TellSame(screen, done.jobs.free));
  for (JobId job : done.jobs.changed) TRY(PutChange(screen, job, change));
  for (const wire::TaskCount& of : done.tasks) TRY(PutChange(screen, of.job, change, of.count));
  return done.frozen < done.running || !done.problems.empty() ? kExitCouldNotRun : kExitSuccess;
}

}  // namespace

Result<wire::Steer> SteerOf(const HubScreen& screen, Steering what,
                            std::span<const std::string> words) {
  wire::Steer question{.what = what};
  if (screen.words.Has(opt::kJobsOfUser) && words.empty()) {
    auto jobs = TRY(NamedJobs(screen));
    question.jobs = std::move(jobs);
    return question;
  }
  if (words.empty()) return Fail(ErrorKind::kInvalid, "name the jobs or tasks");
  std::vector<std::string> of_jobs;
  for (const std::string& word : words) {
    if (word.find('@') != word.npos && what == Steering::kSignal) {
      if (words.size() > 1) {
        return Fail(ErrorKind::kInvalid, "the id of a process stands alone; give one command each");
      }
      TRY(TakeProcess(screen, word, question));
      return question;
    }
    if (word.find('.') == word.npos) {
      of_jobs.push_back(word);
      continue;
    }
    auto tasks = TRY(format::ParseTaskSelector(word));
    question.tasks.insert(question.tasks.end(), tasks.begin(), tasks.end());
  }
  TRY(LookUpNames(screen.hub, question.tasks));
  auto jobs = TRY(SelectJobs(of_jobs));
  question.jobs = std::move(jobs);
  return question;
}

Result<int> Steer(const HubScreen& screen, wire::Steer question, std::string_view done) {
  auto answer = TRY(client::QueryOne(screen.hub, question));
  if (question.what == Steering::kStop) TRY(AwaitFrozen(screen, question, answer));
  TRY(TellSame(screen, answer.jobs.ended));
  if (screen.form == OutputForm::kJson) return PutJson(screen, answer, done);
  TRY(TellSame(screen, answer.jobs.free, "is not stopped"));
  std::vector<std::string> what;
  if (!answer.jobs.changed.empty()) what.push_back(JobsText(answer.jobs.changed));
  for (const wire::TaskCount& of : answer.tasks) {
    what.push_back(fmt::format("{} of job {}", present::CountOf(of.count, "task"), of.job.value));
  }
  std::string text = fmt::format("{} {}", fmt::join(what, ", "), done);
  if (question.what == Steering::kSignal) {
    text += fmt::format(": {} got it", present::CountOf(answer.processes, "process"));
  }
  if (!what.empty()) screen.Report(text);
  for (const std::string& problem : answer.problems) screen.Report(EscapeForScreen(problem));
  if (answer.frozen < answer.running) {
    screen.Report(
        fmt::format("{} of {} not frozen yet: no answer from {}", answer.running - answer.frozen,
                    present::CountOf(answer.running, "running task"),
                    EscapeForScreen(fmt::format("{}", fmt::join(answer.unanswered, ", ")))));
    return kExitCouldNotRun;
  }
  return answer.problems.empty() ? kExitSuccess : kExitCouldNotRun;
}

}  // namespace spate::cli
