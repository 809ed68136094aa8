#include "doors/pmc/run/rescue_store.h"

#include <algorithm>
#include <utility>

#include "doors/pmc/formats/rescue.h"
#include "os/file.h"

namespace spate::pmc {

RescueStore::RescueStore(os::Loop& loop, Parts parts)
    : loop_(loop), parts_(std::make_shared<const Parts>(std::move(parts))) {}

void RescueStore::Append(store::Bundle bundle, std::function<void(Status)> done) {
  Waiting waiting;
  waiting.done = std::move(done);
  size_t outputs = 0;
  for (engine::Record& record : bundle.records) {
    auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) continue;
    TaskOutputPtr output = outputs < bundle.outputs.size() ? bundle.outputs[outputs] : nullptr;
    ++outputs;
    waiting.bytes += 100 + (output ? output->out.bytes.size() + output->err.bytes.size() : 0);
    waiting.ends.push_back({std::move(*ended), std::move(output)});
  }
  backlog_ += waiting.bytes;
  waiting_.push_back(std::move(waiting));
  if (!group_) Commit();
}

Status RescueStore::ReplayJob(JobId, const std::function<void(const engine::Record&)>&) {
  return Fail(ErrorKind::kNotFound, "a rescue file has no records of jobs");
}

Result<std::vector<std::string>> RescueStore::Rows(JobId, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) rows.push_back(parts_->row(first + i));
  return rows;
}

// What needs no disk is done as soon as all before it is.
void RescueStore::Commit() {
  group_ = std::make_shared<std::deque<Waiting>>(std::exchange(waiting_, {}));
  bool writes =
      std::ranges::any_of(*group_, [](const Waiting& each) { return !each.ends.empty(); });
  if (!writes || !failure_) {
    loop_.Post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) Committed(failure_);
    });
    return;
  }
  writer_ = std::make_unique<os::Aside<bool>>(
      loop_,
      [parts = parts_, group = group_]() -> Result<bool> {
        if (auto written = Write(*parts, *group); !written) return std::unexpected(written.error());
        return true;
      },
      [this](Result<bool> written) {
        Committed(written ? Status() : std::unexpected(written.error()));
      });
}

Status RescueStore::Write(const Parts& parts, const std::deque<Waiting>& group) {
  std::string records;
  for (const Waiting& waiting : group) {
    for (const Ended& ended : waiting.ends) {
      if (auto sent = parts.deliver(ended.record, ended.output); !sent) return sent;
      if (ended.record.verdict != Verdict::kSucceeded) continue;
      records += RescueRecord(parts.name(ended.record.end.ref.index));
    }
  }
  if (records.empty()) return {};
  if (auto written = os::WriteAll(parts.file.get(), records, parts.path); !written) return written;
  return os::Fsync(parts.file.get(), parts.path);
}

void RescueStore::Committed(Status status) {
  if (!status) failure_ = status;
  auto group = std::exchange(group_, nullptr);
  std::weak_ptr alive = alive_;
  for (Waiting& waiting : *group) {
    backlog_ -= waiting.bytes;
    if (waiting.done) waiting.done(status);
    if (alive.expired()) return;
  }
  if (!group_ && !waiting_.empty()) Commit();
}

}  // namespace spate::pmc
