// Lines of numbers, and a name that goes to the end of its line:
//   r JOB TASK STARTED NODE                         runs
//   w JOB FIRST COUNT                               waits
//   m GOOD FAILED DEAD NAME                         machine
//   b JOB RUN WAIT DONE CRASH PRI MAX CPUS RAM PLAN USER    batch; CPUS in thousandths
#include "apps/parasol_facts.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

namespace spate::apps {
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
  format::HubBatch& figures = batch.figures;
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
  for (const format::HubMachine& machine : facts.machines) {
    fmt::format_to(out, "m {} {} {} {}\n", machine.good, machine.failed, machine.dead ? 1 : 0,
                   machine.name);
  }
  for (const auto& [job, figures] : facts.batches) {
    fmt::format_to(out, "b {} {} {} {} {} {} {} {} {} {} {}\n", job.value, figures.running,
                   figures.waiting, figures.done, figures.crashed, figures.priority,
                   figures.max_job, std::lround(figures.cpus * kMilliCpu), figures.ram,
                   figures.planned, figures.user);
  }
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
        format::HubMachine& machine = facts.machines.emplace_back();
        machine.good = in.Count();
        machine.failed = in.Count();
        machine.dead = in.Number() != 0;
        machine.name = in.Rest();
        break;
      }
      case 'b':
        facts.batches.push_back(ReadBatch(in));
        break;
      default:
        break;
    }
  }
  return facts;
}

}  // namespace spate::apps
