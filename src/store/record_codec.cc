// One description of each record's fields serves both ways: Fields(archive, record) names them in
// the order in which they are stored, and the archive is an Encoder or a Decoder. So what is
// written is what is read, and a field is added in one place (with a new kRecordFormat).
//
// EncodeRecord and DecodeRecord are the way in. Invariants: Decode(Encode(r)) == r for every
// record; DecodeRecord neither reads outside its input nor allocates more than a small multiple of
// its length, whatever the bytes are.
#include "store/record_codec.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "store/bytes.h"

namespace spate::store {
namespace {

using namespace std::string_view_literals;

class Encoder {
 public:
  explicit Encoder(std::string& out) : bytes_(out) {}

  template <typename T>
    requires std::is_unsigned_v<T>
  void Number(const T& v) {
    bytes_.Varint(v);
  }
  template <typename Tag, typename Rep>
  void Number(const Id<Tag, Rep>& v) {
    bytes_.Varint(v.value);
  }
  void Signed(const int32_t& v) { bytes_.Zigzag(v); }
  void Maybe(const std::optional<uint32_t>& v) { bytes_.Varint(v ? uint64_t{*v} + 1 : 0); }
  void Maybe(const std::optional<Instant>& v) {
    Flag(v.has_value());
    if (v) bytes_.Zigzag(v->ns);
  }
  void Flag(const bool& v) { bytes_.Byte(v ? 1 : 0); }
  template <typename E>
  void Choice(const E& v, E) {
    bytes_.Byte(static_cast<uint8_t>(v));
  }
  void Time(const Duration& v) { bytes_.Zigzag(v.ns); }
  void Time(const Instant& v) { bytes_.Zigzag(v.ns); }
  // Last fields that records of this format came to have; without them they end before it.
  void Later(const Duration& v) {
    if (v != Duration()) Time(v);
  }
  // `more`: another last field comes behind it.
  void Later(const std::optional<uint32_t>& v, bool more = false) {
    if (v || more) Maybe(v);
  }
  void Later(const bool& v) {
    if (v) Flag(v);
  }
  void Later(const std::string& v) {
    if (!v.empty()) Text(v);
  }
  template <typename T, typename Each>
  void Later(const std::vector<T>& v, Each each, bool more = false) {
    if (!v.empty() || more) List(v, each);
  }
  void Text(const std::string& v) { bytes_.Text(v); }
  template <typename T, typename Each>
  void List(const std::vector<T>& v, Each each) {
    bytes_.Varint(v.size());
    for (const T& item : v) each(*this, item);
  }

 private:
  ByteWriter bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : bytes_(in) {}
  bool Complete() const { return bytes_.ok() && bytes_.left() == 0; }

