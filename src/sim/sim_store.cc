#include "sim/sim_store.h"

#include <utility>

#include "base/check.h"

namespace spate::sim {

SimStore::SimStore(Parts parts)
    : MemoryStore(parts.loop, parts.disk, parts.options), parts_(std::move(parts)) {}

store::Done SimStore::Telling(store::Done done) {
  return [this, done = std::move(done)](Status status) {
    if (status) TellCommitted();
    if (parts_.faults.Alive() && done) done(std::move(status));
  };
}

void SimStore::Change(RowChange change, store::Done done) {
  auto of_pools = std::exchange(of_pools_, {});
  auto forgets = std::exchange(forgets_, {});
  auto images = std::exchange(images_, {});
  if (!parts_.faults.Alive()) return;
  pending_.push_back({{}, {}, std::move(of_pools), forgets, std::move(images)});
  MemoryStore::Change(std::move(change), Telling(std::move(done)));
}

void SimStore::Append(store::Bundle bundle, store::Done done) {
  pending_.push_back({bundle.records, bundle.outputs});
  for (const engine::Record& record : bundle.records) parts_.sink(Decided{&record});
  if (!parts_.faults.Alive()) return;
  if (parts_.sabotage == Sabotage::kReleaseEarly) {
    parts_.loop.Post([this, done] {
      if (parts_.faults.Alive()) done({});
    });
    done = [](Status) {};
  }
  MemoryStore::Append(std::move(bundle), Telling(std::move(done)));
  parts_.faults.Alive();
}

Status SimStore::Replay(const std::function<void(const engine::Record&)>& visit) {
  uint64_t count = 0;
  return MemoryStore::Replay([&](const engine::Record& record) {
    bool first_kind = std::holds_alternative<engine::JobAccepted>(record);
    if (parts_.sabotage == Sabotage::kForgetRecord && !first_kind && ++count % 10 == 0) {
      if (std::holds_alternative<engine::JobHeld>(record)) return;
      if (std::holds_alternative<engine::JobReleased>(record)) return;
    }
    visit(record);
  });
}

Status SimStore::ReplayPools(const std::function<void(const provision::Record&)>& visit) {
  return MemoryStore::ReplayPools([&](const provision::Record& record) {
    bool told = !std::holds_alternative<provision::PoolPaused>(record) &&
                !std::holds_alternative<provision::PoolLearned>(record);
    if (told || parts_.sabotage != Sabotage::kForgetPools) visit(record);
  });
}

void SimStore::AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                                 store::Done done) {
  for (const provision::Record& record : records) parts_.sink(PoolDecided{&record});
  of_pools_ = records;
  if (parts_.sabotage == Sabotage::kSubmitEarly) {
    parts_.loop.Post([this, done] {
      if (parts_.faults.Alive()) done({});
    });
    done = [](const Status&) {};
  }
  MemoryStore::AppendPoolRecords(std::move(records), now, std::move(done));
}

void SimStore::CutPools(std::vector<provision::Record> images, Instant keep_since,
                        store::Done done) {
  parts_.sink(PoolsCut{&images});
  images_ = images;
  if (parts_.sabotage == Sabotage::kNeverCut) {
    return Change([](store::MemoryDisk&) {}, std::move(done));
  }
  MemoryStore::CutPools(std::move(images), keep_since, std::move(done));
}

void SimStore::ForgetJob(JobId job, store::Done done) {
  forgets_ = job;
  MemoryStore::ForgetJob(job, std::move(done));
}

void SimStore::Crash(size_t also_durable) {
  size_t durable = MemoryStore::Crash(also_durable);
  for (size_t i = 0; i < durable; ++i) TellCommitted();
  if (parts_.sabotage == Sabotage::kLoseCommit && !parts_.disk->records.empty()) {
    parts_.disk->records.pop_back();
  }
}

std::vector<engine::Record> SimStore::Pending() const {
  std::vector<engine::Record> records;
  for (const Given& given : pending_) {
    records.insert(records.end(), given.records.begin(), given.records.end());
  }
  return records;
}

void SimStore::TellCommitted() {
  CHECK(!pending_.empty());
  Given given = std::move(pending_.front());
  pending_.pop_front();
  for (const provision::Record& record : given.of_pools) parts_.sink(PoolCommitted{&record});
  if (given.images) parts_.sink(PoolsCut{.images = &*given.images, .durable = true});
  if (given.forgets && !parts_.disk->jobs.contains(*given.forgets)) {
    parts_.sink(Forgotten{*given.forgets});
  }
  size_t output = 0;
  for (const engine::Record& record : given.records) {
    Committed fact{&record, nullptr};
    if (std::holds_alternative<engine::AttemptEnded>(record) && output < given.outputs.size()) {
      fact.output = given.outputs[output++].get();
    }
    parts_.sink(fact);
  }
}

}  // namespace spate::sim
