#include "link/reconnector.h"

#include <algorithm>
#include <utility>

namespace spate::link {

ReconnectorOptions ClientOptions(Self self, std::function<Result<Target>()> target) {
  return {.self = std::move(self), .target = std::move(target)};
}

ReconnectorOptions NodeOptions(Self self, std::function<Result<Target>()> target) {
  return {.self = std::move(self),
          .target = std::move(target),
          .most = Duration::Seconds(30),
          .stubborn = true};
}

Reconnector::Reconnector(os::RealLoop& loop, ReconnectorOptions options, Prng prng, Events events)
    : loop_(loop),
      options_(std::move(options)),
      prng_(prng),
      events_(std::make_shared<const Events>(std::move(events))),
      most_(options_.most),
      connect_(options_.caller.connect),
      pause_(options_.first) {}

Reconnector::~Reconnector() { loop_.Cancel(timer_); }

void Reconnector::Call() {
  if (connected_ == Instant{}) return TryAfter({});
  // One that lasted forgives the failures before it.
  if (loop_.Now() - connected_ >= options_.most) pause_ = options_.first;
  pause_ = std::min(pause_, options_.most);
  TryAfter(std::exchange(pause_, std::min(pause_ * 2, options_.most)));
}

// Between half of it and all, by chance: those who were cut off together do not return so.
void Reconnector::TryAfter(Duration pause) {
  auto half = static_cast<uint64_t>(pause.ns / 2);
  pause.ns -= static_cast<int64_t>(prng_.Below(half + 1));
  loop_.Cancel(timer_);
  timer_ = loop_.At(loop_.Now() + pause, [this] { Try(); });
}

void Reconnector::Try() {
  auto target = options_.target();
  if (!target) return Done(std::unexpected(Connector::Failure{target.error(), true}));
  caller_ = std::make_unique<Connector>(
      loop_, std::move(*target), options_.self,
      [this](auto result) {
        caller_.reset();
        Done(std::move(result));
      },
      options_.caller);
}

void Reconnector::Done(std::expected<Connector::Met, Connector::Failure> result) {
  std::shared_ptr<const Events> events = events_;  // they may destroy the reconnector
  if (result) {
    connected_ = loop_.Now();
    refused_.clear();
    const auto lost_after = Duration::Millis(static_cast<int64_t>(result->welcome.lost_after_ms));
    if (lost_after > Duration()) {
      // A call may hang in a network that is gone, and a cut may be nearly as long as the hub
      // waits.
      options_.most = std::min(most_, lost_after / 20);
      options_.caller.connect = std::min(connect_, std::max(options_.most, Duration::Seconds(1)));
    }
    return events->connected(std::move(*result));
  }
  const Connector::Failure& failure = result.error();
  if (!failure.lasting) {
    Duration pause = std::exchange(pause_, std::min(pause_ * 2, options_.most));
    TryAfter(pause);
    return events->trying(failure.error, pause);
  }
  if (options_.stubborn) TryAfter(options_.most);
  if (std::exchange(refused_, failure.error.message) == failure.error.message) return;
  events->refused(failure);
}

}  // namespace spate::link
