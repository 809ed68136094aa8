#include "sim/sim_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "os/fake_loop.h"
#include "store/sqlite/schema.h"

namespace spate::sim {

// ---- The disk ----------------------------------------------------------------------------------

namespace {

// Always the same, and made once: that takes longer than many a world.
const std::string& EmptyJournal() {
  static const std::string kEmpty = [] {
    SimFiles files(1);
    const int64_t base = os::FakeLoop().Now().ns / 1000;
    CHECK(store::CreateJournal("/journal", base, store::JournalMode::kLog).has_value());
    return files.Get("/journal");
  }();
  return kEmpty;
}

}  // namespace

// In no real folder: what a store does beside its journal finds nothing, and fails.
SimDisk::SimDisk(bool is_hub, uint64_t seed) : place{"/proc/spate-sim/hub", is_hub}, files(seed) {
  files.Store(place.DbPath(), EmptyJournal());
}

store::Database& SimDisk::db() {
  if (reader) return *reader;
  auto opened = store::OpenJournalToRead(place.DbPath());
  CHECK(opened.has_value());
  return reader.emplace(std::move(*opened));
}

Status SimDisk::Visit(const store::RecordVisit& visit) {
  return store::ReplayPart(db(), {.of = store::JournalPart::Of::kFrom}, visit);
}

size_t SimDisk::PoolRows() {
  return static_cast<size_t>(db().QueryInt("SELECT COUNT(*) FROM pool_log").value_or(0));
}

void SimDisk::LoseNewestRow(bool noted) {
  auto opened = store::OpenJournal(place.DbPath());
  CHECK(opened.has_value());
  auto lost = opened->Run("DELETE FROM log WHERE seq = (SELECT MAX(seq) FROM log)");
  if (lost && noted) {
    lost = opened->Run("UPDATE meta SET value = value - 1 WHERE key = 'last_seq'");
  }
  CHECK(lost.has_value());
}

// ---- The writer --------------------------------------------------------------------------------

LateWriter::LateWriter(StoreParts parts)
    : parts_(std::move(parts)), prng_(parts_.seed), writer_(parts_.disk->place) {}

// The last connection folds the log into the journal, if its process was not killed.
LateWriter::~LateWriter() {
  parts_.loop.Cancel(timer_);
  parts_.disk->reader.reset();
}

void LateWriter::Add(store::WriteItem item, uint64_t bytes, bool, Done done) {
  const bool alive = parts_.faults.Alive();
  auto outputs = std::exchange(item.outputs, {});
  queue_.push_back({std::move(item), std::move(outputs), bytes, std::move(done)});
  if (!alive) return;
  backlog_ += bytes;
  ++alive_;
  parts_.faults.Alive();
  if (alive_ > 1) return;
  moved_ = parts_.loop.Now();
  Arm();
}

void LateWriter::Arm() {
  const auto span = static_cast<uint64_t>((parts_.delay_max - parts_.delay_min).ns);
  const Duration delay = parts_.delay_min + Duration{static_cast<int64_t>(prng_.Below(span + 1))};
  const size_t count = alive_;
  timer_ = parts_.loop.At(parts_.loop.Now() + delay, [this, count] { CommitSome(count); });
}

void LateWriter::CommitSome(size_t count) {
  timer_ = 0;
  if (parts_.faults.dead()) return;
  Status status;
  const std::vector<Queued> group = Commit(count, status);
  moved_ = parts_.loop.Now();
  if (alive_ > 0) Arm();
  for (const Queued& each : group) {
    if (status) TellCommitted(each);
    if (parts_.faults.Alive() && each.done) each.done(status, each.item);
  }
}

auto LateWriter::Commit(size_t count, Status& status) -> std::vector<Queued> {
  std::vector<Queued> group;
  std::vector<store::WriteItem> items;
  for (bool forgets = false; group.size() < count && !forgets; queue_.pop_front()) {
    group.push_back(std::move(queue_.front()));
    backlog_ -= group.back().bytes;
    --alive_;
    items.push_back(std::move(group.back().item));
    // A number may be used again here, and its forgetting ends with the next commit.
    forgets = std::ranges::any_of(items.back().changes, [](const store::RowChange& change) {
      return std::holds_alternative<store::ForgetPiece>(change);
    });
  }
  status = failure_;
  if (status) {
    ++parts_.disk->commits;
    // A commit of some rows writes and syncs about 20 times.
    if (commits_left_-- == 0) parts_.disk->files.FailAfter(prng_.Below(20));
    status = Write(items);
    unsure_ = status ? 0 : group.size();
  }
  for (size_t i = 0; i < group.size(); ++i) group[i].item = std::move(items[i]);
  if (!status) {
    failure_ = status;
    failed_.insert(failed_.end(), group.begin(), group.end());
  }
  return group;
}

Status LateWriter::Write(const std::vector<store::WriteItem>& items) {
  if (!writer_.is_open()) TRY(writer_.Open());
  return writer_.Commit(items);
}

void LateWriter::Know(store::NodeRow row) {
  std::vector<store::WriteItem> items(1);
  items.front().changes.emplace_back(row);
  const uint64_t left = parts_.disk->files.FailAfter(UINT64_MAX);
  if (!failure_ || !Write(items)) parts_.disk->nodes.push_back(std::move(row));
  parts_.disk->files.FailAfter(left);
}

void LateWriter::End(size_t also_durable, bool orderly) {
  parts_.loop.Cancel(timer_);
  auto commit = [this] {
    Status status;
    for (const Queued& each : Commit(1, status)) {
      if (status) TellCommitted(each);
    }
  };
  for (; also_durable > 0 && alive_ > 0; --also_durable) commit();
  if (orderly && failure_) return void(parts_.disk->files.FailAfter(UINT64_MAX));
  if (failure_ && alive_ > 0 && prng_.Chance(50)) {
    parts_.disk->files.FailAfter(prng_.Below(20));
    commit();
  }
  parts_.disk->cut_commits += unsure_ > 0 ? 1 : 0;
  parts_.disk->reader.reset();
  const bool sure = parts_.disk->files.Crash();
  const bool loses_commit = parts_.sabotage == Sabotage::kLoseCommit;
  if (loses_commit || parts_.sabotage == Sabotage::kLoseRow) {
    parts_.disk->LoseNewestRow(/*noted=*/loses_commit);
  }
  if (!sure || unsure_ == 0) return;
  ++parts_.disk->kept_commits;
  for (size_t i = 0; i < unsure_; ++i) TellCommitted(failed_[i]);
  failed_.erase(failed_.begin(), failed_.begin() + static_cast<ptrdiff_t>(unsure_));
}

std::vector<engine::Record> LateWriter::Pending() const {
  std::vector<engine::Record> records;
  auto add = [&](const Queued& each) {
    records.insert(records.end(), each.item.records.begin(), each.item.records.end());
  };
  std::ranges::for_each(failed_, add);
  std::ranges::for_each(queue_, add);
  return records;
}

void LateWriter::TellCommitted(const Queued& queued) {
  SimDisk& disk = *parts_.disk;
  for (const store::RowChange& change : queued.item.changes) {
    if (const auto* pools = std::get_if<store::PoolsChanged>(&change)) {
      for (const auto& entry : pools->entries) parts_.sink(PoolCommitted{&entry.record});
    } else if (const auto* cut = std::get_if<store::PoolsCut>(&change)) {
      parts_.sink(PoolsCut{.images = &cut->images, .durable = true});
    } else if (const auto* forget = std::get_if<store::ForgetPiece>(&change)) {
      const JobId job = forget->job;
      if (!*forget->done || store::ReadJobRow(disk.db(), job)) continue;
      std::erase_if(disk.outputs, [job](const auto& each) { return each.first.job == job; });
      parts_.sink(Forgotten{job});
    }
  }
  size_t output = 0;
  for (const engine::Record& record : queued.item.records) {
    Committed fact{&record, nullptr};
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended != nullptr && output < queued.outputs.size()) {
      const TaskOutputPtr& kept = queued.outputs[output++];
      if (kept) disk.outputs[ended->end.ref] = kept;
      fact.output = kept.get();
    }
    parts_.sink(fact);
  }
}

