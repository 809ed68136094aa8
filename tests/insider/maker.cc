// Maker: see maker.h. Any and KindOf go by the descriptors of the .proto files, so that a new field
// or message is sent from the day on which it is there. The Make functions know what else must
// hold for a message to be taken: as many values in each column, sorted names, sums.
#include "maker.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <utility>
#include <variant>

#include "base/check.h"
#include "wire/client.pb.h"
#include "wire/client_codec.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"

namespace spate::insider {

namespace pb = wire::pb;
using wire::FrameType;

namespace {

constexpr auto kNumbers = std::to_array<uint64_t>({0,
                                                   1,
                                                   2,
                                                   3,
                                                   7,
                                                   8,
                                                   255,
                                                   256,
                                                   4095,
                                                   4096,
                                                   65'535,
                                                   65'536,
                                                   99'999'999,
                                                   100'000'000,
                                                   1u << 31,
                                                   UINT32_MAX,
                                                   uint64_t{1} << 60,
                                                   uint64_t{1} << 62,
                                                   INT64_MAX,
                                                   uint64_t{1} << 63,
                                                   UINT64_MAX});
constexpr size_t kTaskNumbers = 12;  // of them may be numbers of tasks
constexpr auto kDoubles = std::to_array<uint64_t>(
    {std::bit_cast<uint64_t>(0.0), std::bit_cast<uint64_t>(0.5), std::bit_cast<uint64_t>(1e9),
     std::bit_cast<uint64_t>(-1.0), 0x7FF0'0000'0000'0000, 0x7FF8'0000'0000'0000});
constexpr std::string_view kNul("\0", 1);
constexpr auto kTexts = std::to_array<std::string_view>(
    {"", "a", "n1", "/tmp", "..", "*", "GPU", kNul, "\xff\xfe", "{}", "caf\xc3\xa9", "\x1b[2J"});
constexpr size_t kRefs = 200;
// The hub keeps what has finished until it is forgotten: an honest user tidies up.
constexpr uint32_t kSweepAfter = 250, kSweepLeaves = 50;

template <typename List>
const auto& OneOf(Prng& random, const List& list) {
  return list[random.Below(std::size(list))];
}

void AppendVarint(std::string& out, uint64_t value) {
  for (; value > 0x7F; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendBytes(std::string& out, int number, std::string_view bytes) {
  AppendVarint(out, static_cast<uint64_t>(number) << 3 | 2);
  AppendVarint(out, bytes.size());
  out += bytes;
}

template <typename Kind>
std::string Wrapped(int kind, const Kind& message) {
  std::string out;
  AppendBytes(out, kind, message);
  return out;
}

template <typename List>
void SetTexts(pb::Texts& to, const List& texts) {
  for (std::string_view text : texts) {
    to.add_length(static_cast<uint32_t>(text.size()));
    to.mutable_bytes()->append(text);
  }
}

bool IsOfUpload(const wire::Request& request) {
  return std::holds_alternative<wire::Rows>(request) ||
         std::holds_alternative<wire::PutPieces>(request) ||
         std::holds_alternative<wire::Edges>(request) ||
         std::holds_alternative<wire::SubmitEnd>(request);
}

// What the hub does with a connection at this message of a node.
Fate FateOf(const Message& message) {
  if (message.type == FrameType::kHeartbeat) return Fate::kStays;
  if (message.type == FrameType::kOutputPiece) {
    return wire::DecodeOutputPiece(message.bytes) ? Fate::kStays : Fate::kRefused;
  }
  if (message.type != FrameType::kToHub) return Fate::kRefused;
  auto decoded = wire::DecodeToHub(message.bytes);
  if (!decoded) return Fate::kRefused;
  return std::holds_alternative<wire::Leaving>(*decoded) ? Fate::kLeft : Fate::kStays;
}

}  // namespace

Maker::Maker(uint64_t seed) : random_(seed) {
  google::protobuf::FileDescriptorSet files;
  std::ifstream in(SPATE_GRAMMAR, std::ios::binary);
  CHECK(files.ParseFromIstream(&in));
  for (const auto& each : files.file()) {
    const auto* file = pool_.BuildFile(each);
    CHECK(file != nullptr);
    for (int i = 0; i < file->message_type_count(); ++i) {
      grammar_[file->message_type(i)->name()] = file->message_type(i);
    }
  }
  special_ = {{"Texts", &Maker::MakeTexts},         {"Offer", &Maker::MakeOffer},
              {"Hello", &Maker::MakeHello},         {"Ends", &Maker::MakeEnds},
              {"Returned", &Maker::MakeReturned},   {"AttemptRef", &Maker::MakeAttemptRef},
              {"NodeState", &Maker::MakeNodeState}, {"Query", &Maker::MakeQuery},
              {"OutputPiece", &Maker::MakePiece},   {"WantPiece", &Maker::MakeWantPiece},
              {"Live", &Maker::MakeLive},           {"Running", &Maker::MakeRunning}};
  for (const auto& [name, make] : special_) CHECK(grammar_.contains(name));
}

void Maker::Leased(const AttemptRef& ref) {
  if (refs_.size() < kRefs) {
    refs_.push_back(ref);
  } else {
    refs_[next_ref_++ % kRefs] = ref;
  }
}

void Maker::Accepted(JobId job) { newest_ = std::max(newest_, job.value); }

// -------------------------------------------------------------------------- by the grammar alone

uint64_t Maker::Number() { return random_.Chance(70) ? Small() : OneOf(random_, kNumbers); }

std::string Maker::Text() {
  if (random_.Below(100) < 99) return std::string(OneOf(random_, kTexts));
  return std::string(random_.Chance(90) ? 1024 : 20'000, 'x');
}

void Maker::AppendValue(std::string& out, const Field& field) {
  if (field.type() == Field::TYPE_DOUBLE) {
    AppendVarint(out, static_cast<uint64_t>(field.number()) << 3 | 1);
    uint64_t bits = OneOf(random_, kDoubles);
    for (int i = 0; i < 8; ++i) out += static_cast<char>(bits >> 8 * i);
  } else if (field.type() == Field::TYPE_BYTES) {
    AppendBytes(out, field.number(), Text());
  } else if (field.type() == Field::TYPE_MESSAGE) {
    AppendBytes(out, field.number(), Make(*field.message_type()));
  } else {
    AppendVarint(out, static_cast<uint64_t>(field.number()) << 3);
    AppendVarint(out, field.type() == Field::TYPE_BOOL ? Small(2) : Number());
  }
}

void Maker::AppendField(std::string& out, const Field& field) {
  if (!field.is_repeated()) return AppendValue(out, field);
  size_t count = OneOf(random_, std::to_array<size_t>({0, 1, 2, 3, 20}));
  if (random_.Below(2000) == 0) count = 65'537;
  if (field.is_packable()) {
    std::string packed;
    for (size_t i = 0; i < count; ++i) AppendVarint(packed, Number());
    return AppendBytes(out, field.number(), packed);
  }
  for (size_t i = 0; i < std::min<size_t>(count, 20); ++i) AppendValue(out, field);
}

std::string Maker::Any(const Descriptor& message, unsigned percent) {
  std::string out;
  for (int i = 0; i < message.field_count(); ++i) {
    if (random_.Chance(percent)) AppendField(out, *message.field(i));
  }
  return out;
}

std::string Maker::Any(const char* name, unsigned percent) {
  return Any(*grammar_.at(name), percent);
}

std::string Maker::Make(const Descriptor& message) {
  auto special = special_.find(message.name());
  if (special != special_.end() && random_.Chance(97)) return (this->*special->second)();
  return Any(message, 97);
}

// A message of one field, which is any of its kinds.
std::string Maker::KindOf(const char* outer, const std::vector<std::string_view>& but) {
  const Descriptor& kinds = *grammar_.at(outer);
  for (;;) {
    const Field& kind = *kinds.field(static_cast<int>(Small(kinds.field_count())));
    if (std::ranges::find(but, kind.name()) != but.end()) continue;
    return Wrapped(kind.number(), Make(*kind.message_type()));
  }
}

// ------------------------------------------------------------------ what has rules beyond it

std::string Maker::MakeTexts() {
  Texts texts(Small(4));
  for (std::string& text : texts) text = Text();
  pb::Texts made;
  SetTexts(made, texts);
  return made.SerializeAsString();
}

Maker::Texts Maker::Names() {
  Texts names;
  for (std::string_view name : {"GPU", "disk", "licence"}) {
    if (random_.Chance(25)) names.emplace_back(name);
  }
  if (random_.Chance(2)) names.emplace_back(900, 'x');
  return names;
}

std::string Maker::MakeNeeds() {
  Needs needs;
  needs.milli_cpus = static_cast<uint32_t>(Number());
  needs.memory = Number() & ((uint64_t{1} << 62) - 1);
  for (std::string& name : Names()) {
    needs.named.push_back({std::move(name), static_cast<uint32_t>(1 + Small())});
  }
  if (random_.Chance(20)) needs.time.ns = static_cast<int64_t>(Small() << Small(50));
  if (random_.Chance(20)) needs.labels = Names();
  if (random_.Chance(5)) needs.on_node = fmt::format("n{}", Small(40));
  if (random_.Chance(5)) needs.not_on = Names();
  return wire::BytesOf(needs);
}

std::string Maker::MakeOffer() {
  pb::Offer offer;
  offer.set_node_name("n");
  offer.set_slots(static_cast<uint32_t>(1 + Small(16)));
  offer.set_milli_cpus(static_cast<uint32_t>(1 + 1000 * Small(16)));
  offer.set_memory(uint64_t{1} << Small(40));
  Texts names = Names(), indices;
  SetTexts(*offer.mutable_name(), names);
  for (size_t i = 0; i < names.size(); ++i) {
    uint64_t pieces = 1 + Small(3);
    offer.add_pieces(static_cast<uint32_t>(pieces));
    for (uint64_t k = 0; k < pieces; ++k) indices.push_back(fmt::format("{}", k));
  }
  SetTexts(*offer.mutable_index(), indices);
  SetTexts(*offer.mutable_label(), Names());
  if (random_.Chance(5)) offer.set_end_of_life(static_cast<int64_t>(Number() >> 1));
  return offer.SerializeAsString();
}

uint32_t Maker::Job() {
  if (random_.Chance(5)) return static_cast<uint32_t>(Number());
  return newest_ - std::min<uint32_t>(newest_, static_cast<uint32_t>(Small(30))) + 1;
}

AttemptRef Maker::Ref() {
  if (!refs_.empty() && random_.Chance(80)) return refs_[Small(refs_.size())];
  return {JobId(Job()), static_cast<TaskIndex>(Number() % 100'000'000),
          Attempt(static_cast<uint16_t>(1 + Small(3)))};
}

pb::AttemptRef Maker::RefMessage() {
  AttemptRef ref = Ref();
  pb::AttemptRef made;
  made.set_job(ref.job.value);
  made.set_index(ref.index);
  made.set_attempt(ref.attempt.value);
  return made;
}

std::string Maker::MakeAttemptRef() { return RefMessage().SerializeAsString(); }

void Maker::AddPairs(google::protobuf::RepeatedField<uint32_t>& to) {
  constexpr uint64_t kAll = 100'000'000;
  size_t count = random_.Below(3000) == 0 ? 65'536 : 1 + Small(4);
  for (size_t i = 0; i < count; ++i) {
    uint64_t first = random_.Chance(80) ? Small() : kNumbers[Small(kTaskNumbers)];
    uint64_t most = kAll - std::min(first, kAll - 1);
    to.Add(static_cast<uint32_t>(first));
    to.Add(static_cast<uint32_t>(random_.Chance(90) ? std::min(1 + Small(), most) : most));
  }
}

std::string Maker::Hello() { return Wrapped(1, MakeHello()); }

std::string Maker::MakeHello() {
  pb::Hello hello;
  hello.set_node(1);
  CHECK(hello.mutable_offer()->ParseFromString(MakeOffer()));
  for (uint64_t count = Small(4); count > 0; --count) {
    AttemptRef ref = Ref();
    hello.add_holds(ref.job.value);
    hello.add_holds(ref.attempt.value);
    hello.add_holds(1);
    hello.add_tasks(ref.index);
    hello.add_tasks(1);
  }
  return hello.SerializeAsString();
}

std::string Maker::MakeEnds() {
  pb::Ends ends;
  TaskIndex before = 0;
  size_t count = random_.Below(3000) == 0 ? 8'192 : 1 + Small(8);
  for (size_t i = 0; i < count; ++i) {
    AttemptRef ref = Ref();
    ends.add_job(ref.job.value);
    ends.add_job(1);
    ends.add_index(static_cast<int32_t>(ref.index - before));
    before = ref.index;
    ends.add_attempt(ref.attempt.value);
    auto bytes = static_cast<uint32_t>(random_.Chance(1) ? 65'536 : Small(20));
    ends.add_stdout_here(bytes);
    ends.add_stdout_total(bytes);
    ends.mutable_output()->append(bytes, 'o');
  }
  auto fill = [&](auto* column, unsigned percent, uint64_t bound) {
    if (!random_.Chance(percent)) return;
    for (size_t i = 0; i < count; ++i) column->Add(static_cast<uint32_t>(Small(bound)));
  };
  fill(ends.mutable_cause(), 20, 9);
  fill(ends.mutable_slot(), 10, 16);
  fill(ends.mutable_wall(), 10, UINT32_MAX);
  fill(ends.mutable_peak_memory(), 10, UINT32_MAX);
  fill(ends.mutable_memory_source(), 5, 4);
  fill(ends.mutable_left_behind(), 5, 9);
  fill(ends.mutable_stdout_apart(), 2, 200);
  ends.set_number(Number());
  return ends.SerializeAsString();
}

std::string Maker::MakeReturned() {
  AttemptRef ref = Ref();
  pb::Returned returned;
  returned.set_job(ref.job.value);
  returned.set_attempt(ref.attempt.value);
  if (random_.Chance(50)) {
    returned.add_tasks(ref.index);
    returned.add_tasks(1);
  } else {
    AddPairs(*returned.mutable_tasks());
  }
  returned.set_number(Number());
  return returned.SerializeAsString();
}

std::string Maker::MakeNodeState() {
  pb::NodeState state;
  state.set_load(static_cast<double>(Small()));
  state.set_free_memory(Number() & ((uint64_t{1} << 62) - 1));
  for (uint64_t count = Small(); count > 0; --count) {
    AttemptRef ref = Ref();
    state.add_runs(ref.job.value);
    state.add_runs(ref.index);
    state.add_runs(ref.attempt.value);
    state.add_since(static_cast<int64_t>(Small()));
  }
  return state.SerializeAsString();
}

std::string Maker::MakeWantPiece() {
  pb::WantPiece want;
  want.set_job(Ref().job.value);
  want.set_piece(static_cast<uint32_t>(Number()));
  return want.SerializeAsString();
}

std::string Maker::MakePiece() {
  pb::OutputPiece piece;
  *piece.mutable_ref() = RefMessage();
  piece.set_stream(static_cast<uint32_t>(1 + Small(3)));
  if (random_.Chance(10)) piece.set_offset(Number());
  size_t size = random_.Chance(99) ? 1 + Small(200) : 65'536;
  if (random_.Below(2000) == 0) size = 1 << 20;
  piece.set_bytes(std::string(size, 'o'));
  return piece.SerializeAsString();
}

std::string Maker::MakeLive() {
  pb::Live live;
  *live.mutable_ref() = RefMessage();
  live.set_stream(static_cast<uint32_t>(1 + Small(2)));
  live.set_bytes(Text());
  return live.SerializeAsString();
}

std::string Maker::MakeRunning() {
  pb::Running running;
  *running.mutable_ref() = RefMessage();
  running.set_slot(static_cast<uint32_t>(1 + Small(16)));
  return running.SerializeAsString();
}

// What an attempt wrote, in pieces, and its end.
void Maker::AddOutput(std::vector<Message>& to) {
  pb::OutputPiece piece;
  *piece.mutable_ref() = RefMessage();
  uint64_t total = 0;
  piece.set_stream(static_cast<uint32_t>(1 + Small(3)));
  for (uint64_t count = 1 + Small(4); count > 0; --count) {
    piece.set_offset(total);
    piece.set_bytes(std::string(1 + Small(3000), 'o'));
    total += piece.bytes().size();
    to.push_back({FrameType::kOutputPiece, piece.SerializeAsString(), Fate::kStays});
  }
  pb::Ends ends;
  ends.add_job(piece.ref().job());
  ends.add_job(1);
  ends.add_index(static_cast<int32_t>(piece.ref().index()));
  ends.add_attempt(piece.ref().attempt());
  auto apart = piece.stream() == 1   ? ends.mutable_stdout_apart()
               : piece.stream() == 2 ? ends.mutable_stderr_apart()
                                     : ends.mutable_files_apart();
  apart->Add(total);
  ends.set_number(Number());
  to.push_back({FrameType::kToHub, Wrapped(2, ends.SerializeAsString()), Fate::kStays});
}

// ------------------------------------------------------------------------- questions and changes

// Values of the fields that a question lists.
class Maker::Filler {
 public:
  explicit Filler(Maker& maker) : maker_(maker) {}
  template <typename T>
  void operator()(uint32_t, std::string_view name, T&& value) {
    Fill(name, value);
  }
  void Fill(std::string_view, bool& value) { value = maker_.Small(2) != 0; }
  template <std::integral T>
  void Fill(std::string_view, T& value) {
    value = static_cast<T>(maker_.Number());
  }
  template <typename E>
    requires std::is_enum_v<E>
  void Fill(std::string_view, E& value) {
    value = static_cast<E>(maker_.Small(static_cast<uint64_t>(kLastOf<E>) + 1));
  }
  void Fill(std::string_view, Duration& value) { value.ns = static_cast<int64_t>(maker_.Number()); }
  void Fill(std::string_view, Instant& value) { value.ns = static_cast<int64_t>(maker_.Number()); }
  void Fill(std::string_view name, std::string& value) {
    value = name == "names" && maker_.random_.Chance(90) ? fmt::format("n{}", maker_.Small(40))
                                                         : maker_.Text();
  }
  void Fill(std::string_view, JobId& value) { value = JobId(maker_.Job()); }
  void Fill(std::string_view, NumberRange& value) {
    value.first = value.last = maker_.Job();
    if (maker_.random_.Chance(20)) value.last += static_cast<uint32_t>(maker_.Number() % 1'000'000);
    if (maker_.random_.Chance(2)) value.step = static_cast<uint32_t>(maker_.Number());
  }
  void Fill(std::string_view, TasksOfJob& value) {
    if (maker_.random_.Chance(90)) value.job = maker_.Job();
    value.all = maker_.random_.Chance(10);
    const auto task = static_cast<uint32_t>(1 + maker_.Small());
    value.ranges = {{task, task + static_cast<uint32_t>(maker_.Small(2) * maker_.Number()), 1}};
  }
  void Fill(std::string_view, JobSelector& value) {
    value.all = maker_.random_.Below(1000) == 0;
    value.last = maker_.random_.Chance(5);
    Fill("ranges", value.ranges);
  }
  template <HasFields T>
  void Fill(std::string_view, T& value) {
    T::Fields(value, *this);
  }
  template <typename List>
  void Fill(std::string_view name, Columns<List>& columns) {
    Fill(name, columns.rows);
  }
  void Fill(std::string_view name, OneMore<int>& number) { Fill(name, number.value); }
  void Fill(std::string_view name, OrNever<Duration>& time) { Fill(name, time.value); }
  void Fill(std::string_view, double& value) {
    value = std::bit_cast<double>(OneOf(maker_.random_, kDoubles));
  }
  template <typename T>
  void Fill(std::string_view name, std::optional<T>& value) {
    if (maker_.random_.Chance(20)) Fill(name, value.emplace());
  }
  template <typename T>
  void Fill(std::string_view name, std::vector<T>& values) {
    size_t count = OneOf(maker_.random_, std::to_array<size_t>({0, 1, 1, 1, 2, 3, 20}));
    if (maker_.random_.Below(2000) == 0) count = 5'000;
    for (; count > 0; --count) Fill(name, values.emplace_back());
  }

 private:
  Maker& maker_;
};

// Some of a type's fields, each with this chance.
template <typename T>
T Maker::Some(T value, unsigned percent) {
  T::Fields(value, [&](uint32_t number, std::string_view name, auto&& field) {
    if (random_.Chance(percent)) Filler (*this)(number, name, field);
  });
  return value;
}

JobSettings Maker::MakeSettings() {
  JobSettings settings;
  settings.cwd = "/tmp";
  if (random_.Chance(10)) settings.row_kind = static_cast<RowKind>(Small(4));
  return random_.Chance(15) ? Some(settings, 3) : settings;
}

template <typename Question>
std::string Maker::QueryOf(Question question) {
  Filler(*this).Fill("", question);
  if constexpr (std::is_same_v<Question, wire::ChangeNodes>) {
    if (random_.Chance(99) && question.change >= wire::ChangeNodes::Change::kRemove) {
      question.change = wire::ChangeNodes::Change::kResume;
    }
  }
  pb::Query query;
  query.set_question(random_.Chance(99) ? Question::kNumber : static_cast<uint32_t>(Small(30)));
  // The hub is this user's own: whoever may do all must not stop it.
  if (query.question() == wire::StopHub::kNumber) query.set_question(0);
  query.set_body(wire::BytesOf(question));
  if (random_.Below(200) == 0) query.set_body(Broken(query.body()));
  return query.SerializeAsString();
}

std::string Maker::MakeQuery() {
  uint64_t kind = random_.Below(1000);
  if (kind < 200) return QueryOf(wire::ChangeJobs());
  if (kind < 350) return QueryOf(wire::Cancel());
  if (kind < 450) return QueryOf(wire::Forget());
  if (kind < 550) return QueryOf(wire::Retry());
  if (kind < 650) return QueryOf(wire::ExplainTasks());
  if (kind < 750) return QueryOf(wire::ListNodes());
  if (kind < 850) return QueryOf(wire::ChangeNodes());
  if (kind < 950) return QueryOf(wire::LookAtHub());
  if (kind < 960) return QueryOf(wire::LookAtAll());
  if (kind < 970) return QueryOf(wire::ListUsers());
  if (kind < 980) return QueryOf(wire::ListAccess());
  if (kind < 985) return QueryOf(wire::RevokeAccess());
  if (kind < 988) return QueryOf(wire::ReadStderr());
  if (kind < 990) return QueryOf(wire::LookAtRun());
  if (kind < 993) return QueryOf(wire::LookAtWork());
  if (kind < 995) return QueryOf(wire::Withdraw());
  if (kind < 997) return QueryOf(wire::TrustNodes());
  if (kind < 999) return QueryOf(wire::ResetCounts());
  return QueryOf(wire::UnknownQuestion());
}

// ------------------------------------------------------------------------------------ submissions

std::string Maker::SubmitOf(uint32_t pieces) {
  pb::Submit submit;
  bool again = random_.Chance(5);
  submit.set_submission(fmt::format("{:x}", again ? Small(50) : random_.Next()));
  JobSettings settings = MakeSettings();
  if (pieces > 0) settings.puts = {{"a/b", 0644, (uint64_t{pieces} << 20) - Small(1 << 20), 0}};
  if (random_.Chance(20)) {
    submit.add_after(Job());
    submit.add_after(static_cast<uint32_t>(random_.Chance(99) ? Small(4) : Number()));
  }
  if (random_.Chance(20)) {
    submit.set_max_running(static_cast<uint32_t>(Small(5)));
    submit.set_open(Small(2) != 0);
    submit.set_weight(static_cast<uint32_t>(Number()) & 0xFFFF);
  }
  if (random_.Chance(3)) submit.set_add_to(Job());
  submit.set_settings(wire::BytesOf(settings));
  if (random_.Chance(5)) submit.set_policy(wire::BytesOf(Some(JobPolicy(), 10)));
  return submit.SerializeAsString();
}

std::string Maker::EndOf(uint32_t count) {
  pb::SubmitEnd end;
  end.set_count(count);
  for (uint64_t kinds = 1 + Small(3); kinds > 0; --kinds) {
    end.add_requests(random_.Chance(30) ? MakeNeeds() : wire::BytesOf(Needs{.milli_cpus = 1}));
  }
  end.add_runs(count);
  end.add_runs(static_cast<uint32_t>(Small(static_cast<uint64_t>(end.requests_size()))));
  if (random_.Chance(20)) {
    for (uint32_t i = count; i > 0; --i) end.add_order(i - 1);
  }
  return end.SerializeAsString();
}

// Submit, PutPieces, Rows, Edges, SubmitEnd. Some are left out or come twice.
void Maker::AddSubmission(std::vector<Message>& to) {
  uint32_t pieces = random_.Chance(5) ? 1 : 0;
  auto add = [&](int kind, std::string bytes) {
    if (random_.Below(1000) == 0) return;
    to.push_back({FrameType::kRequest, Wrapped(kind, std::move(bytes)), Fate::kStays});
    if (random_.Below(1000) == 0) to.push_back(to.back());
  };
  add(pb::Request::kSubmitFieldNumber, SubmitOf(pieces));
  if (pieces > 0) {
    pb::PutPieces put;
    SetTexts(*put.mutable_pieces(), Texts(pieces, "bytes"));
    add(pb::Request::kPutPiecesFieldNumber, put.SerializeAsString());
  }
  uint32_t count = 0;
  for (uint64_t messages = 1 + Small(6); messages > 0; --messages) {
    pb::Rows rows;
    size_t here = random_.Below(5000) == 0 ? 65'536 : 1 + Small(6);
    SetTexts(*rows.mutable_rows(), Texts(here, "true"));
    count += static_cast<uint32_t>(here);
    add(pb::Request::kRowsFieldNumber, rows.SerializeAsString());
  }
  add(pb::Request::kSubmitEndFieldNumber, EndOf(count));
}

// Cancels what is old, and forgets what has ended, by turns.
std::string Maker::Sweep() {
  bool cancels = (++sweeps_ & 1) != 0;
  swept_ = newest_ - kSweepLeaves;
  wire::Forget forget{.jobs = {}, .older_than = Duration::Seconds(1), .dry_run = false};
  wire::Cancel cancel{.jobs = {.ranges = {{cancelled_ + 1, swept_, 1}}}, .tasks = {}};
  if (cancels) cancelled_ = swept_;
  pb::Query query;
  query.set_question(cancels ? wire::Cancel::kNumber : wire::Forget::kNumber);
  query.set_body(cancels ? wire::BytesOf(cancel) : wire::BytesOf(forget));
  return query.SerializeAsString();
}

// ---------------------------------------------------------------------------------------- batches

// Cut, with a bit that was changed, or with something behind it.
std::string Maker::Broken(std::string bytes) {
  size_t at = Small(bytes.size() + 1);
  uint64_t how = Small(3);
  if (how == 0) {
    bytes.resize(at);
  } else if (how == 1 && at < bytes.size()) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << Small(8));
  } else {
    for (uint64_t count = Small(20); count > 0; --count) bytes += static_cast<char>(Small(256));
  }
  return bytes;
}

namespace {

// A bit makes another question a StopHub, which the hub would obey.
bool StopsHub(const Message& message) {
  if (message.type != FrameType::kRequest) return false;
  auto numbered = wire::SplitId(message.bytes);
  if (!numbered) return false;
  auto request = wire::DecodeRequest(numbered->message);
  const auto* query = request ? std::get_if<wire::Query>(&*request) : nullptr;
  return query != nullptr && std::holds_alternative<wire::StopHub>(query->question);
}

}  // namespace

Message Maker::Spoilt(Message message) {
  const Message whole = message;
  if (random_.Below(200) == 0) message.bytes = Broken(std::move(message.bytes));
  if (StopsHub(message)) return whole;
  if (random_.Below(2000) == 0) message.type = static_cast<FrameType>(1 + Small(9));
  return message;
}

std::vector<Message> Maker::OfNode(size_t count) {
  std::vector<Message> batch;
  while (batch.size() < count) {
    uint64_t kind = random_.Below(1000);
    if (kind < 30) {
      AddOutput(batch);
    } else if (kind < 35) {
      batch.push_back({FrameType::kOutputPiece, MakePiece(), Fate::kStays});
    } else {
      std::vector<std::string_view> but;
      if (kind < 995) but = {"leaving", "hello"};
      batch.push_back({FrameType::kToHub, KindOf("ToHub", but), Fate::kStays});
    }
  }
  return Until(std::move(batch), FateOf);
}

// Breaks some, and keeps those up to the first that ends the connection.
std::vector<Message> Maker::Until(std::vector<Message> planned,
                                  const std::function<Fate(const Message&)>& fate) {
  std::vector<Message> batch;
  for (Message& each : planned) {
    batch.push_back(Spoilt(std::move(each)));
    batch.back().fate = fate(batch.back());
    if (batch.back().fate != Fate::kStays) break;
  }
  return batch;
}

std::vector<Message> Maker::OfClient(size_t count) {
  std::vector<Message> planned;
  auto request = [&](std::string bytes) {
    planned.push_back({FrameType::kRequest, std::move(bytes), Fate::kStays});
  };
  while (planned.size() < count) {
    uint64_t kind = random_.Below(10'000);
    if (newest_ > swept_ + kSweepAfter) {
      request(Wrapped(pb::Request::kQueryFieldNumber, Sweep()));
    } else if (kind < 5000) {
      AddSubmission(planned);
    } else if (kind < 9500) {
      request(Wrapped(pb::Request::kQueryFieldNumber, MakeQuery()));
    } else if (kind < 9960) {
      request(Wrapped(pb::Request::kWatchFieldNumber, Any("Watch", 95)));
    } else {
      request(KindOf("Request", {}));
    }
  }
  bool uploads = false;
  std::vector<Message> batch = Until(std::move(planned), [&](const Message& message) {
    if (message.type == FrameType::kHeartbeat) return Fate::kStays;
    auto decoded = wire::DecodeRequest(message.bytes);
    bool fits = message.type == FrameType::kRequest && decoded;
    if (!fits || (IsOfUpload(*decoded) && !uploads)) return Fate::kRefused;
    if (std::holds_alternative<wire::Submit>(*decoded)) uploads = true;
    if (std::holds_alternative<wire::SubmitEnd>(*decoded)) uploads = false;
    return Fate::kStays;
  });
  // The next batch knows nothing of it.
  if (uploads && batch.back().fate == Fate::kStays) batch.back().fate = Fate::kLeft;
  return batch;
}

}  // namespace spate::insider