  template <typename T>
    requires std::is_unsigned_v<T>
  void Number(T& v) {
    uint64_t read = bytes_.Varint();
    if (read > std::numeric_limits<T>::max()) bytes_.Fail();
    v = static_cast<T>(read);
  }
  template <typename Tag, typename Rep>
  void Number(Id<Tag, Rep>& v) {
    Number(v.value);
  }
  void Signed(int32_t& v) {
    int64_t read = bytes_.Zigzag();
    if (read < INT32_MIN || read > INT32_MAX) bytes_.Fail();
    v = static_cast<int32_t>(read);
  }
  // 0 for none, else one more.
  void Maybe(std::optional<uint32_t>& v) {
    uint64_t read = bytes_.Varint();
    if (read > uint64_t{UINT32_MAX} + 1) bytes_.Fail();
    if (read > 0) v = static_cast<uint32_t>(read - 1);
  }
  void Maybe(std::optional<Instant>& v) {
    bool is_there = false;
    Flag(is_there);
    if (is_there) v = Instant{bytes_.Zigzag()};
  }
  void Flag(bool& v) {
    uint8_t read = bytes_.Byte();
    if (read > 1) bytes_.Fail();
    v = read == 1;
  }
  template <typename E>
  void Choice(E& v, E last) {
    uint8_t read = bytes_.Byte();
    if (read > static_cast<uint8_t>(last)) bytes_.Fail();
    v = static_cast<E>(read);
  }
  void Time(Duration& v) { v.ns = bytes_.Zigzag(); }
  void Time(Instant& v) { v.ns = bytes_.Zigzag(); }
  void Later(Duration& v) {
    if (bytes_.left() > 0) Time(v);
  }
  void Later(std::optional<uint32_t>& v, bool = false) {
    if (bytes_.left() > 0) Maybe(v);
  }
  void Later(bool& v) {
    if (bytes_.left() > 0) Flag(v);
  }
  void Later(std::string& v) {
    if (bytes_.left() > 0) Text(v);
  }
  template <typename T, typename Each>
  void Later(std::vector<T>& v, Each each, bool = false) {
    if (bytes_.left() > 0) List(v, each);
  }
  void Text(std::string& v) { v = bytes_.Text(); }
  template <typename T, typename Each>
  void List(std::vector<T>& v, Each each) {
    uint64_t count = bytes_.Varint();
    // Every item takes at least one byte, so a count beyond what is left is damage, and the
    // memory taken is bounded by the input.
    if (count > bytes_.left()) {
      bytes_.Fail();
      return;
    }
    v.reserve(count);
    for (uint64_t i = 0; i < count && bytes_.ok(); ++i) each(*this, v.emplace_back());
  }

