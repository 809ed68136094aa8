// PastUse: use of processors over time, where what was long ago counts less: after each half-life
// half as much.
//
// The share of everybody falls in the same way as time goes on, so their order does not change by
// it, and nobody needs to be looked at: what counts is written down as it would be at a fixed
// moment, the epoch (Inflation), and only who uses something grows.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/time.h"

namespace spate::engine::place {

class PastUse {
 public:
  // In millionths of processors, times seconds, at `at`.
  double amount() const { return amount_; }
  Instant at() const { return at_; }
  double AmountAt(Instant when, Duration half_life) const {
    return amount_ * LeftOf(when, half_life);
  }
  void Set(double amount, Instant at) {
    amount_ = amount;
    at_ = at;
  }
  // Since the last time so much was used, in millionths of processors.
  void Count(Instant now, double rate, Duration half_life) {
    if (now <= at_) return;
    if (at_ == Instant()) return Set(amount_, now);  // nothing is known of before
    const double left = LeftOf(now, half_life);
    amount_ = amount_ * left + rate * (1 - left) * half_life.seconds() / std::log(2.0);
    at_ = now;
  }
  void Move(const PastUse& part, double sign, Duration half_life) {
    if (at_ == Instant()) at_ = part.at_;
    amount_ = std::max(0.0, amount_ + sign * part.AmountAt(at_, half_life));
  }

 private:
  double LeftOf(Instant when, Duration half_life) const {
    if (half_life.ns <= 0) return 0;
    return std::exp2(-(when - at_).seconds() / half_life.seconds());
  }

  double amount_ = 0;
  Instant at_;
};

}  // namespace spate::engine::place
