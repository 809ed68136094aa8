// Backfill under random gangs, beside a model that does what the definitions say, from scratch in
// each pass; and the promises of backfill.h.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>
#include <vector>

#include "doors/simulate/backfill/backfill.h"

namespace spate::engine::place {
namespace {

constexpr uint32_t kProcessors = 16;

struct Row {
  Moment gap = 0;
  uint32_t processors = 1;
  Moment run = 1;
  Moment estimate = 1;
  uint64_t user = 0;
  bool withdrawn = false;  // when the next one arrives, if it waits then
};

rc::Gen<Row> AnyRow() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(1, int(kProcessors) + 1),
                     rc::gen::inRange(1, 40), rc::gen::inRange(0, 40), rc::gen::inRange(0, 5),
                     rc::gen::inRange(0, 10)),
      [](const std::tuple<int, int, int, int, int, int>& t) {
        const auto& [gap, processors, run, more, user, withdrawn] = t;
        // A third of them is as long as was said.
        return Row{.gap = gap,
                   .processors = static_cast<uint32_t>(processors),
                   .run = run,
                   .estimate = run + (more % 3 == 0 ? 0 : more),
                   .user = static_cast<uint64_t>(user),
                   .withdrawn = withdrawn == 0};
      });
}

// The definitions of all policies but conservative.
class Model {
 public:
  explicit Model(BackfillPolicy policy) : policy_(policy) {}

  void Arrive(Ticket ticket, Gang gang) { waiting_.emplace_back(ticket, gang); }
  void Withdraw(Ticket ticket) {
    std::erase_if(waiting_, [&](const auto& each) { return each.first == ticket; });
    if (head_ == ticket) head_.reset();
  }
  void End(Ticket ticket) { running_.erase(ticket); }

  std::vector<Ticket> Pass(Moment now) {
    std::vector<Ticket> started;
    auto start = [&](const Waiting& which) {
      const auto [ticket, gang] = which;
      running_[ticket] = {gang, now + gang.estimate};
      started.push_back(ticket);
      Withdraw(ticket);
    };
    for (; Choose(); start(*Head())) {
      if (Head()->second.processors > FreeAt(now, now)) break;
    }
    if (policy_ == BackfillPolicy::kFcfs || waiting_.empty()) return started;
    const uint32_t need = Head()->second.processors;
    Moment reserved = now;
    while (FreeAt(reserved, now) < need) ++reserved;
    int64_t extra = FreeAt(reserved, now) - need;
    // Each time the first one in the policy's order of those that may.
    while (true) {
      const Waiting* next = nullptr;
      for (const Waiting& other : waiting_) {
        const auto& [ticket, gang] = other;
        const bool fits = gang.processors <= FreeAt(now, now) &&
                          (now + gang.estimate <= reserved || gang.processors <= extra);
        if (fits && ticket != head_ && (next == nullptr || IsBefore(other, *next))) next = &other;
      }
      if (next == nullptr) return started;
      if (now + next->second.estimate > reserved) extra -= next->second.processors;
      start(*next);
    }
  }

 private:
  using Waiting = std::pair<Ticket, Gang>;

  // The head stays it. False: there is nobody.
  bool Choose() {
    if (head_ || waiting_.empty()) return head_.has_value();
    const bool fair = policy_ == BackfillPolicy::kFair;
    head_ = waiting_.front().first;
    for (const Waiting& other : waiting_) {
      if (fair && IsBefore(other, *Head())) head_ = other.first;
    }
    return true;
  }
  std::vector<Waiting>::const_iterator Head() const {
    return std::find_if(waiting_.begin(), waiting_.end(),
                        [&](const Waiting& each) { return each.first == head_; });
  }
  int64_t UsedBy(uint64_t user) const {
    int64_t used = 0;
    for (const auto& [ticket, held] : running_) {
      if (held.first.user == user) used += held.first.processors;
    }
    return used;
  }
  bool IsBefore(const Waiting& a, const Waiting& b) const {
    auto rank = [&](const Waiting& each) -> int64_t {
      if (policy_ == BackfillPolicy::kFair) return UsedBy(each.second.user);
      return policy_ == BackfillPolicy::kEasySjbf ? each.second.estimate : 0;
    };
    return std::pair(rank(a), a.first) < std::pair(rank(b), b.first);
  }
  // Free processors at `when`, as far as one knows at `now`.
  int64_t FreeAt(Moment when, Moment now) const {
    int64_t free = kProcessors;
    for (const auto& [ticket, held] : running_) {
      if (when == now || held.second > when) free -= held.first.processors;
    }
    return free;
  }

