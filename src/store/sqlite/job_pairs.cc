#include "store/sqlite/job_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/record.h"
#include "store/record_codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr size_t kKinds = std::tuple_size_v<decltype(Pairs::beside)>;
static_assert(kKinds == kCountOf<BoundBy>);

// A row of a journal may say anything.
int64_t Bounded(int64_t micros, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 60;
  return std::clamp(micros, least, kMost);
}
constexpr int64_t kEarliest = -(int64_t{1} << 60);

// Times that belong together, as pieces that do not touch. Microseconds, as the journal has them.
class Spans {
 public:
  // Cheap where they come about in the order of their ends, as ends are written.
  void Add(int64_t from, int64_t to);
  // After all were added.
  void Sum();
  int64_t Within(int64_t from, int64_t to) const { return Until(to) - Until(from); }

 private:
  struct Span {
    int64_t from = 0;
    int64_t to = 0;
    int64_t before = 0;  // the length of those before it
  };
  int64_t Until(int64_t when) const;

  std::vector<Span> spans_;  // ascending
};

void Spans::Add(int64_t from, int64_t to) {
  auto first = std::ranges::lower_bound(spans_, from, {}, &Span::to);
  auto last = first;
  for (; last != spans_.end() && last->from <= to; ++last) {
    from = std::min(from, last->from);
    to = std::max(to, last->to);
  }
  if (first == last) {
    spans_.insert(first, {from, to});
  } else {
    *first = {from, to};
    spans_.erase(first + 1, last);
  }
}

void Spans::Sum() {
  int64_t before = 0;
  for (Span& span : spans_) {
    span.before = before;
    before += span.to - span.from;
  }
}

int64_t Spans::Until(int64_t when) const {
  auto behind = std::ranges::upper_bound(spans_, when, {}, &Span::from);
  if (behind == spans_.begin()) return 0;
  const Span& span = *std::prev(behind);
  return span.before + std::min(when, span.to) - span.from;
}

struct OtherJobs {
  std::array<Spans, kKinds> of_kind;
  Spans all;
};

class PairReader {
 public:
  PairReader(Database& db, const JournalPart& part) : db_(db), part_(part) {}
  Status Read();
  Pairs Compare();

 private:
  struct Own {
    uint32_t index = 0;
    uint16_t attempt = 0;
    bool succeeded = false;
    uint32_t node = 0;
    int64_t start = 0;
    int64_t wall = 0;
  };
  // By how much of it others were there, in each way of counting.
  using Shares = std::array<double, kKinds + 1>;

  Status ReadOwn();
  Status ReadOthers();
  Result<BoundBy> KindOf(uint32_t job);
  void Raise(const Own& own, Shares& shares) const;

  Database& db_;
  const JournalPart& part_;
  Statement kind_;
  std::vector<Own> own_;
  int64_t begin_ = INT64_MAX, end_ = INT64_MIN;
  std::map<uint32_t, OtherJobs> nodes_;  // where the job was
  std::map<uint32_t, BoundBy> kinds_;    // of jobs that were there, too
};

Status PairReader::ReadOwn() {
  auto s = TRY(db_.Prepare(fmt::format(
      "SELECT idx, attempt, verdict, node, start_us, wall_us FROM attempt WHERE seq BETWEEN ? AND "
      "? "
      "AND job = ? AND start_us IS NOT NULL AND verdict IN ({}, {})",
      static_cast<int>(engine::Verdict::kSucceeded), static_cast<int>(engine::Verdict::kPart))));
  BindPart(s, part_);
  for (;;) {
    auto more = TRY(s.Step());
    if (!more) return {};
    const Own own{
        .index = static_cast<uint32_t>(s.Int(0)),
        .attempt = static_cast<uint16_t>(s.Int(1)),
        .succeeded = s.Int(2) == static_cast<int64_t>(engine::Verdict::kSucceeded),
        .node = static_cast<uint32_t>(s.Int(3)),
        .start = Bounded(s.Int(4), kEarliest),
        .wall = Bounded(s.Int(5), 0),
    };
    own_.push_back(own);
    nodes_.try_emplace(own.node);
    begin_ = std::min(begin_, own.start);
    end_ = std::max(end_, own.start + own.wall);
  }
}

