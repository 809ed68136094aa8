#include "doors/mw/run/state_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/units.h"
#include "doors/mw/run/algorithms.h"
#include "os/file.h"

namespace spate::mw {

Result<std::string_view> AnswersOf(const TaskOutputPtr& output, std::string& from_file) {
  if (!output) return std::string_view();
  if (output->out.spool.empty()) return std::string_view(output->out.bytes);
  from_file = TRY(os::ReadFile(output->out.spool, output->out.total));
  return std::string_view(from_file);
}

Result<OpenedState> OpenState(const std::string& dir, MasterConstants& constants) {
  OpenedState state;
  if (dir.empty()) return state;
  auto opened = TRY(StateFile::Open(dir));
  state.file = std::move(opened);
  auto loaded = TRY(state.file->Load(constants));
  state.kept = std::move(loaded);
  const std::vector<std::string> words = Algorithms::Get().Words();
  auto other = WhyOtherBuild({state.kept.algorithms, "the one that wrote the state"},
                             {words, "this program"});
  if (other.empty()) return state;
  return Fail(ErrorKind::kInvalid,
              fmt::format("--mw-state {} was written by another build of the program: {}. Start "
                          "that build, or name another folder",
                          EscapeForScreen(dir), other));
}

namespace {

// One stroke for all that wait.
Status WriteAll(StateFile& file, std::span<StateChange> group) {
  StateChange all;
  for (StateChange& each : group) {
    std::ranges::move(each.tasks, std::back_inserter(all.tasks));
    std::ranges::move(each.given, std::back_inserter(all.given));
    std::ranges::move(each.results, std::back_inserter(all.results));
    std::ranges::move(each.taken, std::back_inserter(all.taken));
    if (each.state) all.state = std::move(each.state);
    if (!each.algorithms.empty()) all.algorithms = std::move(each.algorithms);
    all.last_task = std::max(all.last_task, each.last_task);
  }
  return file.Write(all);
}

}  // namespace

StateStore::StateStore(os::Loop& loop, Ledger& ledger, std::shared_ptr<StateFile> file)
    : TransientStore(loop),
      ledger_(ledger),
      has_file_(file != nullptr),
      writer_(loop, [file](std::span<StateChange> group) { return WriteAll(*file, group); }, {}) {}

void StateStore::Write(StateChange change, std::function<void(Status)> done) {
  const uint64_t bytes = change.empty() ? 0 : sizeof(change);
  writer_.Add(std::move(change), bytes, false,
              [done = std::move(done)](Status status, const StateChange&) {
                if (done) done(std::move(status));
              });
}

void StateStore::Append(store::Bundle bundle, std::function<void(Status)> done) {
  Write(ChangeOf(bundle), std::move(done));
}

// Tasks of the lease that must not be given out again.
void StateStore::AddGiven(StateChange& change, const engine::Leased& lease) {
  for (TaskRange range : lease.tasks) {
    for (uint32_t k = 0; k < range.count; ++k) {
      for (uint64_t id : ledger_.TasksOf(lease.job, range.first + k)) {
        const task* what = ledger_.Find(id);
        if (what == nullptr || what->how.retry) continue;
        if (IsKept({id})) {
          change.given.push_back({id});
        } else {
          given_.insert(id);
        }
      }
    }
  }
}

StateChange StateStore::ChangeOf(const store::Bundle& bundle) {
  StateChange change;
  size_t outputs = 0;
  for (const engine::Record& record : bundle.records) {
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended != nullptr && has_file_) {
      TaskOutputPtr output = outputs < bundle.outputs.size() ? bundle.outputs[outputs] : nullptr;
      ++outputs;
      std::string from_file;
      auto answers = AnswersOf(output, from_file);
      auto results = ledger_.ResultsOf({ended->end, ended->verdict}, answers ? *answers : "");
      for (result& each : results) {
        if (IsKept(each.task)) change.results.push_back(std::move(each));
      }
    }
    ledger_.Recorded(record);
    const auto* leased = std::get_if<engine::Leased>(&record);
    if (leased != nullptr && has_file_) AddGiven(change, *leased);
  }
  return change;
}

Result<std::vector<std::string>> StateStore::Rows(JobId job, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) rows.push_back(ledger_.Row(job, first + i));
  return rows;
}

}  // namespace spate::mw