 private:
  ByteReader bytes_;
};

constexpr auto kNumbers = [](auto& a, auto& v) { a.Number(v); };

// T is const in the encoder's calls.
template <typename T, typename U>
concept Is = std::is_same_v<std::remove_const_t<T>, U>;

constexpr auto kRanges = [](auto& a, auto& range) {
  a.Number(range.first);
  a.Number(range.count);
};
constexpr auto kRuns = [](auto& a, auto& run) {
  a.Number(run.first);
  a.Number(run.count);
  a.Number(run.request);
};
constexpr auto kTexts = [](auto& a, auto& text) { a.Text(text); };
constexpr auto kNeeds = [](auto& a, auto& needs) {
  a.Number(needs.milli_cpus);
  a.Number(needs.memory);
  a.List(needs.named, [](auto& b, auto& named) {
    b.Text(named.name);
    b.Number(named.count);
  });
  a.Time(needs.time);
  a.List(needs.labels, kTexts);
  a.Text(needs.on_node);
  a.List(needs.not_on, kTexts);
};
constexpr auto kClasses = [](auto& a, auto& of_tasks) {
  kNeeds(a, of_tasks.needs);
  a.Signed(of_tasks.priority);
  a.Maybe(of_tasks.retries);
  a.Number(of_tasks.gang.procs);
  a.Number(of_tasks.gang.nodes);
  a.Flag(of_tasks.gang.whole);
  a.Choice(of_tasks.gang.start, kLastOf<GangShape::Start>);
  a.Maybe(of_tasks.deadline);
  a.Choice(of_tasks.bound, kLastOf<BoundBy>);
};
constexpr auto kAfter = [](auto& a, auto& after) {
  a.Number(after.job);
  a.Choice(after.kind, AfterKind::kEach);
};

constexpr auto kExits = [](auto& a, auto& range) {
  a.Number(range.first);
  a.Number(range.last);
};

void Fields(auto& a, Is<JobPolicy> auto& v) {
  a.Number(v.retry.retries);
  a.Number(v.retry.retry_on);
  a.Time(v.retry.delay);
  a.Flag(v.retry.once);
  a.Choice(v.halt.when, HaltRule::When::kNow);
  a.Choice(v.halt.what, HaltRule::What::kDone);
  a.Number(v.halt.count);
  a.Number(v.halt.percent);
  a.Number(v.max_failures);
  a.Number(v.max_running);
  a.Number(v.pause_after_failures);
  a.Number(v.weight);
  a.Flag(v.pause_despite_success);
  a.List(v.retry.exits, kExits);
  a.Number(v.retry.elsewhere);
  a.Number(v.retry.memory_growth);
  a.Number(v.retry.max_memory);
}
void Fields(auto& a, Is<JobPlan> auto& v) {
  a.Number(v.task_count);
  a.Flag(v.open);
  a.List(v.requests, kClasses);
  a.List(v.runs, kRuns);
  a.List(v.order, kNumbers);
  Fields(a, v.policy);
  a.Text(v.user);
  a.Signed(v.priority);
  a.List(v.after, kAfter);
}
void Fields(auto& a, Is<engine::JobAccepted> auto& v) {
  a.Number(v.job);
  Fields(a, v.plan);
}
void Fields(auto& a, Is<engine::JobGrown> auto& v) {
  a.Number(v.job);
  a.Number(v.count);
  a.List(v.new_requests, kClasses);
  a.List(v.runs, kRuns);
  a.Later(v.key);
}
void Fields(auto& a, Is<engine::TasksLinked> auto& v) {
  a.Number(v.job);
  a.List(v.edges, [](auto& b, auto& edge) {
    b.Number(edge.parent);
    b.Number(edge.child);
  });
}
void Fields(auto& a, Is<engine::JobSealed> auto& v) { a.Number(v.job); }
void Fields(auto& a, Is<engine::PolicyChanged> auto& v) {
  a.Number(v.job);
  Fields(a, v.policy);
}
void Fields(auto& a, Is<engine::TasksWithdrawn> auto& v) {
  a.Number(v.job);
  a.List(v.tasks, kRanges);
  a.Text(v.reason);
  a.Later(v.parent, v.left_list);
  a.Later(v.left_list);
}
void Fields(auto& a, Is<engine::TasksCancelled> auto& v) {
  a.Number(v.job);
  a.List(v.tasks, kRanges);
  a.Text(v.reason);
}
void Fields(auto& a, Is<engine::TasksReopened> auto& v) {
  a.Number(v.job);
  a.List(v.tasks, kRanges);
  a.Later(v.after, kAfter, v.succeeded);
  a.Later(v.succeeded);
}
void Fields(auto& a, Is<engine::NeedsChanged> auto& v) {
  a.Number(v.job);
  a.List(v.new_requests, kClasses);
  a.List(v.runs, kRuns);
}
void Fields(auto& a, Is<engine::JobHeld> auto& v) {
  a.Number(v.job);
  a.Choice(v.reason, engine::HoldReason::kDamaged);
  a.Time(v.at);
}
void Fields(auto& a, Is<engine::JobReleased> auto& v) { a.Number(v.job); }
void Fields(auto& a, Is<engine::Leased> auto& v) {
  a.Number(v.node);
  a.Number(v.job);
  a.Number(v.attempt);
  a.List(v.tasks, kRanges);
}
void Fields(auto& a, Is<engine::GangLeased> auto& v) {
  a.Number(v.job);
  a.Number(v.index);
  a.Number(v.attempt);
  a.List(v.parts, [](auto& b, auto& part) {
    b.Number(part.node);
    b.Number(part.procs);
  });
}
void Fields(auto& a, Is<engine::GangReserved> auto& v) {
  a.Number(v.job);
  a.Number(v.index);
  a.Time(v.start);
  a.Text(v.reason);
  a.Time(v.at);
  a.Time(v.expected);
  a.Later(v.clock_ahead);
}
void Fields(auto& a, Is<engine::GangPolicyChanged> auto& v) {
  a.Choice(v.policy, kLastOf<GangPolicy>);
}
void Fields(auto& a, Is<engine::Returned> auto& v) {
  a.Number(v.node);
  a.Number(v.job);
  a.Number(v.attempt);
  a.List(v.tasks, kRanges);
}
void Fields(auto& a, Is<engine::JobFinished> auto& v) {
  a.Number(v.job);
  a.Number(v.counts.total);
  a.Number(v.counts.queued);
  a.Number(v.counts.leased);
  a.Number(v.counts.succeeded);
  a.Number(v.counts.failed);
  a.Number(v.counts.cancelled);
  a.Number(v.counts.unknown);
}
void Fields(auto& a, Is<engine::JobCancelled> auto& v) {
  a.Number(v.job);
  a.Text(v.reason);
}
void Fields(auto& a, Is<engine::DependencyMet> auto& v) {
  a.Number(v.job);
  a.Number(v.on);
}
void Fields(auto& a, Is<engine::UserChanged> auto& v) {
  a.Text(v.user);
  a.Number(v.rule.weight);
  a.Number(v.rule.max_running);
  a.Number(v.rule.max_queued);
  a.Number(v.rule.max_output);
  a.Text(v.rule.group);
  a.Flag(v.rule.may_add_pools);
}
void Fields(auto& a, Is<engine::HalfLifeChanged> auto& v) { a.Time(v.half_life); }
void Fields(auto& a, Is<engine::UseCounted> auto& v) {
  a.Time(v.at);
  a.List(v.users, [](auto& b, auto& each) {
    b.Text(each.user);
    b.Number(each.use);
  });
}
void Fields(auto& a, Is<engine::PriorityChanged> auto& v) {
  a.Number(v.job);
  a.Signed(v.priority);
}
void Fields(auto& a, Is<engine::ClockStepped> auto& v) {
  a.Time(v.from);
  a.Time(v.to);
}
void Fields(auto& a, Is<engine::NodeDrained> auto& v) {
  a.Number(v.node);
  a.Later(v.reason);
}
void Fields(auto& a, Is<engine::NodeUndrained> auto& v) { a.Number(v.node); }
void Fields(auto& a, Is<engine::NodeRemoved> auto& v) { a.Number(v.node); }
void Fields(auto& a, Is<engine::NodeSick> auto& v) {
  a.Number(v.node);
  a.Number(v.job);
  a.Text(v.text);
}
void Fields(auto& a, Is<engine::NodeCleared> auto& v) {
  a.Number(v.node);
  a.Number(v.job);
}
void Fields(auto& a, Is<engine::NodeBlamed> auto& v) {
  a.Number(v.node);
  a.List(v.blames, [](auto& b, auto& blame) {
    b.Number(blame.by);
    b.Text(blame.user);
  });
}

RecordKind KindOf(const engine::JobAccepted&) { return RecordKind::kJobAccepted; }
RecordKind KindOf(const engine::JobGrown&) { return RecordKind::kJobGrown; }
RecordKind KindOf(const engine::TasksLinked&) { return RecordKind::kTasksLinked; }
RecordKind KindOf(const engine::JobSealed&) { return RecordKind::kJobSealed; }
RecordKind KindOf(const engine::PolicyChanged&) { return RecordKind::kPolicyChanged; }
RecordKind KindOf(const engine::TasksWithdrawn&) { return RecordKind::kTasksWithdrawn; }
RecordKind KindOf(const engine::TasksReopened&) { return RecordKind::kTasksReopened; }
RecordKind KindOf(const engine::JobHeld&) { return RecordKind::kJobHeld; }
RecordKind KindOf(const engine::JobReleased&) { return RecordKind::kJobReleased; }
RecordKind KindOf(const engine::Leased&) { return RecordKind::kLeased; }
RecordKind KindOf(const engine::Returned&) { return RecordKind::kReturned; }
RecordKind KindOf(const engine::JobFinished&) { return RecordKind::kJobFinished; }
RecordKind KindOf(const engine::JobCancelled&) { return RecordKind::kJobCancelled; }
RecordKind KindOf(const engine::DependencyMet&) { return RecordKind::kDependencyMet; }
RecordKind KindOf(const engine::UserChanged&) { return RecordKind::kUserChanged; }
RecordKind KindOf(const engine::NodeDrained&) { return RecordKind::kNodeDrained; }
RecordKind KindOf(const engine::NodeUndrained&) { return RecordKind::kNodeUndrained; }
RecordKind KindOf(const engine::NodeRemoved&) { return RecordKind::kNodeRemoved; }
RecordKind KindOf(const engine::NodeSick&) { return RecordKind::kNodeSick; }
RecordKind KindOf(const engine::NodeCleared&) { return RecordKind::kNodeCleared; }
RecordKind KindOf(const engine::NodeBlamed&) { return RecordKind::kNodeBlamed; }
RecordKind KindOf(const engine::HalfLifeChanged&) { return RecordKind::kHalfLifeChanged; }
RecordKind KindOf(const engine::UseCounted&) { return RecordKind::kUseCounted; }
RecordKind KindOf(const engine::PriorityChanged&) { return RecordKind::kPriorityChanged; }
RecordKind KindOf(const engine::ClockStepped&) { return RecordKind::kClockStepped; }
RecordKind KindOf(const engine::NeedsChanged&) { return RecordKind::kNeedsChanged; }
RecordKind KindOf(const engine::GangLeased&) { return RecordKind::kGangLeased; }
RecordKind KindOf(const engine::GangReserved&) { return RecordKind::kGangReserved; }
RecordKind KindOf(const engine::GangPolicyChanged&) { return RecordKind::kGangPolicyChanged; }
RecordKind KindOf(const engine::TasksCancelled&) { return RecordKind::kTasksCancelled; }

constexpr std::string_view kKindNames[kRecordKindLast + 1] = {
    "?"sv,
    "job accepted"sv,
    "job grown"sv,
    "job sealed"sv,
    "policy changed"sv,
    "withdrawn"sv,
    "reopened"sv,
    "job held"sv,
    "job released"sv,
    "leased"sv,
    "returned"sv,
    "job finished"sv,
    "job cancelled"sv,
    "dependency met"sv,
    "user changed"sv,
    "node drained"sv,
    "node undrained"sv,
    "node removed"sv,
    "node sick"sv,
    "node cleared"sv,
    "needs changed"sv,
    "cancelled"sv,
    "linked"sv,
    "gang leased"sv,
    "gang reserved"sv,
    "gang policy changed"sv,
    "node blamed"sv,
    "half-life changed"sv,
    "use counted"sv,
    "priority changed"sv,
    "clock stepped"sv,
};

template <typename T>
Result<engine::Record> DecodeAs(int kind, std::string_view data) {
  Decoder decoder(data.substr(1));
  T record;
  Fields(decoder, record);
  if (!decoder.Complete()) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("the bytes of a '{}' record are damaged", RecordKindName(kind)));
  }
  return engine::Record(std::move(record));
}

