// Maker: messages of clients and nodes at random, by the grammar of src/wire/*.proto. Most are
// sound; in them are values that are worth a try, and a few are broken.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "core/model/job.h"
#include "wire/frame.h"
#include "wire/spate.pb.h"

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
  explicit Maker(uint64_t seed);

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
  using Descriptor = google::protobuf::Descriptor;
  using Field = google::protobuf::FieldDescriptor;
  using Texts = std::vector<std::string>;

  // By the grammar alone.
  uint64_t Number();
  std::string Text();
  std::string Any(const Descriptor& message, unsigned percent);
  std::string Any(const char* name, unsigned percent);
  std::string Make(const Descriptor& message);
  std::string KindOf(const char* outer, const std::vector<std::string_view>& but);
  void AppendField(std::string& out, const Field& field);
  void AppendValue(std::string& out, const Field& field);

  // What has rules beyond the grammar.
  Texts Names();
  AttemptRef Ref();
  uint32_t Job();
  void AddPairs(google::protobuf::RepeatedField<uint32_t>& to);
  wire::pb::AttemptRef RefMessage();
  std::string MakeTexts();
  std::string MakeNeeds();
  std::string MakeOffer();
  std::string MakeHello();
  std::string MakeEnds();
  std::string MakeReturned();
  std::string MakeAttemptRef();
  std::string MakeNodeState();
  JobSettings MakeSettings();
  std::string MakePiece();
  std::string MakeWantPiece();
  std::string MakeLive();
  std::string MakeRunning();
  void AddOutput(std::vector<Message>& to);
  void AddSubmission(std::vector<Message>& to);
  std::string SubmitOf(uint32_t pieces);
  std::string EndOf(uint32_t count);
  class Filler;
  template <typename T>
  T Some(T value, unsigned percent);
  template <typename Question>
  std::string QueryOf(Question question);
  std::string MakeQuery();
  std::string Sweep();

  std::vector<Message> Until(std::vector<Message> planned,
                             const std::function<Fate(const Message&)>& fate);
  Message Spoilt(Message message);
  std::string Broken(std::string bytes);

  Prng random_;
  google::protobuf::DescriptorPool pool_;
  std::map<std::string, const Descriptor*, std::less<>> grammar_;
  std::map<std::string, std::string (Maker::*)(), std::less<>> special_;
  std::vector<AttemptRef> refs_;  // the newest, in a ring
  size_t next_ref_ = 0;
  uint32_t newest_ = 0;     // job
  uint32_t swept_ = 0;      // the newest then
  uint32_t cancelled_ = 0;  // up to this one
  uint32_t sweeps_ = 0;
};

}  // namespace spate::insider
