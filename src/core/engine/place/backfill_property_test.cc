// Backfill under random gangs, beside a model that does what the definitions say, from scratch in
// each pass; and the promises of backfill.h.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

#include "core/engine/place/backfill.h"

namespace spate::engine::place {
namespace {

constexpr uint32_t kProcessors = 16;

struct Row {
  Moment gap = 0;
  uint32_t processors = 1;
  Moment run = 1;
  Moment estimate = 1;
  bool withdrawn = false;  // when the next one arrives, if it waits then
};

rc::Gen<Row> AnyRow() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(1, int(kProcessors) + 1),
                     rc::gen::inRange(1, 40), rc::gen::inRange(0, 40), rc::gen::inRange(0, 10)),
      [](const std::tuple<int, int, int, int, int>& t) {
        const auto& [gap, processors, run, more, withdrawn] = t;
        // A third of them is as long as was said.
        return Row{gap, static_cast<uint32_t>(processors), run, run + (more % 3 == 0 ? 0 : more),
                   withdrawn == 0};
      });
}

// The definitions of the first three policies.
class Model {
 public:
  explicit Model(BackfillPolicy policy) : policy_(policy) {}

  void Arrive(Ticket ticket, Gang gang) { waiting_.emplace_back(ticket, gang); }
  void Withdraw(Ticket ticket) {
    std::erase_if(waiting_, [&](const auto& each) { return each.first == ticket; });
  }
  void End(Ticket ticket) { running_.erase(ticket); }

  std::vector<Ticket> Pass(Moment now) {
    std::vector<Ticket> started;
    auto start = [&](Ticket ticket, Gang gang) {
      running_[ticket] = {gang.processors, now + gang.estimate};
      started.push_back(ticket);
    };
    while (!waiting_.empty() && waiting_.front().second.processors <= FreeAt(now, now)) {
      start(waiting_.front().first, waiting_.front().second);
      waiting_.erase(waiting_.begin());
    }
    if (policy_ == BackfillPolicy::kFcfs || waiting_.empty()) return started;
    const uint32_t need = waiting_.front().second.processors;
    Moment reserved = now;
    while (FreeAt(reserved, now) < need) ++reserved;
    int64_t extra = FreeAt(reserved, now) - need;
    auto others = std::vector(waiting_.begin() + 1, waiting_.end());
    if (policy_ == BackfillPolicy::kEasySjbf) {
      std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) {
        return a.second.estimate < b.second.estimate;
      });
    }
    for (const auto& [ticket, gang] : others) {
      if (gang.processors > FreeAt(now, now)) continue;
      const bool in_time = now + gang.estimate <= reserved;
      if (!in_time && gang.processors > extra) continue;
      if (!in_time) extra -= gang.processors;
      start(ticket, gang);
      Withdraw(ticket);
    }
    return started;
  }

 private:
  // As far as one knows at `now`.
  int64_t FreeAt(Moment when, Moment now) const {
    int64_t free = kProcessors;
    for (const auto& [ticket, held] : running_) {
      if (when == now || held.second > when) free -= held.first;
    }
    return free;
  }

  BackfillPolicy policy_;
  std::vector<std::pair<Ticket, Gang>> waiting_;
  std::map<Ticket, std::pair<uint32_t, Moment>> running_;  // processors, expected end
};

// Plays rows through backfill and model, a pass after each event or after each instant.
class World {
 public:
  World(BackfillPolicy policy, size_t reservations, bool batch, std::vector<Row> rows)
      : policy_(policy),
        // Those who end by their estimates must not look as if they outlived them.
        batch_(batch || policy == BackfillPolicy::kConservative),
        rows_(std::move(rows)),
        backfill_({policy, kProcessors, reservations}),
        model_(policy) {}

  void Run() {
    while (true) {
      Moment now = std::min(arrival(), ends_.empty() ? INT64_MAX : ends_.begin()->first);
      now = std::min(now, backfill_.NextDue().value_or(INT64_MAX));
      if (now == INT64_MAX) break;
      do TakeOne(now);
      while (batch_ && (arrival() == now || EndsAt(now)));
      Pass(now);
    }
    RC_ASSERT(backfill_.waiting() == 0u);
    RC_ASSERT(backfill_.free() == kProcessors);
  }

