// What LocalJob does for --pipe and -j FILE.
#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/run/value_list.h"
#include "cli/text/end_text.h"
#include "format/input_row.h"
#include "os/file.h"
#include "os/terminal.h"
#include "run/local_job.h"

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

bool LocalJob::is_pipe() const {
  return options_.sources.input.from == cli::InputOptions::From::kPipe;
}

void LocalJob::SetPipe(JobSettings settings) {
  settings.row_kind = RowKind::kInput;
  settings.command = options_.sources.command;
  settings.stdin_pattern = InputFolder();
  follow_ = reads_ = true;
  cli::TaskList none;
  none.rows = [](const cli::RowVisitor&) {};
  none.requests = {cli::ClassOf(options_)};
  SetTasks(none, std::move(settings), {});
}

Status LocalJob::ReadOn() {
  follow_ = reads_ = true;
  Status sound;
  StoredRows()([&](std::string_view text) {
    auto row = format::ParseInputRow(text);
    if (row) {
      taken_.push_back({row->length, row->hash});
    } else if (sound) {
      sound = std::unexpected(row.error());
    }
  });
  if (!sound) return sound;
  next_task_ = task_count();
  return rows_status();
}

std::unique_ptr<PipeInput> LocalJob::MakePipeInput(cli::RunView& view) {
  PipeInput::Plan plan;
  plan.fd = os::kStdin;
  plan.folder = InputFolder();
  plan.rules = RulesOf(options_.sources);
  uint32_t slots = cli::SlotCount(options_.slots, here_.machine.facts().cores);
  plan.bytes_ahead = std::max(kBytesAhead, kBlocksPerSlot * slots * plan.rules.block);
  if (options_.sources.input.round_robin) {
    plan.deal = slots;
    (void)os::RemoveTree(plan.folder);  // of a run that accepted nothing
  }
  plan.taken = std::move(taken_);
  PipeInput::Sink sink;
  sink.add = [this, &view](std::vector<std::string> rows) { AddBlocks(std::move(rows), view); };
  sink.end = [this, &view] {
    reads_ = false;
    session_->Post(engine::SealJob{id()});
    view.OnNews(cli::TotalChanged{next_task_, false}, loop_->Now());
  };
  sink.wrong = [this, &view](const Error& error) {
    view.OnNews(cli::Remark{error.message, true}, loop_->Now());
    session_->StopStarting(cli::RunEnd::kBroken, cli::ExitCodeOf(error.kind));
  };
  if (auto made = os::MakeDirs(plan.folder, 0700); !made) {
    loop_->Post([wrong = sink.wrong, error = made.error()] { wrong(error); });
    return nullptr;
  }
  return std::make_unique<PipeInput>(*loop_, std::move(plan), std::move(sink));
}

// A kill can come between a task's success and the end of its block, and while a file was being
// written under another name.
void LocalJob::RemoveLateBlocks() const {
  auto files = os::ListDir(InputFolder());
  if (!files || !is_pipe()) return;
  for (const os::DirEntry& file : *files) {
    auto number = ReadNumber<uint32_t>(file.name);
    bool named = number && *number > 0 && *number <= task_count();
    bool late = named && engine().StateOf(id(), *number - 1) == TaskState::kSucceeded;
    if (late || os::IsUnfinishedName(file.name)) {
      (void)os::RemoveFile(os::JoinPath(InputFolder(), file.name));
    }
  }
}

void LocalJob::AddBlocks(std::vector<std::string> rows, cli::RunView& view) {
  std::vector<Needs> needs(rows.size(), options_.needs);
  AddFollowed(std::move(rows), needs, view);
}

void LocalJob::OnTaskEnded(TaskIndex index) {
  if (input_) input_->OnEnded(index);
  StopWithoutInput();
}

void LocalJob::TellRestOfInput() const {
  if (!is_pipe() || InputIsWhole()) return;
  uint32_t blocks = std::max(next_task_, task_count());
  fmt::print(stderr,
             "spate: the input was not read to its end: {} of it {} taken\n"
             "to go on with the rest, give the same input again: ... | spate run --resume --pipe "
             "... -- COMMAND\n",
             cli::CountOf(blocks, "block"), blocks == 1 ? "was" : "were");
}

void LocalJob::StopWithoutInput() {
  if (!is_pipe() || reads_ || counts().finished() < counts().total) return;
  if (InputIsWhole()) return;
  session_->StopStarting(cli::RunEnd::kHalted, cli::kExitTasksFailed);
}

std::unique_ptr<SlotsFile> LocalJob::WatchSlots(cli::RunView& view) {
  if (options_.slots_file.empty()) return nullptr;
  return std::make_unique<SlotsFile>(
      *loop_, os::JoinPath(row_.cwd, options_.slots_file),
      [this, &view](const Result<cli::SlotRule>& rule) {
        if (!rule) return view.OnNews(cli::Remark{rule.error().message, true}, loop_->Now());
        uint32_t slots = cli::SlotCount(*rule, here_.machine.facts().cores);
        options_.policy.max_running = slots;
        session_->Post(engine::ChangePolicy{id(), options_.policy});
        view.OnNews(
            cli::Remark{fmt::format("-j: {} at once from now on", cli::CountOf(slots, "task")),
                        false},
            loop_->Now());
      });
}

}  // namespace spate::run
