#include "hub/door/refusal_log.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::hub {
namespace {

constexpr Duration kEvery = Duration::Seconds(600);
constexpr size_t kMost = 100;  // lines in that time

// Without the port, which is another one each time.
std::string WhoIs(const std::string& peer, const std::string& user) {
  return user.empty() ? peer.substr(0, peer.rfind(':')) : "user " + user;
}

}  // namespace

void RefusalLog::Add(Instant now, const std::string& peer, const std::string& user,
                     const std::string& reason, const std::function<void(std::string)>& log) {
  if (begun_ == Instant() || now - begun_ >= kEvery) Begin(now, log);
  std::pair key(WhoIs(peer, user), reason);
  auto at = told_.find(key);
  if (at != told_.end()) {
    ++at->second;
  } else if (told_.size() == kMost) {
    ++more_;
  } else {
    log(fmt::format("refused {}: {}", key.first, reason));
    told_.emplace(std::move(key), 1);
  }
}

// The refusals of the last ten minutes that were not told.
void RefusalLog::Begin(Instant now, const std::function<void(std::string)>& log) {
  for (const auto& [key, times] : told_) {
    if (times == 1) continue;
    log(fmt::format("refused {}, {} times: {}", key.first, FormatCount(times), key.second));
  }
  if (more_ > 0) log(fmt::format("refused others, {} times", FormatCount(more_)));
  told_.clear();
  more_ = 0;
  begun_ = now;
}

}  // namespace spate::hub
