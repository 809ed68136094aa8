#include "run/job_input.h"

#include <algorithm>
#include <utility>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "os/file.h"
#include "os/terminal.h"
#include "plan/script_check.h"
#include "plan/this_machine.h"
#include "plan/value_list.h"
#include "present/text/end_text.h"

namespace spate::run {
namespace {

constexpr uint64_t kBytesAhead = 64u << 20;
constexpr uint64_t kBlocksPerSlot = 3;

format::RecordRules RulesOf(const cli::SourceOptions& sources) {
  format::RecordRules rules;
  rules.start = sources.input.recstart;
  rules.end = sources.input.recend;
  if (sources.input.block > 0) rules.block = sources.input.block;
  rules.records = sources.max_args;
  rules.header = sources.header;
  rules.longest = std::max(rules.longest, rules.block);
  return rules;
}

}  // namespace

JobInput::JobInput(PreparedJob& job, cli::RunView& view)
    : job_(job), view_(view), reads_(job.reads()) {
  if (job_.open() && !job_.is_pipe()) follower_ = MakeFollower();
  if (reads_) pipe_ = MakePipeInput();
  slots_ = WatchSlots();
}

void JobInput::Add(std::vector<std::string> rows, const std::vector<Needs>& needs) {
  job_.Grow(std::move(rows), needs);
  view_.OnNews(cli::TotalChanged{job_.given(), true}, job_.loop().Now());
}

void JobInput::Seal() {
  job_.Post(engine::SealJob{job_.id()});
  view_.OnNews(cli::TotalChanged{job_.given(), false}, job_.loop().Now());
}

std::unique_ptr<ListFollower> JobInput::MakeFollower() {
  ListFollower::Sink sink;
  sink.add = [this](std::vector<std::string> rows, std::vector<Needs> needs) {
    Add(std::move(rows), needs);
  };
  sink.end = [this] { Seal(); };
  sink.wrong = [this](const Error& error) {
    view_.OnNews(cli::Remark{error.message, true}, job_.loop().Now());
    job_.foreground().StopStarting(cli::RunEnd::kBroken, cli::kExitUsage);
  };
  sink.why_never = [this, offer = OfferOf(job_.options(), job_.here())](const Needs& needs) {
    auto why = WhyNeverHere(offer, cli::ClassOf(job_.options(), needs));
    return why ? "it " + *why : std::string();
  };
  sink.check = [this](const std::string& file, std::string_view beginning) {
    return cli::CheckNoScript(job_.options(), file, beginning);
  };
  sink.why_script = [this](const std::string& file, std::string_view command) {
    return cli::WhyScript(job_.options(), file, command);
  };
  sink.full = [this] { return job_.StoreIsFull(); };
  auto context = LoadContextOf(job_.settings(), 1, /*run_checks=*/true);
  context.literal_braces = job_.options().literal_braces;
  return std::make_unique<ListFollower>(job_.loop(), job_.options().sources.files,
                                        job_.options().sources.follow_until, job_.options().needs,
                                        std::move(context), std::move(sink));
}

std::unique_ptr<PipeInput> JobInput::MakePipeInput() {
  PipeInput::Plan plan;
  plan.fd = os::kStdin;
  plan.folder = job_.InputFolder();
  plan.rules = RulesOf(job_.options().sources);
  uint32_t slots = cli::SlotCount(job_.options().slots, job_.here().machine.facts().cores);
  plan.bytes_ahead = std::max(kBytesAhead, kBlocksPerSlot * slots * plan.rules.block);
  if (job_.options().sources.input.round_robin) {
    plan.deal = slots;
    (void)os::RemoveTree(plan.folder);  // of a run that accepted nothing
  }
  plan.taken = job_.DrainTaken();
  PipeInput::Sink sink;
  sink.add = [this](std::vector<std::string> rows) {
    std::vector<Needs> needs(rows.size(), job_.options().needs);
    Add(std::move(rows), needs);
  };
  sink.end = [this] {
    reads_ = false;
    Seal();
  };
  sink.wrong = [this](const Error& error) {
    view_.OnNews(cli::Remark{error.message, true}, job_.loop().Now());
    job_.foreground().StopStarting(cli::RunEnd::kBroken, cli::ExitCodeOf(error.kind));
  };
  if (auto made = os::MakeDirs(plan.folder, 0700); !made) {
    job_.loop().Post([wrong = sink.wrong, error = made.error()] { wrong(error); });
    return nullptr;
  }
  return std::make_unique<PipeInput>(job_.loop(), std::move(plan), std::move(sink));
}

void JobInput::OnEnded(TaskIndex index) {
  if (pipe_) pipe_->OnEnded(index);
  StopWithoutInput();
}

void JobInput::StopWithoutInput() {
  if (!job_.is_pipe() || reads_ || job_.counts().finished() < job_.counts().total) return;
  if (job_.InputIsWhole()) return;
  job_.foreground().StopStarting(cli::RunEnd::kHalted, cli::kExitTasksFailed);
}

std::unique_ptr<SlotsFile> JobInput::WatchSlots() {
  if (job_.options().slots_file.empty()) return nullptr;
  return std::make_unique<SlotsFile>(
      job_.loop(), os::JoinPath(job_.row().cwd, job_.options().slots_file),
      [this](const Result<cli::SlotRule>& rule) {
        if (!rule) return view_.OnNews(cli::Remark{rule.error().message, true}, job_.loop().Now());
        uint32_t slots = cli::SlotCount(*rule, job_.here().machine.facts().cores);
        job_.SetMostRunning(slots);
        view_.OnNews(
            cli::Remark{fmt::format("-j: {} at once from now on", present::CountOf(slots, "task")),
                        false},
            job_.loop().Now());
      });
}

void RemoveLateBlocks(const PreparedJob& job) {
  auto files = os::ListDir(job.InputFolder());
  if (!files || !job.is_pipe()) return;
  for (const os::DirEntry& file : *files) {
    auto number = ReadNumber<uint32_t>(file.name);
    bool named = number && *number > 0 && *number <= job.task_count();
    bool late = named && job.engine().StateOf(job.id(), *number - 1) == TaskState::kSucceeded;
    if (late || os::IsUnfinishedName(file.name)) {
      (void)os::RemoveFile(os::JoinPath(job.InputFolder(), file.name));
    }
  }
}

}  // namespace spate::run
