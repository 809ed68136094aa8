// Maker: messages of clients and nodes at random, by the lists of their fields. Most are sound; in
// them are values that are worth a try, and a few are broken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "core/model/job.h"
#include "wire/client_forms.h"
#include "wire/frame.h"

namespace spate::insider {

// What becomes of the connection.
enum class Fate : uint8_t {
  kStays,
  kRefused,  // the hub ends it
  kLeft,     // the sender does
};

struct Message {
  wire::FrameType type = wire::FrameType::kToHub;
  std::string bytes;
  Fate fate = Fate::kStays;
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  Prng& random() { return random_; }
  uint64_t Small(uint64_t bound = 8) { return random_.Below(bound); }

  // About `count`, fewer when one of them ends the connection: that is the last.
  std::vector<Message> OfNode(size_t count);
  std::vector<Message> OfClient(size_t count);
  std::string Hello();

  // What the hub said: this attempt is somebody's; so many jobs there are.
  void Leased(const AttemptRef& ref);
  void Accepted(JobId job);

 private:
  using Texts = std::vector<std::string>;

  // By the lists alone.
  uint64_t Number();
  std::string Text();
  class Filler;
  template <typename T>
  T Some(T value, unsigned percent);
  template <typename T>
  std::string KindOf();
  template <typename... T>
  std::string AnyOf(const std::variant<T...>* kinds);

  // What has rules beyond them.
  Texts Names();
  AttemptRef Ref();
  uint32_t Job();
  std::vector<TaskRange> Ranges();
  Needs MakeNeeds();
  wire::OfferForm MakeOffer();
  void Make(wire::HelloForm& hello);
  void Make(wire::EndsForm& ends);
  void Make(wire::Returned& returned);
  void Make(wire::NodeStateForm& state);
  void Make(wire::WantPiece& want);
  void Make(wire::Live& live);
  void Make(wire::Running& running);
  void Make(wire::QueryForm& query) { query = MakeQuery(); }
  JobSettings MakeSettings();
  std::string MakePiece();
  void AddOutput(std::vector<Message>& to);
  void AddSubmission(std::vector<Message>& to);
  wire::Submit SubmitOf(uint32_t pieces);
  wire::SubmitEndForm EndOf(uint32_t count);
  template <typename Question>
  wire::QueryForm QueryOf(Question question);
  wire::QueryForm MakeQuery();
  wire::QueryForm Sweep();

  std::vector<Message> Until(std::vector<Message> planned,
                             const std::function<Fate(const Message&)>& fate);
  Message Spoilt(Message message);
  std::string Broken(std::string bytes);

  Prng random_;
  std::vector<AttemptRef> refs_;  // the newest, in a ring
  size_t next_ref_ = 0;
  uint32_t newest_ = 0;     // job
  uint32_t swept_ = 0;      // the newest then
  uint32_t cancelled_ = 0;  // up to this one
  uint32_t sweeps_ = 0;
};

}  // namespace spate::insider
