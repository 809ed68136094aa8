// Lines of numbers, and a name that goes to the end of its line:
//   r JOB TASK STARTED NODE                         runs
//   w JOB FIRST COUNT                               waits
//   m GOOD FAILED DEAD NAME                         machine
//   b JOB RUN WAIT DONE CRASH PRI MAX CPUS RAM PLAN USER    batch; CPUS in thousandths
//   u RUN WAIT DONE ACTIVE TOTAL PRI MAX NAME       user
//   s NUMBER...                                     of status, as in kStatus; then microseconds up
//   j JOB                                           has not ended, and is counted above
#include "doors/parasol/hub/parasol_facts.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

namespace spate::parasol {
namespace {

// Takes one line apart.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}
  int64_t Number() {
    int64_t number = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    (void)error;  // 0 stands for what is no number
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return number;
  }
  uint32_t Small() { return static_cast<uint32_t>(Number()); }
  uint64_t Count() { return static_cast<uint64_t>(Number()); }
  JobId Job() { return JobId(Small()); }
  std::string Rest() { return std::string(rest_); }

 private:
  std::string_view rest_;
};

ParasolFacts::Batch ReadBatch(Fields in) {
  ParasolFacts::Batch batch;
  batch.job = in.Job();
  HubBatch& figures = batch.figures;
  figures.running = in.Count();
  figures.waiting = in.Count();
  figures.done = in.Count();
  figures.crashed = in.Count();
  figures.priority = in.Number();
  figures.max_job = in.Number();
  figures.cpus = static_cast<double>(in.Number()) / kMilliCpu;
  figures.ram = in.Count();
  figures.planned = in.Count();
  figures.user = in.Rest();
  return batch;
}

constexpr uint64_t HubStatus::* kStatus[] = {
    &HubStatus::cpus_total,   &HubStatus::cpus_free,      &HubStatus::cpus_busy,
    &HubStatus::nodes_total,  &HubStatus::nodes_dead,     &HubStatus::nodes_sick,
    &HubStatus::jobs_running, &HubStatus::jobs_waiting,   &HubStatus::jobs_finished,
    &HubStatus::jobs_crashed, &HubStatus::spokes_free,    &HubStatus::spokes_busy,
    &HubStatus::spokes_dead,  &HubStatus::active_batches, &HubStatus::active_users};
constexpr double kMicrosOfDay = 86400e6;

HubStatus ReadStatus(Fields in) {
  HubStatus status;
  for (auto field : kStatus) status.*field = in.Count();
  status.days_up = static_cast<double>(in.Number()) / kMicrosOfDay;
  return status;
}

std::string StatusLine(const HubStatus& status) {
  std::string line = "s";
  for (auto field : kStatus) line += fmt::format(" {}", status.*field);
  return line + fmt::format(" {}\n", std::llround(status.days_up * kMicrosOfDay));
}

HubUser ReadUser(Fields in) {
  HubUser user;
  user.running = in.Count();
  user.waiting = in.Count();
  user.finished = in.Count();
  user.active_batches = in.Count();
  user.total_batches = in.Count();
  user.priority = in.Number();
  user.max_job = in.Number();
  user.name = in.Rest();
  return user;
}

}  // namespace

std::string EncodeFacts(const ParasolFacts& facts) {
  std::string text;
  auto out = std::back_inserter(text);
  for (const ParasolFacts::Run& run : facts.runs) {
    fmt::format_to(out, "r {} {} {} {}\n", run.job.value, run.task, run.started, run.node);
  }
  for (const ParasolFacts::Waiting& waiting : facts.waiting) {
    fmt::format_to(out, "w {} {} {}\n", waiting.job.value, waiting.tasks.first,
                   waiting.tasks.count);
  }
  for (const HubMachine& machine : facts.machines) {
    fmt::format_to(out, "m {} {} {} {}\n", machine.good, machine.failed, machine.dead ? 1 : 0,
                   machine.name);
  }
  for (const auto& [job, figures] : facts.batches) {
    fmt::format_to(out, "b {} {} {} {} {} {} {} {} {} {} {}\n", job.value, figures.running,
                   figures.waiting, figures.done, figures.crashed, figures.priority,
                   figures.max_job, std::lround(figures.cpus * kMilliCpu), figures.ram,
                   figures.planned, figures.user);
  }
  for (const HubUser& user : facts.users) {
    fmt::format_to(out, "u {} {} {} {} {} {} {} {}\n", user.running, user.waiting, user.finished,
                   user.active_batches, user.total_batches, user.priority, user.max_job, user.name);
  }
  if (facts.status) text += StatusLine(*facts.status);
  for (JobId job : facts.unended) fmt::format_to(out, "j {}\n", job.value);
  return text;
}

ParasolFacts DecodeFacts(std::string_view text) {
  ParasolFacts facts;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() < 2) continue;
    Fields in(line.substr(2));
    switch (line.front()) {
      case 'r':
        facts.runs.push_back({in.Job(), in.Small(), in.Number(), in.Rest()});
        break;
      case 'w':
        facts.waiting.push_back({in.Job(), {in.Small(), in.Small()}});
        break;
      case 'm': {
        HubMachine& machine = facts.machines.emplace_back();
        machine.good = in.Count();
        machine.failed = in.Count();
        machine.dead = in.Number() != 0;
        machine.name = in.Rest();
        break;
      }
      case 'b':
        facts.batches.push_back(ReadBatch(in));
        break;
      case 'u':
        facts.users.push_back(ReadUser(in));
        break;
      case 's':
        facts.status = ReadStatus(in);
        break;
      case 'j':
        facts.unended.push_back(in.Job());
        break;
      default:
        break;
    }
  }
  return facts;
}

}  // namespace spate::parasol