// Attempts of other jobs at the same time; all of them ended after the job was submitted.
Status PairReader::ReadOthers() {
  auto s = TRY(
      db_.Prepare("SELECT job, node, start_us, wall_us FROM attempt WHERE seq > ? AND job <> ? AND "
                  "start_us < ? AND start_us + wall_us > ? ORDER BY seq"));
  s.Bind(0, static_cast<int64_t>(part_.first));
  s.Bind(1, part_.job.value);
  s.Bind(2, end_);
  s.Bind(3, begin_);
  for (;;) {
    auto more = TRY(s.Step());
    if (!more) return {};
    auto node = nodes_.find(static_cast<uint32_t>(s.Int(1)));
    if (node == nodes_.end()) continue;
    auto kind = TRY(KindOf(static_cast<uint32_t>(s.Int(0))));
    const int64_t from = Bounded(s.Int(2), kEarliest);
    const int64_t to = from + Bounded(s.Int(3), 0);
    node->second.of_kind[static_cast<size_t>(kind)].Add(from, to);
    node->second.all.Add(from, to);
  }
}

// The kind of its first tasks: what a job was accepted with is its first record.
Result<BoundBy> PairReader::KindOf(uint32_t job) {
  auto [known, is_new] = kinds_.try_emplace(job, BoundBy::kUnknown);
  if (!is_new) return known->second;
  kind_.Reset();
  kind_.Bind(0, job);
  auto found = TRY(kind_.Step());
  if (!found) return BoundBy::kUnknown;
  auto plan = TRY(DecodePlan(static_cast<int>(kind_.Int(0)), kind_.Bytes(1)));
  if (plan && !plan->requests.empty()) known->second = plan->requests.front().bound;
  return known->second;
}

Status PairReader::Read() {
  auto kind = TRY(db_.Prepare(
      "SELECT log.kind, log.data FROM job JOIN log ON log.seq = job.first_seq WHERE job.id = ?"));
  kind_ = std::move(kind);
  if (auto read = ReadOwn(); !read || own_.empty()) return read;
  TRY(ReadOthers());
  for (auto& [node, others] : nodes_) {
    for (Spans& spans : others.of_kind) spans.Sum();
    others.all.Sum();
  }
  return {};
}

void PairReader::Raise(const Own& own, Shares& shares) const {
  const OtherJobs& others = nodes_.at(own.node);
  const int64_t to = own.start + own.wall;
  auto share = [&](const Spans& spans) {
    return own.wall <= 0
               ? 0
               : static_cast<double>(spans.Within(own.start, to)) / static_cast<double>(own.wall);
  };
  for (size_t kind = 0; kind < kKinds; ++kind) {
    shares[kind] = std::max(shares[kind], share(others.of_kind[kind]));
  }
  shares[kKinds] = std::max(shares[kKinds], share(others.all));
}

PairTimes TimesOf(std::vector<int64_t>& walls) {
  if (walls.empty()) return {};
  auto middle = walls.begin() + static_cast<std::ptrdiff_t>(walls.size() / 2);
  std::ranges::nth_element(walls, middle);
  return {walls.size(), Duration::Micros(*middle)};
}

Pairs PairReader::Compare() {
  constexpr double kAlone = 0.1;
  constexpr double kBeside = 0.5;
  std::ranges::sort(own_, {}, [](const Own& own) { return std::pair(own.index, own.attempt); });
  std::array<std::vector<int64_t>, kKinds + 1> walls;
  for (size_t first = 0, next = 0; first < own_.size(); first = next) {
    const Own& task = own_[first];
    Shares shares{};
    int64_t wall = 0;
    bool succeeded = false;
    for (;
         next < own_.size() && own_[next].index == task.index && own_[next].attempt == task.attempt;
         ++next) {
      Raise(own_[next], shares);
      wall = std::max(wall, own_[next].wall);
      succeeded |= own_[next].succeeded;
    }
    if (!succeeded) continue;
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (shares[kind] >= kBeside) walls[kind].push_back(wall);
    }
    if (shares[kKinds] < kAlone) walls[kKinds].push_back(wall);
  }
  Pairs pairs;
  for (size_t kind = 0; kind < kKinds; ++kind) pairs.beside[kind] = TimesOf(walls[kind]);
  pairs.alone = TimesOf(walls[kKinds]);
  return pairs;
}

}  // namespace

Result<Pairs> ReadPairs(const JournalPlace& place, const JournalPart& part) {
  auto db = TRY(OpenJournalToRead(place.DbPath(), IsFrozen(place)));
  PairReader reader(db, part);
  TRY(reader.Read());
  return reader.Compare();
}

}  // namespace spate::store