  BackfillPolicy policy_;
  std::vector<Waiting> waiting_;
  std::optional<Ticket> head_;
  std::map<Ticket, std::pair<Gang, Moment>> running_;  // and the expected end
};

// The definition of conservative: each gang that waits, up to a number of them, has a place.
class ConservativeModel {
 public:
  explicit ConservativeModel(size_t reservations) : most_(reservations) {}

  void Arrive(Ticket ticket, Gang gang) { waiting_.push_back({ticket, gang, kNone}); }
  void End(Ticket ticket) {
    running_.erase(ticket);
    changed_ = true;
  }
  void Withdraw(Ticket ticket) {
    auto found = std::find_if(waiting_.begin(), waiting_.end(),
                              [&](const Placed& each) { return each.ticket == ticket; });
    changed_ = changed_ || found == waiting_.begin() || found->start != kNone;
    waiting_.erase(found);
  }

  std::vector<Ticket> Pass(Moment now) {
    started_.clear();
    const bool exceeded = HoldLate(now);
    bool missed = false;
    for (const Placed& place : waiting_)
      missed = missed || (place.start != kNone && place.start < now);
    if (exceeded || missed) {
      std::vector<Placed*> all;
      for (Placed& place : waiting_) {
        if (place.start != kNone) all.push_back(&place);
        place.start = kNone;
      }
      for (Placed* place : all) place->start = FirstFit(*place, now);
    } else if (changed_) {
      for (Placed& place : waiting_) {
        if (place.start != kNone) place.start = FirstFit(place, now);
      }
    }
    StartDue(now);
    while (ReserveOne(now)) StartDue(now);
    changed_ = false;
    return started_;
  }

 private:
  static constexpr Moment kNone = -1;
  struct Placed {
    Ticket ticket = 0;
    Gang gang;
    Moment start = kNone;
  };

  bool HoldLate(Moment now) {
    bool exceeded = false;
    for (auto& [ticket, held] : running_) {
      if (held.second > now) continue;
      held.second = now + 1;
      exceeded = true;
    }
    return exceeded;
  }
  // Beside all others.
  Moment FirstFit(const Placed& own, Moment now) const {
    std::map<Moment, int64_t> steps = {{now, kProcessors}};
    auto take = [&](Moment from, Moment to, int64_t processors) {
      steps[std::max(from, now)] -= processors;
      steps[to] += processors;
    };
    for (const auto& [ticket, held] : running_) take(now, held.second, held.first.processors);
    for (const Placed& other : waiting_) {
      if (&other == &own || other.start == kNone) continue;
      take(other.start, other.start + other.gang.estimate, other.gang.processors);
    }
    int64_t free = 0;
    std::optional<Moment> since;
    for (const auto& [at, step] : steps) {
      if (since && at - *since >= own.gang.estimate) break;
      free += step;
      if (free < own.gang.processors)
        since.reset();
      else if (!since)
        since = at;
    }
    return *since;
  }
  void StartDue(Moment now) {
    for (auto place = waiting_.begin(); place != waiting_.end();) {
      if (place->start != now) {
        ++place;
        continue;
      }
      running_[place->ticket] = {place->gang, now + place->gang.estimate};
      started_.push_back(place->ticket);
      place = waiting_.erase(place);
    }
  }
  bool ReserveOne(Moment now) {
    size_t reserved = 0;
    for (Placed& place : waiting_) {
      if (reserved == most_) return false;
      if (place.start == kNone) {
        place.start = FirstFit(place, now);
        return true;
      }
      ++reserved;
    }
    return false;
  }

