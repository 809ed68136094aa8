// Maker: see maker.h. Filler and KindOf go by the lists of fields, so that a new field or message
// is sent from the day on which it is there. The Make functions know what else must hold for a
// message to be taken: as many values in each column, sorted names, sums.
#include "maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <variant>

#include "base/check.h"
#include "wire/client_codec.h"
#include "wire/client_forms.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"

namespace spate::insider {

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

// A message of one of several kinds.
template <typename T>
std::string Wrapped(uint32_t kind, const T& fields) {
  std::string out;
  spate::internal::FieldWriter::WriteIn(out, kind, fields);
  return out;
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

// ------------------------------------------------------------------ what has rules beyond it

Maker::Texts Maker::Names() {
  Texts names;
  for (std::string_view name : {"GPU", "disk", "licence"}) {
    if (random_.Chance(25)) names.emplace_back(name);
  }
  if (random_.Chance(2)) names.emplace_back(900, 'x');
  return names;
}

Needs Maker::MakeNeeds() {
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
  return needs;
}

wire::OfferForm Maker::MakeOffer() {
  wire::OfferForm offer{.node_name = "n",
                        .slots = static_cast<uint32_t>(1 + Small(16)),
                        .milli_cpus = static_cast<uint32_t>(1 + 1000 * Small(16)),
                        .memory = uint64_t{1} << Small(40),
                        .name = Names(),
                        .label = Names()};
  for (size_t i = 0; i < offer.name.size(); ++i) {
    offer.pieces.push_back(static_cast<uint32_t>(1 + Small(3)));
    for (uint32_t k = 0; k < offer.pieces.back(); ++k) offer.index.push_back(fmt::format("{}", k));
  }
  if (random_.Chance(5)) offer.end_of_life = Number() >> 1;
  return offer;
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

std::vector<TaskRange> Maker::Ranges() {
  constexpr uint64_t kAll = 100'000'000;
  std::vector<TaskRange> ranges(random_.Below(3000) == 0 ? 65'536 : 1 + Small(4));
  for (TaskRange& range : ranges) {
    uint64_t first = random_.Chance(80) ? Small() : kNumbers[Small(kTaskNumbers)];
    uint64_t most = kAll - std::min(first, kAll - 1);
    range = {static_cast<uint32_t>(first),
             static_cast<uint32_t>(random_.Chance(90) ? std::min(1 + Small(), most) : most)};
  }
  return ranges;
}

void Maker::Make(wire::HelloForm& hello) {
  hello = {.node = NodeId(1), .offer = MakeOffer()};
  for (uint64_t count = Small(4); count > 0; --count) {
    AttemptRef ref = Ref();
    hello.holds.insert(hello.holds.end(), {ref.job.value, ref.attempt.value, 1});
    hello.tasks.push_back({ref.index, 1});
  }
}

std::string Maker::Hello() {
  wire::HelloForm hello;
  Make(hello);
  return Wrapped(wire::Hello::kNumber, hello);
}

void Maker::Make(wire::EndsForm& ends) {
  TaskIndex before = 0;
  size_t count = random_.Below(3000) == 0 ? 8'192 : 1 + Small(8);
  for (size_t i = 0; i < count; ++i) {
    AttemptRef ref = Ref();
    ends.job.insert(ends.job.end(), {ref.job.value, 1});
    ends.index.push_back(static_cast<int32_t>(ref.index - before));
    before = ref.index;
    ends.attempt.push_back(ref.attempt.value);
    auto bytes = static_cast<uint32_t>(random_.Chance(1) ? 65'536 : Small(20));
    ends.stdout_here.push_back(bytes);
    ends.stdout_total.push_back(bytes);
    ends.output.append(bytes, 'o');
  }
  auto fill = [&](auto& column, unsigned percent, uint64_t bound) {
    if (!random_.Chance(percent)) return;
    for (size_t i = 0; i < count; ++i) column.push_back(static_cast<uint32_t>(Small(bound)));
  };
  fill(ends.cause, 20, 9);
  fill(ends.slot, 10, 16);
  fill(ends.wall, 10, UINT32_MAX);
  fill(ends.peak_memory, 10, UINT32_MAX);
  fill(ends.memory_source, 5, 4);
  fill(ends.left_behind, 5, 9);
  fill(ends.stdout_apart, 2, 200);
  ends.number = Number();
}

void Maker::Make(wire::Returned& returned) {
  AttemptRef ref = Ref();
  returned = {Number(), ref.job, ref.attempt, {{ref.index, 1}}};
  if (random_.Chance(50)) returned.tasks = Ranges();
}

void Maker::Make(wire::NodeStateForm& state) {
  state.machine.load = static_cast<double>(Small());
  state.machine.free_memory = Number() & ((uint64_t{1} << 62) - 1);
  for (uint64_t count = Small(); count > 0; --count) {
    state.runs.push_back(Ref());
    state.since.push_back({static_cast<int64_t>(Small())});
  }
}

void Maker::Make(wire::WantPiece& want) { want = {Ref().job, static_cast<uint32_t>(Number())}; }

std::string Maker::MakePiece() {
  size_t size = random_.Chance(99) ? 1 + Small(200) : 65'536;
  if (random_.Below(2000) == 0) size = 1 << 20;
  const std::string bytes(size, 'o');
  return wire::BytesOf(wire::OutputPiece{Ref(), static_cast<uint8_t>(1 + Small(3)),
                                         random_.Chance(10) ? Number() : 0, bytes});
}

void Maker::Make(wire::Live& live) { live = {Ref(), static_cast<uint8_t>(1 + Small(2)), Text()}; }

void Maker::Make(wire::Running& running) {
  running = {Ref(), static_cast<uint16_t>(1 + Small(16))};
}

// What an attempt wrote, in pieces, and its end.
void Maker::AddOutput(std::vector<Message>& to) {
  const AttemptRef ref = Ref();
  const auto stream = static_cast<uint8_t>(1 + Small(3));
  uint64_t total = 0;
  for (uint64_t count = 1 + Small(4); count > 0; --count) {
    const std::string bytes(1 + Small(3000), 'o');
    const wire::OutputPiece piece{ref, stream, std::exchange(total, total + bytes.size()), bytes};
    to.push_back({FrameType::kOutputPiece, wire::BytesOf(piece), Fate::kStays});
  }
  wire::EndsForm ends;
  ends.job = {ref.job.value, 1};
  ends.index = {static_cast<int32_t>(ref.index)};
  ends.attempt = {ref.attempt.value};
  (stream == 1 ? ends.stdout_apart : stream == 2 ? ends.stderr_apart : ends.files_apart) = {total};
  ends.number = Number();
  to.push_back({FrameType::kToHub, Wrapped(wire::Ends::kNumber, ends), Fate::kStays});
}

// ------------------------------------------------------------------------- questions and changes

// Values of listed fields.
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
    uint64_t kinds = 256;  // of an enum without words: known and unknown ones
    if constexpr (HasWords<E>) kinds = kCountOf<E>;
    value = static_cast<E>(maker_.Small(kinds));
  }
  void Fill(std::string_view, Duration& value) { value.ns = static_cast<int64_t>(maker_.Number()); }
  void Fill(std::string_view, Instant& value) { value.ns = static_cast<int64_t>(maker_.Number()); }
  void Fill(std::string_view name, std::string& value) {
    value = name == "names" && maker_.random_.Chance(90) ? fmt::format("n{}", maker_.Small(40))
                                                         : maker_.Text();
  }
  void Fill(std::string_view, JobId& value) { value = JobId(maker_.Job()); }
  template <typename Tag, typename Rep>
  void Fill(std::string_view, Id<Tag, Rep>& value) {
    value = Id<Tag, Rep>(static_cast<Rep>(maker_.Number()));
  }
  void Fill(std::string_view, AttemptRef& value) { value = maker_.Ref(); }
  void Fill(std::string_view, wire::OfferForm& value) { value = maker_.MakeOffer(); }
  void Fill(std::string_view, std::shared_ptr<const JobSettings>& value) {
    value = std::make_shared<const JobSettings>(maker_.MakeSettings());
  }
  template <typename T>
  void Fill(std::string_view name, std::shared_ptr<const T>& value) {
    auto made = std::make_shared<T>();
    Fill(name, *made);
    value = std::move(made);
  }
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
  template <typename List>
  void Fill(std::string_view name, Packed<List>& packed) {
    Fill(name, packed.rows);
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

// A message of this kind.
template <typename T>
std::string Maker::KindOf() {
  using Form = typename wire::FormOf<T>::Type;
  Form form;
  bool made = false;
  if constexpr (requires { Make(form); }) {
    made = random_.Chance(97);
    if (made) Make(form);
  }
  return Wrapped(T::kNumber, made ? form : Some(Form(), 97));
}
template <typename... T>
std::string Maker::AnyOf(const std::variant<T...>*) {
  constexpr std::array kMakers = {&Maker::KindOf<T>...};
  return (this->*OneOf(random_, kMakers))();
}

JobSettings Maker::MakeSettings() {
  JobSettings settings;
  settings.cwd = "/tmp";
  if (random_.Chance(10)) settings.row_kind = static_cast<RowKind>(Small(4));
  return random_.Chance(15) ? Some(settings, 3) : settings;
}

template <typename Question>
wire::QueryForm Maker::QueryOf(Question question) {
  Filler(*this).Fill("", question);
  if constexpr (std::is_same_v<Question, wire::ChangeNodes>) {
    if (random_.Chance(99) && question.change >= wire::ChangeNodes::Change::kRemove) {
      question.change = wire::ChangeNodes::Change::kResume;
    }
  }
  wire::QueryForm query{random_.Chance(99) ? Question::kNumber : static_cast<uint32_t>(Small(30)),
                        wire::BytesOf(question)};
  // The hub is this user's own: whoever may do all must not stop it.
  if (query.question == wire::StopHub::kNumber) query.question = 0;
  if (random_.Below(200) == 0) query.body = Broken(query.body);
  return query;
}

wire::QueryForm Maker::MakeQuery() {
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
  if (kind < 991) return QueryOf(wire::ListProcesses());
  if (kind < 993) return QueryOf(wire::LookAtWork());
  if (kind < 995) return QueryOf(wire::Withdraw());
  if (kind < 997) return QueryOf(wire::TrustNodes());
  if (kind < 999) return QueryOf(wire::ResetCounts());
  return {0, ""};
}

// ------------------------------------------------------------------------------------ submissions

wire::Submit Maker::SubmitOf(uint32_t pieces) {
  bool again = random_.Chance(5);
  wire::Submit submit{.submission = fmt::format("{:x}", again ? Small(50) : random_.Next())};
  JobSettings settings = MakeSettings();
  if (pieces > 0) settings.puts = {{"a/b", 0644, (uint64_t{pieces} << 20) - Small(1 << 20), 0}};
  if (random_.Chance(20)) {
    const auto kind = static_cast<uint32_t>(random_.Chance(99) ? Small(4) : Number());
    submit.after = {{JobId(Job()), kind}};
  }
  if (random_.Chance(20)) {
    submit.max_running = static_cast<uint32_t>(Small(5));
    submit.open = Small(2) != 0;
    submit.weight = static_cast<uint32_t>(Number()) & 0xFFFF;
  }
  if (random_.Chance(3)) submit.add_to = JobId(Job());
  submit.settings = std::make_shared<const JobSettings>(std::move(settings));
  if (random_.Chance(5)) submit.policy = Some(JobPolicy(), 10);
  return submit;
}

wire::SubmitEndForm Maker::EndOf(uint32_t count) {
  wire::SubmitEndForm end{.count = count};
  for (uint64_t kinds = 1 + Small(3); kinds > 0; --kinds) {
    end.requests.emplace_back(random_.Chance(30) ? MakeNeeds() : Needs{.milli_cpus = 1});
  }
  end.runs = {{count, static_cast<uint32_t>(Small(end.requests.size()))}};
  if (random_.Chance(20)) {
    for (uint32_t i = count; i > 0; --i) end.order.push_back(i - 1);
  }
  return end;
}

// Submit, PutPieces, Rows, Edges, SubmitEnd. Some are left out or come twice.
void Maker::AddSubmission(std::vector<Message>& to) {
  uint32_t pieces = random_.Chance(5) ? 1 : 0;
  auto add = [&](uint32_t kind, const auto& form) {
    if (random_.Below(1000) == 0) return;
    to.push_back({FrameType::kRequest, Wrapped(kind, form), Fate::kStays});
    if (random_.Below(1000) == 0) to.push_back(to.back());
  };
  add(wire::Submit::kNumber, SubmitOf(pieces));
  if (pieces > 0) add(wire::PutPieces::kNumber, wire::PutPieces{Texts(pieces, "bytes")});
  uint32_t count = 0;
  for (uint64_t messages = 1 + Small(6); messages > 0; --messages) {
    size_t here = random_.Below(5000) == 0 ? 65'536 : 1 + Small(6);
    count += static_cast<uint32_t>(here);
    add(wire::Rows::kNumber, wire::Rows{Texts(here, "true")});
  }
  add(wire::SubmitEnd::kNumber, EndOf(count));
}

// Cancels what is old, and forgets what has ended, by turns.
wire::QueryForm Maker::Sweep() {
  bool cancels = (++sweeps_ & 1) != 0;
  swept_ = newest_ - kSweepLeaves;
  wire::Forget forget{.jobs = {}, .older_than = Duration::Seconds(1), .dry_run = false};
  wire::Cancel cancel{.jobs = {.ranges = {{cancelled_ + 1, swept_, 1}}}, .tasks = {}};
  if (cancels) cancelled_ = swept_;
  if (cancels) return {wire::Cancel::kNumber, wire::BytesOf(cancel)};
  return {wire::Forget::kNumber, wire::BytesOf(forget)};
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
  return query != nullptr && query->question.Is<wire::StopHub>();
}

}  // namespace

Message Maker::Spoilt(Message message) {
  const Message whole = message;
  if (random_.Below(200) == 0) message.bytes = Broken(std::move(message.bytes));
  if (StopsHub(message)) return whole;
  if (random_.Below(2000) == 0) message.type = static_cast<FrameType>(1 + Small(9));
  return message;
}

namespace {

bool IsOf(std::string_view message, uint32_t kind) {
  spate::internal::RawField field;
  return spate::internal::DecodeField(message, field) && field.number == kind;
}

}  // namespace

std::vector<Message> Maker::OfNode(size_t count) {
  std::vector<Message> batch;
  while (batch.size() < count) {
    uint64_t kind = random_.Below(1000);
    if (kind < 30) {
      AddOutput(batch);
    } else if (kind < 35) {
      batch.push_back({FrameType::kOutputPiece, MakePiece(), Fate::kStays});
    } else {
      std::string bytes = AnyOf(static_cast<wire::ToHub*>(nullptr));
      const bool is_once = IsOf(bytes, wire::Hello::kNumber) || IsOf(bytes, wire::Leaving::kNumber);
      if (is_once && kind < 995) continue;
      batch.push_back({FrameType::kToHub, std::move(bytes), Fate::kStays});
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
      request(Wrapped(wire::Query::kNumber, Sweep()));
    } else if (kind < 5000) {
      AddSubmission(planned);
    } else if (kind < 9500) {
      request(Wrapped(wire::Query::kNumber, MakeQuery()));
    } else if (kind < 9960) {
      request(Wrapped(wire::Watch::kNumber, Some(wire::Watch(), 95)));
    } else {
      request(AnyOf(static_cast<wire::Request*>(nullptr)));
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