// Decodes a record of a known kind and format.
Result<engine::Record> DecodeKnown(int kind, std::string_view data) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kJobAccepted:
      return DecodeAs<engine::JobAccepted>(kind, data);
    case RecordKind::kJobGrown:
      return DecodeAs<engine::JobGrown>(kind, data);
    case RecordKind::kJobSealed:
      return DecodeAs<engine::JobSealed>(kind, data);
    case RecordKind::kPolicyChanged:
      return DecodeAs<engine::PolicyChanged>(kind, data);
    case RecordKind::kTasksWithdrawn:
      return DecodeAs<engine::TasksWithdrawn>(kind, data);
    case RecordKind::kTasksReopened:
      return DecodeAs<engine::TasksReopened>(kind, data);
    case RecordKind::kJobHeld:
      return DecodeAs<engine::JobHeld>(kind, data);
    case RecordKind::kJobReleased:
      return DecodeAs<engine::JobReleased>(kind, data);
    case RecordKind::kLeased:
      return DecodeAs<engine::Leased>(kind, data);
    case RecordKind::kReturned:
      return DecodeAs<engine::Returned>(kind, data);
    case RecordKind::kJobFinished:
      return DecodeAs<engine::JobFinished>(kind, data);
    case RecordKind::kJobCancelled:
      return DecodeAs<engine::JobCancelled>(kind, data);
    case RecordKind::kDependencyMet:
      return DecodeAs<engine::DependencyMet>(kind, data);
    case RecordKind::kUserChanged:
      return DecodeAs<engine::UserChanged>(kind, data);
    case RecordKind::kNodeDrained:
      return DecodeAs<engine::NodeDrained>(kind, data);
    case RecordKind::kNodeUndrained:
      return DecodeAs<engine::NodeUndrained>(kind, data);
    case RecordKind::kNodeRemoved:
      return DecodeAs<engine::NodeRemoved>(kind, data);
    case RecordKind::kNodeSick:
      return DecodeAs<engine::NodeSick>(kind, data);
    case RecordKind::kNodeCleared:
      return DecodeAs<engine::NodeCleared>(kind, data);
    case RecordKind::kNodeBlamed:
      return DecodeAs<engine::NodeBlamed>(kind, data);
    case RecordKind::kNeedsChanged:
      return DecodeAs<engine::NeedsChanged>(kind, data);
    case RecordKind::kTasksCancelled:
      return DecodeAs<engine::TasksCancelled>(kind, data);
    case RecordKind::kTasksLinked:
      return DecodeAs<engine::TasksLinked>(kind, data);
    case RecordKind::kGangLeased:
      return DecodeAs<engine::GangLeased>(kind, data);
    case RecordKind::kGangReserved:
      return DecodeAs<engine::GangReserved>(kind, data);
    case RecordKind::kGangPolicyChanged:
      return DecodeAs<engine::GangPolicyChanged>(kind, data);
    case RecordKind::kHalfLifeChanged:
      return DecodeAs<engine::HalfLifeChanged>(kind, data);
    case RecordKind::kUseCounted:
      return DecodeAs<engine::UseCounted>(kind, data);
    case RecordKind::kPriorityChanged:
      return DecodeAs<engine::PriorityChanged>(kind, data);
    case RecordKind::kClockStepped:
      return DecodeAs<engine::ClockStepped>(kind, data);
  }
  return Fail(ErrorKind::kCorrupt, "unknown kind of record");
}

}  // namespace

