// Frames between a shepherd and its parent (docs/formats/shepherd.md has the same grammar).
//
//   frame   := length:u32 content            length counts the content, 1 to kMaxFrame
//   content := type:u8 version:u8? fields    version in Setup and Adopted
//            | 3 head:blob body              Start
//   fields  := what the message lists, in wire/field_bytes.h's encoding
//   head    := fields of Start
//   body    := cwd:text stdin:text stdout:text stderr:text late:u8
//              environment:list(text) checks:list(kind:u8 text)
//              puts:list(name:text mode:u32 from:text) gets:list(text)
//              commands:list(step:u16 argv:list(text) environment:list(text)) around:blob
//   around  := fields of StartView::Surroundings; empty when there is none
//   text    := length:u32 bytes NUL          no NUL among the bytes; it becomes a C string where
//                                            it lies, so that the reader needs no copy
//   blob    := length:u32 bytes              any bytes
//   list(x) := count:u32 x...                integers in the machine's order, unaligned
//
// A body must be used up to its last byte. Decoders never read past a frame and never reserve
// memory for a count which the remaining bytes cannot hold.
#include "shepherd/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "core/model/task_files.h"
#include "wire/field_bytes.h"

namespace spate::shepherd {
namespace {

// Appends a frame; the length is put in at the end.
class Writer {
 public:
  Writer(std::string& out, FrameType type) : out_(out), begin_(out.size()) {
    out_.append(4, '\0');
    Number(static_cast<uint8_t>(type));
  }
  template <typename T>
  void Fields(const T& message) {
    wire::AppendBytes(out_, message);
  }
  template <typename T>
  void Number(T value) {
    static_assert(std::is_integral_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Blob(std::string_view bytes) {
    Number(static_cast<uint32_t>(bytes.size()));
    out_.append(bytes);
  }
  void Text(std::string_view text) {
    sound_ = sound_ && text.find('\0') == text.npos;
    Blob(text);
    out_.push_back('\0');
  }
  void Texts(const std::vector<std::string>& texts) {
    Number(static_cast<uint32_t>(texts.size()));
    for (const std::string& text : texts) Text(text);
  }
  // True if the frame may be sent; if not, nothing of it stays.
  [[nodiscard]] bool Close() {
    size_t content = out_.size() - begin_ - 4;
    if (!sound_ || content > kMaxFrame) {
      out_.resize(begin_);
      return false;
    }
    auto length = static_cast<uint32_t>(content);
    std::memcpy(out_.data() + begin_, &length, 4);
    return true;
  }

 private:
  std::string& out_;
  size_t begin_;
  bool sound_ = true;
};

// Reads fields until one does not fit; from then on everything reads as zero.
class Reader {
 public:
  explicit Reader(std::string_view content) : rest_(content) {}

  template <typename T>
  T Fields(std::string_view bytes) {
    auto message = wire::FromBytes<T>("", bytes);
    if (!message) Spoil();
    return message ? std::move(*message) : T();
  }

  template <typename T>
  T Number() {
    T value{};
    if (rest_.size() < sizeof value) {
      Spoil();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  bool Flag() {
    auto value = Number<uint8_t>();
    if (value > 1) Spoil();
    return value == 1;
  }
  std::string_view Blob() {
    auto size = Number<uint32_t>();
    if (size > rest_.size()) {
      Spoil();
      return {};
    }
    std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  // A C string inside the frame.
  const char* Text() {
    std::string_view bytes = Blob();
    if (!ok_ || rest_.empty() || rest_.front() != '\0' ||
        std::memchr(bytes.data(), 0, bytes.size()) != nullptr) {
      Spoil();
      return "";
    }
    rest_.remove_prefix(1);
    return bytes.data();
  }
  // A count of things of at least `least` bytes each.
  uint32_t Count(size_t least) {
    auto count = Number<uint32_t>();
    if (count > rest_.size() / least) {
      Spoil();
      return 0;
    }
    return count;
  }
  void Spoil() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::unexpected<Error> Damaged(std::string_view what) {
  return Fail(ErrorKind::kCorrupt,
              fmt::format("a damaged message ({}) between Spate and a shepherd", what));
}

void MustClose(Writer& writer) {
  bool closed = writer.Close();
  CHECK(closed);
}

template <typename T>
concept Versioned = requires { T::kVersioned; };

Start ReadStartHead(Reader& in) {
  if (in.Number<uint8_t>() != static_cast<uint8_t>(FrameType::kStart)) in.Spoil();
  return in.Fields<Start>(in.Blob());
}

void ReadChecks(Reader& in, StartView& view) {
  uint32_t count = in.Count(6);
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    auto kind = in.Number<uint8_t>();
    if (kind > static_cast<uint8_t>(CheckKind::kLinePlus)) in.Spoil();
    const char* file = in.Text();
    view.checks.push_back({static_cast<CheckKind>(kind), file});
  }
}

void ReadFiles(Reader& in, StartView& view) {
  uint32_t puts = in.Count(14);
  for (uint32_t i = 0; i < puts && in.ok(); ++i) {
    const char* name = in.Text();
    auto mode = in.Number<uint32_t>();
    // Whatever those before us have checked: these are laid down as somebody's.
    if (!CheckTaskFileName(name)) in.Spoil();
    view.puts.push_back({name, mode, in.Text()});
  }
  uint32_t gets = in.Count(5);
  for (uint32_t i = 0; i < gets && in.ok(); ++i) {
    view.gets.push_back(in.Text());
    if (!CheckTaskFileName(view.gets.back())) in.Spoil();
  }
}

void ReadCommands(Reader& in, StartView& view) {
  uint32_t count = in.Count(10);
  if (count == 0) in.Spoil();
  int last_step = -1;
  uint16_t command = 0;
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    int step = in.Number<uint16_t>();
    if (step != last_step && step != last_step + 1) in.Spoil();
    command = step == last_step ? static_cast<uint16_t>(command + 1) : uint16_t{0};
    if (step == last_step && command == 0) in.Spoil();
    last_step = step;
    uint32_t words = in.Count(5);
    if (words == 0) in.Spoil();
    auto first = static_cast<uint32_t>(view.words.size());
    for (uint32_t w = 0; w < words && in.ok(); ++w) view.words.push_back(in.Text());
    view.words.push_back(nullptr);
    auto first_variable = static_cast<uint32_t>(view.variables.size());
    uint32_t variables = in.Count(5);
    for (uint32_t v = 0; v < variables && in.ok(); ++v) view.variables.push_back(in.Text());
    view.commands.push_back(
        {static_cast<uint16_t>(step), command, first, words, first_variable, variables});
  }
}

Status CheckForwards(const std::vector<TaskForward>& forwards) {
  for (const TaskForward& forward : forwards) {
    if (forward.to.empty()) return Fail(ErrorKind::kInvalid, "what is forwarded has no target");
    if (forward.descriptor <= kMostDescriptor) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("a task has descriptors up to {} for what it forwards, and it takes "
                            "more: forward files",
                            kMostDescriptor));
  }
  return {};
}

// CheckResident without making a body of each task.
bool MayBeResident(const StartView& view) {
  auto none = [](const char* file) { return *file == '\0'; };
  return view.commands.size() == 1 && view.checks.empty() && view.puts.empty() &&
         view.gets.empty() && view.around.links.empty() && view.around.forwards.empty() &&
         none(view.stdin_file) && none(view.stdout_file) && none(view.stderr_file) &&
         !view.late_stderr;
}

void ReadAround(Reader& in, StartView& view) {
  std::string_view bytes = in.Blob();
  view.around =
      bytes.empty() ? StartView::Surroundings() : in.Fields<StartView::Surroundings>(bytes);
  if (!CheckForwards(view.around.forwards)) in.Spoil();
  if (view.around.resident && !MayBeResident(view)) in.Spoil();
  bool one_step = !view.commands.empty() && view.commands.back().step == 0;
  bool plain = one_step && view.around.links.empty() && !view.around.resident;
  if (view.around.first_rank && !plain) in.Spoil();
  if (view.around.links.empty()) return;
  std::vector<uint16_t> commands;
  for (const StartView::CommandView& one : view.commands) {
    commands.resize(one.step + 1u);
    ++commands.back();
  }
  if (!CheckLinks(view.around.links, commands)) in.Spoil();
}

std::vector<uint16_t> CommandsOf(const TaskBody& body) {
  std::vector<uint16_t> commands;
  for (const Step& step : body.steps) {
    CHECK(!step.commands.empty());
    commands.push_back(static_cast<uint16_t>(step.commands.size()));
  }
  CHECK(!commands.empty());
  return commands;
}

void PutCommands(Writer& writer, const TaskBody& body) {
  uint32_t count = 0;
  for (const Step& step : body.steps) count += static_cast<uint32_t>(step.commands.size());
  writer.Number(count);
  uint16_t number = 0;
  for (const Step& step : body.steps) {
    for (const Command& command : step.commands) {
      CHECK(!command.argv.empty());
      writer.Number(number);
      writer.Texts(command.argv);
      writer.Texts(command.environment);
    }
    ++number;
  }
}

// The environment of a JobOpening that has none itself.
struct Environment {
  const std::vector<std::string>& texts;
  SPATE_FIELDS(JobOpening::kEnvironment, Named(texts, "environment"));
};

void PutAround(Writer& writer, const TaskBody& body) {
  std::string around;
  bool any = !body.links.empty() || !body.limits.empty() || !body.cpus.empty() ||
             !body.forwards.empty() || body.resident || body.first_rank || body.shares_files;
  if (any) {
    around = wire::BytesOf(StartView::Surroundings{body.links, body.limits, body.cpus,
                                                   body.forwards, body.resident, body.input,
                                                   body.first_rank, body.shares_files});
  }
  writer.Blob(around);
}

std::unexpected<Error> OfVersion(uint8_t version) {
  return Fail(ErrorKind::kCorrupt,
              fmt::format("it speaks version {} of the shepherds' protocol, and "
                          "this program knows versions {} to {}",
                          version, kOldestVersion, kProtocolVersion));
}

// True if the sender of a newer version states that this one understands it.
template <typename Message>
bool IsForUs(const Result<Message>& message) {
  if constexpr (std::is_same_v<Message, Adopted>) {
    return message && message->adopters != 0 && message->adopters <= kProtocolVersion;
  } else {
    return false;
  }
}

// The message of this type among those of the variant.
template <typename Variant, size_t kAt = 0>
Result<Variant> DecodeOneOf(std::string_view frame) {
  if constexpr (kAt == std::variant_size_v<Variant>) {
    return Damaged("an unknown type");
  } else {
    using Message = std::variant_alternative_t<kAt, Variant>;
    if (frame.empty() || static_cast<FrameType>(frame.front()) != Message::kType) {
      return DecodeOneOf<Variant, kAt + 1>(frame);
    }
    frame.remove_prefix(1);
    uint8_t version = kProtocolVersion;
    if constexpr (Versioned<Message>) {
      if (frame.empty()) return Damaged("no version");
      version = static_cast<uint8_t>(frame.front());
      if (version < kOldestVersion) return OfVersion(version);
      frame.remove_prefix(1);
    }
    auto message = wire::FromBytes<Message>("a message of a shepherd", frame);
    if (version > kProtocolVersion && !IsForUs(message)) return OfVersion(version);
    if (!message) return std::unexpected(std::move(message).error());
    return Variant(std::move(*message));
  }
}

bool IsSound(const Report& report) {
  if (auto* live = std::get_if<LiveOutput>(&report)) return live->stream == 1 || live->stream == 2;
  auto* ended = std::get_if<Ended>(&report);
  if (ended == nullptr) return true;
  for (const OutputStream* stream : ended->output.streams()) {
    if (!stream->bytes.empty() && !stream->spool.empty()) return false;
  }
  return true;
}

}  // namespace

TaskBody StartView::ToBody() const {
  TaskBody body;
  for (const CommandView& command : commands) {
    if (command.command == 0) body.steps.emplace_back();
    Command& to = body.steps.back().commands.emplace_back();
    for (uint32_t i = 0; i < command.count; ++i) to.argv.emplace_back(words[command.first + i]);
    for (uint32_t i = 0; i < command.variable_count; ++i) {
      to.environment.emplace_back(variables[command.first_variable + i]);
    }
  }
  for (const CheckView& check : checks) {
    body.output_checks.push_back({CheckWhen::kOut, check.kind, check.file});
  }
  for (const PutView& put : puts) body.puts.push_back({put.name, put.mode, put.from});
  for (const char* name : gets) body.gets.emplace_back(name);
  body.links = around.links;
  body.limits = around.limits;
  body.cpus = around.cpus;
  body.forwards = around.forwards;
  body.resident = around.resident;
  body.input = around.input;
  body.first_rank = around.first_rank;
  body.shares_files = around.shares_files;
  body.cwd = cwd;
  body.stdin_file = stdin_file;
  body.stdout_file = stdout_file;
  body.stderr_file = stderr_file;
  body.late_stderr = late_stderr;
  for (const char* variable : environment) body.environment.emplace_back(variable);
  return body;
}

template <typename Message>
void Append(std::string& out, const Message& message) {
  Writer writer(out, Message::kType);
  if constexpr (Versioned<Message>) writer.Number(kProtocolVersion);
  writer.Fields(message);
  MustClose(writer);
}
template void Append(std::string&, const Setup&);
template void Append(std::string&, const Withdraw&);
template void Append(std::string&, const EndOrder&);
template void Append(std::string&, const Pause&);
template void Append(std::string&, const Taken&);
template void Append(std::string&, const LeaveOrder&);
template void Append(std::string&, const CloseJob&);
template void Append(std::string&, const Freeze&);
template void Append(std::string&, const Ask&);
template void Append(std::string&, const Started&);
template void Append(std::string&, const TakenBack&);
template void Append(std::string&, const LiveOutput&);
template void Append(std::string&, const MemorySample&);
template void Append(std::string&, const LeftRunning&);
template void Append(std::string&, const Froze&);
template void Append(std::string&, const Exceeded&);
template void Append(std::string&, const UnclaimedOutput&);
template void Append(std::string&, const Answer&);
template void Append(std::string&, const EndedView&);
template void Append(std::string&, const Adopted&);

void AppendOpenJob(std::string& out, const JobOpening& job,
                   const std::vector<std::string>& environment) {
  CHECK(job.environment.empty());
  Writer writer(out, FrameType::kOpenJob);
  writer.Fields(job);
  writer.Fields(Environment{environment});
  MustClose(writer);
}

Status AppendStart(std::string& out, const Start& start, const TaskBody& body) {
  if (Status links = CheckLinks(body.links, CommandsOf(body)); !links) return links;
  if (Status forwards = CheckForwards(body.forwards); !forwards) return forwards;
  if (body.resident) {
    if (Status sound = CheckResident(body); !sound) return sound;
  }
  if (body.first_rank) {
    if (Status sound = CheckRanks(body); !sound) return sound;
  }
  Writer writer(out, FrameType::kStart);
  writer.Blob(wire::BytesOf(start));
  writer.Text(body.cwd);
  writer.Text(body.stdin_file);
  writer.Text(body.stdout_file);
  writer.Text(body.stderr_file);
  writer.Number(static_cast<uint8_t>(body.late_stderr ? 1 : 0));
  writer.Texts(body.environment);
  uint32_t checks = 0;
  for (const Check& check : body.output_checks) checks += check.when == CheckWhen::kOut ? 1 : 0;
  writer.Number(checks);
  for (const Check& check : body.output_checks) {
    if (check.when != CheckWhen::kOut) continue;
    writer.Number(static_cast<uint8_t>(check.kind));
    writer.Text(check.file);
  }
  writer.Number(static_cast<uint32_t>(body.puts.size()));
  for (const TaskPut& put : body.puts) {
    writer.Text(put.name);
    writer.Number(put.mode);
    writer.Text(put.from);
  }
  writer.Texts(body.gets);
  PutCommands(writer, body);
  PutAround(writer, body);
  if (writer.Close()) return {};
  return Fail(ErrorKind::kInvalid, "the command is longer than 64 MB, or has a NUL byte in it");
}

bool IsStart(std::string_view frame) {
  return !frame.empty() && static_cast<FrameType>(frame.front()) == FrameType::kStart;
}

Result<Order> DecodeOrder(std::string_view frame) { return DecodeOneOf<Order>(frame); }

Result<Report> DecodeReport(std::string_view frame) {
  auto report = DecodeOneOf<Report>(frame);
  if (report && !IsSound(*report)) return Damaged("a report");
  return report;
}

Result<Start> DecodeStartHead(std::string_view frame) {
  Reader in(frame);
  Start start = ReadStartHead(in);
  if (!in.ok()) return Damaged("a start");
  return start;
}

Status DecodeStart(std::string_view frame, StartView& view) {
  Reader in(frame);
  view.start = ReadStartHead(in);
  view.cwd = in.Text();
  view.stdin_file = in.Text();
  view.stdout_file = in.Text();
  view.stderr_file = in.Text();
  view.late_stderr = in.Flag();
  view.environment.clear();
  view.checks.clear();
  view.puts.clear();
  view.gets.clear();
  view.words.clear();
  view.variables.clear();
  view.commands.clear();
  uint32_t count = in.Count(5);
  for (uint32_t i = 0; i < count && in.ok(); ++i) view.environment.push_back(in.Text());
  ReadChecks(in, view);
  ReadFiles(in, view);
  ReadCommands(in, view);
  ReadAround(in, view);
  if (!in.done()) return Damaged("a start");
  return {};
}

char* FrameBuffer::Room(size_t least) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - end_ < least) {
    buffer_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() - end_ < least) buffer_.resize(std::max(end_ + least, buffer_.size() * 2));
  }
  return buffer_.data() + end_;
}

Result<std::string_view> FrameBuffer::Next() {
  if (end_ - begin_ < 4) return std::string_view();
  uint32_t length = 0;
  std::memcpy(&length, buffer_.data() + begin_, 4);
  if (length == 0 || length > kMaxFrame) return Damaged("the length of a frame");
  if (end_ - begin_ - 4 < length) return std::string_view();
  std::string_view frame(buffer_.data() + begin_ + 4, length);
  begin_ += 4 + static_cast<size_t>(length);
  return frame;
}

}  // namespace spate::shepherd