 private:
  Moment arrival() const {
    return next_ < rows_.size() ? last_arrival_ + rows_[next_].gap : INT64_MAX;
  }
  bool EndsAt(Moment now) const { return !ends_.empty() && ends_.begin()->first == now; }

  void TakeOne(Moment now) {
    if (EndsAt(now)) {
      Ticket ticket = ends_.begin()->second;
      ends_.erase(ends_.begin());
      used_ -= rows_[ticket - 1].processors;
      backfill_.End(ticket, now);
      model_.End(ticket);
    } else if (arrival() == now) {
      last_arrival_ = now;
      WithdrawLast(now);
      const Row& row = rows_[next_++];
      const Gang gang{row.processors, row.estimate};
      Ticket ticket = backfill_.Arrive(gang);
      RC_ASSERT(ticket == next_);
      waits_.push_back(ticket);
      model_.Arrive(ticket, gang);
    }
  }

  void WithdrawLast(Moment now) {
    if (next_ == 0 || !rows_[next_ - 1].withdrawn || std::erase(waits_, next_) == 0) return;
    backfill_.Withdraw(next_, now);
    model_.Withdraw(next_);
  }

  void Pass(Moment now) {
    std::vector<Ticket> started;
    for (const Start& start : backfill_.Pass(now)) {
      const Row& row = rows_[start.ticket - 1];
      started.push_back(start.ticket);
      RC_ASSERT((used_ += row.processors) <= kProcessors);
      RC_ASSERT(std::erase(waits_, start.ticket) == 1u);
      RC_ASSERT(start.overtakes == (!waits_.empty() && waits_.front() < start.ticket));
      ends_.emplace(now + row.run, start.ticket);
      auto promised = promised_.find(start.ticket);
      // In brackets of its own, as the macro looks at both sides of a ||.
      RC_ASSERT((promised == promised_.end() || now <= promised->second));
    }
    if (policy_ != BackfillPolicy::kConservative) RC_ASSERT(started == model_.Pass(now));
    if (policy_ == BackfillPolicy::kFcfs) RC_ASSERT(std::is_sorted(started.begin(), started.end()));
    NotePromises(now);
  }

  // The first ones.
  void NotePromises(Moment now) {
    for (Ticket ticket : waits_) {
      if (auto start = backfill_.PromisedTo(ticket)) {
        RC_ASSERT(*start > now);
        promised_.emplace(ticket, *start);
      }
    }
  }

  const BackfillPolicy policy_;
  const bool batch_;
  const std::vector<Row> rows_;
  Backfill backfill_;
  Model model_;
  size_t next_ = 0;
  Moment last_arrival_ = 0;
  uint32_t used_ = 0;
  std::vector<Ticket> waits_;  // in order
  std::multimap<Moment, Ticket> ends_;
  std::map<Ticket, Moment> promised_;
};

class RandomGangs : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomGangs, FollowTheDefinitionsAndKeepThePromises) {
  rc::detail::TestParams params;
  params.seed = GetParam();
  params.maxSuccess = 60;
  params.maxSize = 120;
  auto result = rc::detail::checkTestable(
      [] {
        auto rows = *rc::gen::container<std::vector<Row>>(AnyRow());
        const bool batch = *rc::gen::arbitrary<bool>();
        const size_t reservations = *rc::gen::element<size_t>(1, 3, 1'000);
        for (auto policy : {BackfillPolicy::kFcfs, BackfillPolicy::kEasy, BackfillPolicy::kEasySjbf,
                            BackfillPolicy::kConservative}) {
          World(policy, reservations, batch, rows).Run();
        }
      },
      rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << "seed " << GetParam() << ": " << text.str();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGangs, testing::Range<uint64_t>(1, 11));

}  // namespace
}  // namespace spate::engine::place
