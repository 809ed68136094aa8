#include "doors/mw/run/state_store.h"

#include <algorithm>
#include <utility>

#include "os/file.h"

namespace spate::mw {

Result<std::string> AnswersOf(const TaskOutputPtr& output) {
  if (!output) return std::string();
  if (output->out.spool.empty()) return output->out.bytes;
  return os::ReadFile(output->out.spool, output->out.total);
}

void StateStore::Write(StateChange change, std::function<void(Status)> done) {
  waiting_.push_back({std::move(change), std::move(done)});
  if (!group_) Commit();
}

void StateStore::Append(store::Bundle bundle, std::function<void(Status)> done) {
  Write(file_ ? ChangeOf(bundle) : StateChange(), std::move(done));
}

StateChange StateStore::ChangeOf(const store::Bundle& bundle) {
  StateChange change;
  size_t outputs = 0;
  for (const engine::Record& record : bundle.records) {
    if (const auto* leased = std::get_if<engine::Leased>(&record)) {
      for (TaskRange range : leased->tasks) {
        for (uint32_t k = 0; k < range.count; ++k) {
          for (uint64_t id : ledger_.TasksOf(leased->job, range.first + k)) {
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
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) continue;
    TaskOutputPtr output = outputs < bundle.outputs.size() ? bundle.outputs[outputs] : nullptr;
    ++outputs;
    auto answers = AnswersOf(output);
    auto results = ledger_.ResultsOf({ended->end, ended->verdict}, answers ? *answers : "");
    for (result& each : results) {
      if (IsKept(each.task)) change.results.push_back(std::move(each));
    }
  }
  return change;
}

Status StateStore::ReplayJob(JobId, const std::function<void(const engine::Record&)>&) {
  return Fail(ErrorKind::kNotFound, "a master keeps no records of jobs");
}

Result<std::vector<std::string>> StateStore::Rows(JobId job, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) rows.push_back(ledger_.Row(job, first + i));
  return rows;
}

// What needs no disk is done as soon as all before it is.
void StateStore::Commit() {
  group_ = std::make_shared<std::deque<Waiting>>(std::exchange(waiting_, {}));
  const bool writes =
      std::ranges::any_of(*group_, [](const Waiting& each) { return !each.change.empty(); });
  if (!writes || !failure_) {
    loop_.Post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) Committed(failure_);
    });
    return;
  }
  writer_ = std::make_unique<os::Aside<bool>>(
      loop_,
      [file = file_, group = group_]() -> Result<bool> {
        // One stroke for all that wait.
        StateChange all;
        for (Waiting& waiting : *group) {
          StateChange& each = waiting.change;
          std::ranges::move(each.tasks, std::back_inserter(all.tasks));
          std::ranges::move(each.given, std::back_inserter(all.given));
          std::ranges::move(each.results, std::back_inserter(all.results));
          std::ranges::move(each.taken, std::back_inserter(all.taken));
          if (each.state) all.state = std::move(each.state);
          all.last_task = std::max(all.last_task, each.last_task);
        }
        if (auto written = file->Write(all); !written) return std::unexpected(written.error());
        return true;
      },
      [this](Result<bool> written) {
        Committed(written ? Status() : std::unexpected(written.error()));
      });
}

void StateStore::Committed(Status status) {
  if (!status) failure_ = status;
  auto group = std::exchange(group_, nullptr);
  std::weak_ptr alive = alive_;
  for (Waiting& waiting : *group) {
    if (waiting.done) waiting.done(status);
    if (alive.expired()) return;
  }
  if (!group_ && !waiting_.empty()) Commit();
}

}  // namespace spate::mw
