// HeadNews: how often a hub records that the first gang starts later than it was told. While
// something outlives its time, the reservation moves on with the clock, for one reason or for
// several in turn; each such move must not become a record.
//
// News for the reason of the last record is due ever more rarely. News for another reason is due at
// once, up to kAtOnce records; then all news waits for a sixteenth of the time since the first one.
// So a gang has about 200 records in a day, and no news is lost: what is not due is asked for again
// when the gang is looked at again.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace spate::engine {

class HeadNews {
 public:
  static constexpr uint32_t kAtOnce = 16;

  // True if news for this reason is to be recorded now; then it counts as recorded.
  bool IsDue(const std::string& reason, Instant now) {
    const bool is_known = reason == reason_ && since_ != Instant();
    if (is_known && now < again_) return false;
    if (told_ >= kAtOnce && now < any_again_) return false;
    if (told_ == 0) first_ = now;
    if (!is_known) since_ = now;
    again_ = now + (now - since_) / 2;
    any_again_ = now + (now - first_) / 16;
    ++told_;
    return true;
  }

  // A record was made, about this gang or about another one, which is the head now.
  void Recorded(bool of_another, const std::string& reason) {
    if (of_another) *this = HeadNews();
    reason_ = of_another ? "" : reason;  // a first record says why it is the head
  }

 private:
  std::string reason_;  // of the last record
  Instant since_;       // first record for that reason; 0: before a restart
  Instant again_;       // the next one may be then
  uint32_t told_ = 0;   // records, of all reasons
  Instant first_;       // the first of them
  Instant any_again_;   // beyond kAtOnce of them, the next one may be then
};

}  // namespace spate::engine