store::RecordVisit ReadAs(Sabotage sabotage, store::RecordVisit visit) {
  if (sabotage != Sabotage::kForgetRecord) return visit;
  return [visit = std::move(visit), count = uint64_t{0}](const engine::Record& record) mutable {
    bool first_kind = std::holds_alternative<engine::JobAccepted>(record);
    if (!first_kind && ++count % 10 == 0) {
      if (std::holds_alternative<engine::JobHeld>(record)) return;
      if (std::holds_alternative<engine::JobReleased>(record)) return;
    }
    visit(record);
  };
}

// ---- The store ---------------------------------------------------------------------------------

SimStore::SimStore(const StoreParts& parts, LateWriter* writer)
    : SqliteStore(parts.disk->place, std::make_shared<store::KeptSum>(),
                  std::unique_ptr<store::ItemWriter<store::WriteItem>>(writer)),
      parts_(parts),
      writer_(*writer) {}

Status SimStore::Begin() {
  for (store::NodeRow& row : std::exchange(parts_.disk->nodes, {})) writer_.Know(std::move(row));
  return LookAtLast();
}

void SimStore::Append(store::Bundle bundle, store::Done done) {
  for (const engine::Record& record : bundle.records) parts_.sink(Decided{&record});
  if (parts_.sabotage == Sabotage::kReleaseEarly) {
    parts_.loop.Post([this, done] {
      if (parts_.faults.Alive()) done({});
    });
    done = [](const Status&) {};
  }
  SqliteStore::Append(std::move(bundle), std::move(done));
}

Status SimStore::Replay(const std::function<void(const engine::Record&)>& visit) {
  return SqliteStore::Replay(ReadAs(parts_.sabotage, visit));
}

Status SimStore::ReplayPools(const std::function<void(const provision::Record&)>& visit) {
  return SqliteStore::ReplayPools([&](const provision::Record& record) {
    bool told = !std::holds_alternative<provision::PoolPaused>(record) &&
                !std::holds_alternative<provision::PoolLearned>(record);
    if (told || parts_.sabotage != Sabotage::kForgetPools) visit(record);
  });
}

void SimStore::AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                                 store::Done done) {
  for (const provision::Record& record : records) parts_.sink(PoolDecided{&record});
  if (parts_.sabotage == Sabotage::kSubmitEarly) {
    parts_.loop.Post([this, done] {
      if (parts_.faults.Alive()) done({});
    });
    done = [](const Status&) {};
  }
  SqliteStore::AppendPoolRecords(std::move(records), now, std::move(done));
}

void SimStore::CutPools(std::vector<provision::Record> images, Instant keep_since,
                        store::Done done) {
  parts_.sink(PoolsCut{.images = &images});
  if (parts_.sabotage == Sabotage::kNeverCut) {
    auto claim = [this, images = std::move(images), done = std::move(done)](const Status& status) {
      if (status) parts_.sink(PoolsCut{.images = &images, .durable = true});
      done(status);
    };
    return SqliteStore::AppendPoolRecords({}, {}, std::move(claim));
  }
  SqliteStore::CutPools(std::move(images), keep_since, std::move(done));
}

}  // namespace spate::sim