const char* RecordKindName(int kind) {
  return kind >= 1 && kind <= kRecordKindLast ? kKindNames[kind].data() : "?";
}

EncodedRecord EncodeRecord(const engine::Record& record) {
  EncodedRecord encoded;
  encoded.data.push_back(static_cast<char>(kRecordFormat));
  Encoder encoder(encoded.data);
  std::visit(
      [&](const auto& r) {
        if constexpr (std::is_same_v<std::decay_t<decltype(r)>, engine::AttemptEnded>) {
          CHECK(!"an AttemptEnded is a row of the attempt table");
        } else {
          encoded.kind = KindOf(r);
          Fields(encoder, r);
        }
      },
      record);
  return encoded;
}

Result<engine::Record> DecodeRecord(int kind, std::string_view data) {
  if (kind < 1 || kind > kRecordKindLast) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("record kind {} is unknown: the journal is damaged, or a newer release "
                            "wrote it",
                            kind));
  }
  if (data.empty()) return Fail(ErrorKind::kCorrupt, "the bytes of a record are missing");
  auto format = static_cast<uint8_t>(data.front());
  if (format != kRecordFormat) {
    return Fail(
        ErrorKind::kCorrupt,
        fmt::format("a record has format {}, and this release reads {}: the journal is damaged, or "
                    "a newer release wrote it",
                    format, kRecordFormat));
  }
  return DecodeKnown(kind, data);
}

uint32_t RecordChecksum(uint64_t seq, int kind, std::string_view data) {
  std::string head;
  ByteWriter(head).Fixed64(seq);
  ByteWriter(head).Byte(static_cast<uint8_t>(kind));
  uint64_t head_hash = XXH3_64bits(head.data(), head.size());
  return static_cast<uint32_t>(XXH3_64bits_withSeed(data.data(), data.size(), head_hash));
}

}  // namespace spate::store