  const size_t most_;
  std::vector<Placed> waiting_;
  std::map<Ticket, std::pair<Gang, Moment>> running_;  // and the expected end
  std::vector<Ticket> started_;
  bool changed_ = false;
};

// Plays rows through backfill and model, a pass after each event or after each instant.
class World {
 public:
  World(BackfillPolicy policy, size_t reservations, bool batch, std::vector<Row> rows)
      : policy_(policy),
        batch_(batch),
        rows_(std::move(rows)),
        backfill_({policy, kProcessors, reservations}),
        model_(policy),
        conservative_(reservations) {}

  void Run() {
    while (true) {
      Moment now = std::min(arrival(), ends_.empty() ? INT64_MAX : ends_.begin()->first);
      now = std::min(now, backfill_.NextDue().value_or(INT64_MAX));
      if (now == INT64_MAX) break;
      do ReceiveOne(now);
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

  // Those who end by their estimates must not look as if they outlived them.
  void EndTheExpected(Moment now) {
    for (auto end = ends_.begin(); end != ends_.end() && end->first == now;) {
      const Row& row = rows_[end->second - 1];
      end = row.run == row.estimate ? End(end) : std::next(end);
    }
  }

  std::multimap<Moment, Ticket>::iterator End(std::multimap<Moment, Ticket>::iterator end) {
    const auto [now, ticket] = *end;
    used_ -= rows_[ticket - 1].processors;
    backfill_.End(ticket, now);
    model_.End(ticket);
    if (policy_ == BackfillPolicy::kConservative) conservative_.End(ticket);
    return ends_.erase(end);
  }

  void ReceiveOne(Moment now) {
    EndTheExpected(now);
    if (EndsAt(now)) {
      End(ends_.begin());
    } else if (arrival() == now) {
      last_arrival_ = now;
      WithdrawLast(now);
      const Row& row = rows_[next_++];
      const Gang gang{row.processors, row.estimate, row.user};
      Ticket ticket = backfill_.Arrive(gang);
      RC_ASSERT(ticket == next_);
      waits_.push_back(ticket);
      model_.Arrive(ticket, gang);
      conservative_.Arrive(ticket, gang);
    }
  }

  void WithdrawLast(Moment now) {
    if (next_ == 0 || !rows_[next_ - 1].withdrawn || std::erase(waits_, next_) == 0) return;
    backfill_.Withdraw(next_, now);
    model_.Withdraw(next_);
    if (policy_ == BackfillPolicy::kConservative) conservative_.Withdraw(next_);
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
    const bool all = policy_ == BackfillPolicy::kConservative;
    RC_ASSERT(started == (all ? conservative_.Pass(now) : model_.Pass(now)));
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
  ConservativeModel conservative_;
  size_t next_ = 0;
  Moment last_arrival_ = 0;
  uint32_t used_ = 0;
  std::vector<Ticket> waits_;  // in order
  std::multimap<Moment, Ticket> ends_;
  std::map<Ticket, Moment> promised_;
};

class RandomGangs : public testing::TestWithParam<std::tuple<uint64_t, BackfillPolicy>> {};

TEST_P(RandomGangs, FollowTheDefinitionsAndKeepThePromises) {
  const auto [seed, policy] = GetParam();
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = 60;
  params.maxSize = 120;
  auto result = rc::detail::checkTestable(
      [&policies = policy] {
        auto rows = *rc::gen::container<std::vector<Row>>(AnyRow());
        const bool batch = *rc::gen::arbitrary<bool>();
        const size_t reservations = *rc::gen::element<size_t>(1, 3, 1'000);
        World(policies, reservations, batch, rows).Run();
      },
      rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>())
      << "seed " << seed << ", policy " << static_cast<int>(policy) << ": " << text.str();
}

INSTANTIATE_TEST_SUITE_P(
    Seeds, RandomGangs,
    testing::Combine(testing::Range<uint64_t>(1, 11),
                     testing::Values(BackfillPolicy::kFcfs, BackfillPolicy::kEasy,
                                     BackfillPolicy::kEasySjbf, BackfillPolicy::kConservative,
                                     BackfillPolicy::kFair)));

}  // namespace
}  // namespace spate::engine::place
