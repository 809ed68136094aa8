#include "sim/deaf_client.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "wire/client_codec.h"

namespace spate::sim {
namespace {

constexpr Duration kBetween = Duration::Millis(3);
constexpr Duration kStays = Duration::Seconds(60);

class DeafPort final : public hub::ClientPort {
 public:
  DeafPort(os::Loop& loop, Faults& faults, int questions)
      : loop_(loop), faults_(faults), left_(questions) {}
  ~DeafPort() override { *alive_ = false; }

  void Start(Events events) override {
    events_ = std::move(events);
    After(kBetween, [this] { AskNext(); });
    After(kStays, [this] {
      auto closed = events_.closed;
      closed();
    });
  }
  // An answer and its end, as one thing.
  bool Send(uint32_t id, std::string_view) override {
    if (heard_ == 0) heard_ = id;
    CHECK(id == heard_);
    return false;
  }
  void PauseReading(bool paused) override { paused_ = paused; }
  void Refuse(const wire::Refusal&) override {}
  void Close() override {}

 private:
  void AskNext() {
    if (left_-- == 0) return;
    if (!paused_) {
      std::string bytes;
      wire::Append(bytes, wire::Request(wire::Query{wire::LookAtAll{.most = 1'000}}));
      auto take = events_.request;
      take(++last_, bytes);
    }
    After(kBetween, [this] { AskNext(); });
  }
  template <typename Fn>
  void After(Duration wait, Fn fn) {
    loop_.At(loop_.Now() + wait, [this, alive = alive_, fn = std::move(fn)] {
      if (*alive && faults_.Alive()) fn();
    });
  }

  os::Loop& loop_;
  Faults& faults_;
  Events events_;
  int left_;
  uint32_t last_ = 0;
  uint32_t heard_ = 0;  // the question that was answered
  bool paused_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<hub::ClientPort> MakeDeafClient(os::Loop& loop, Faults& faults, int questions) {
  return std::make_unique<DeafPort>(loop, faults, questions);
}

}  // namespace spate::sim
