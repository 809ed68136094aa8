// The first messages of a connection, and the sign of life (codec.h).
#include <wire/spate.pb.h>

#include <utility>

#include "wire/codec.h"
#include "wire/field_bytes.h"
#include "wire/fields.h"

namespace spate::wire {
namespace {

// A peer that names none is of a version that had none.
std::vector<std::string> TakeFeatures(FieldReader& in, const pb::Texts& from) {
  return in.Texts("feature", from, kWireLimits.name_bytes, kWireLimits.features);
}

}  // namespace

void Append(std::string& out, const Greeting& message) {
  pb::Greeting to;
  to.set_product(message.product);
  to.set_protocol(message.protocol);
  to.set_oldest_protocol(message.oldest_protocol);
  to.set_role(static_cast<uint32_t>(message.role));
  to.set_serial(message.serial);
  to.set_nonce(message.nonce);
  to.set_proof(message.proof);
  to.set_node_name(message.node_name);
  to.set_instance(message.instance);
  PutTexts(*to.mutable_feature(), message.features);
  AppendPb(out, to);
}

void Append(std::string& out, const Welcome& message) {
  pb::Welcome to;
  to.set_product(message.product);
  to.set_protocol(message.protocol);
  to.set_epoch(message.epoch.value);
  to.set_node(message.node.value);
  to.set_silence_ms(static_cast<uint32_t>(message.silence.ns / Duration::Millis(1).ns));
  PutTexts(*to.mutable_feature(), message.features);
  to.set_listens_at(message.listens_at);
  to.set_lost_after_ms(static_cast<uint64_t>(message.lost_after.ns / Duration::Millis(1).ns));
  AppendPb(out, to);
}

void Append(std::string& out, const Refusal& message) {
  pb::Refusal to;
  to.set_code(static_cast<uint32_t>(message.code));
  to.set_reason(Note(message.reason));
  if (!message.remedy.empty()) AppendBytes(*to.mutable_remedy(), message.remedy);
  AppendPb(out, to);
}

void Append(std::string& out, const Heartbeat&) { AppendPb(out, pb::Heartbeat()); }

Result<Greeting> DecodeGreeting(std::string_view bytes) {
  return DecodePb<Greeting, pb::Greeting>("greeting", bytes, [](FieldReader& in, const auto& from) {
    constexpr auto kMost = std::numeric_limits<uint32_t>::max();
    Greeting greeting;
    greeting.product = in.Text("product", from.product(), kWireLimits.name_bytes);
    greeting.protocol = in.Number<uint32_t>("protocol", from.protocol(), 1, kMost);
    greeting.oldest_protocol =
        in.Number<uint32_t>("oldest_protocol", from.oldest_protocol(), 1, greeting.protocol);
    greeting.role = in.Number<Role>("role", from.role(), static_cast<uint32_t>(Role::kNode),
                                    static_cast<uint32_t>(Role::kAdmin));
    greeting.serial = from.serial();
    bool proves = greeting.serial != 0;
    greeting.nonce = in.Text("nonce", from.nonce(), kWireLimits.secret_bytes, proves);
    greeting.proof = in.Text("proof", from.proof(), kWireLimits.secret_bytes, proves);
    bool is_node = greeting.role == Role::kNode;
    greeting.node_name = in.Text("node_name", from.node_name(), kWireLimits.name_bytes, is_node);
    greeting.instance = in.Text("instance", from.instance(), kInstanceBytes, is_node);
    greeting.features = TakeFeatures(in, from.feature());
    if (is_node && greeting.instance.size() < kInstanceBytes) in.Defect("instance", "is too short");
    return greeting;
  });
}

Result<Welcome> DecodeWelcome(std::string_view bytes) {
  return DecodePb<Welcome, pb::Welcome>("welcome", bytes, [](FieldReader& in, const auto& from) {
    Welcome welcome;
    welcome.product = in.Text("product", from.product(), kWireLimits.name_bytes);
    welcome.protocol = in.Number<uint32_t>("protocol", from.protocol(), kOldestProtocol, kProtocol);
    welcome.epoch = in.Id<Epoch>("epoch", from.epoch());
    welcome.node = NodeId(from.node());
    welcome.silence = Duration::Millis(from.silence_ms());
    welcome.features = TakeFeatures(in, from.feature());
    welcome.listens_at = in.Text("listens_at", from.listens_at(), kWireLimits.name_bytes);
    constexpr auto kLongest = static_cast<uint64_t>(kWireLimits.longest.ns / 1'000'000);
    welcome.lost_after =
        Duration::Millis(in.Number<int64_t>("lost_after", from.lost_after_ms(), 0, kLongest));
    return welcome;
  });
}

Result<Refusal> DecodeRefusal(std::string_view bytes) {
  return DecodePb<Refusal, pb::Refusal>("refusal", bytes, [](FieldReader& in, const auto& from) {
    Refusal refusal;
    if (from.code() < kRefusalCodeCount) refusal.code = static_cast<RefusalCode>(from.code());
    refusal.reason = in.Text("reason", from.reason(), kWireLimits.note_bytes);
    if (from.has_remedy()) refusal.remedy = in.Fields<Remedy>("remedy", from.remedy());
    return refusal;
  });
}

}  // namespace spate::wire
