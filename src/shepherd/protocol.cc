// Frames between a shepherd and its parent (docs/formats/shepherd.md has the same grammar).
//
//   frame   := length:u32 content            length counts the content, 1 to kMaxFrame
//   content := type:u8 fields                all integers in the machine's order, unaligned
//   text    := length:u32 bytes NUL          no NUL among the bytes; used where it becomes a
//                                            C string, so that the reader needs no copy
//   blob    := length:u32 bytes              any bytes
//   list(x) := count:u32 x...
//   ref     := job:u32 index:u32 attempt:u16
//
//   Setup     := 1 version:u8 slot:u16 spool:text cgroup:text job_folder:text
//                open_files:u64 home_cpu:i32 node_folder:text adopt_patience:i64 node_id:text
//   OpenJob   := 2 job:u32 cwd:text environment:list(text) nice:i32 flags:u8 patience:i64
//                limits umask:i32 user task_folders:text
//                flags: 1 measure_io, 2 live_output, 4 a user follows, 8 inherit
//   limits    := time_limit:i64 percent:u32 warn_time:i64 kill_grace:i64
//   user      := nothing, or user:u32 group:u32 groups:list(u32) name:text home:text shell:text
//   Start     := 3 head cwd:text stdin:text stdout:text stderr:text late:u8
//                environment:list(text) checks:list(kind:u8 text)
//                puts:list(name:text mode:u32 from:text) gets:list(text)
//                commands:list(step:u16 argv:list(text))
//   head      := sequence:u64 ref slot:u16 flags:u8 milli_cpus:u32 memory:u64
//                named:list(name:text count:u32) given:list(name:text indices:list(text))
//                flags: 1 tell_start, 2 sample_memory
//   TakeBack  := 4 ref
//   End       := 5 ref kill:u8 cause:u8
//   Pause     := 6 paused:u8
//   Taken     := 7 ref
//   Leave     := 8
//   CloseJob  := 9 job:u32
//   Started   := 65 ref when:i64
//   TakenBack := 66 ref
//   Live      := 67 ref stream:u8 blob
//   Memory    := 68 ref bytes:u64
//   Ended     := 69 ref slot:u16 cause:u8 source:u8 status:i32 start:i64 wall:i64 user:i64
//   system:i64
//                peak:u64 read:i64 written:i64 left_behind:u32 out_total:u64 err_total:u64
//                note:blob processes:list(step:u16 command:u16 rank:u32 status:i32)
//                stream(out) stream(err) stream(files)
//   stream    := total:u64 bytes:blob spool:blob       one of the two is empty
//   Adopted   := 70 version:u8 ends:u32 running:u8 (since:i64 head limits)?
//
// A content must be used up to its last byte. Decoders never read past it and never reserve
// memory for a count which the remaining bytes cannot hold.
#include "shepherd/protocol.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "core/model/task_files.h"

namespace spate::shepherd {
namespace {

// Appends a frame; the length is put in at the end.
class Writer {
 public:
  Writer(std::string& out, uint8_t type) : out_(out), begin_(out.size()) {
    out_.append(4, '\0');
    Number(type);
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
  void Ref(const AttemptRef& ref) {
    Number(ref.job.value);
    Number(ref.index);
    Number(ref.attempt.value);
  }
  // Whether the frame may be sent; when not, nothing of it stays.
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
  AttemptRef Ref() {
    AttemptRef ref;
    ref.job = JobId(Number<uint32_t>());
    ref.index = Number<uint32_t>();
    ref.attempt = Attempt(Number<uint16_t>());
    return ref;
  }
  Cause ReadCause() {
    auto value = Number<uint8_t>();
    if (value >= kCauseCount) Spoil();
    return ok_ ? static_cast<Cause>(value) : Cause::kSuccess;
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

std::unexpected<Error> Damaged(const char* what) {
  return Fail(ErrorKind::kCorrupt,
              std::string("a damaged message (") + what + ") between spate and a shepherd");
}

enum OpenJobFlags : uint8_t { kMeasureIo = 1, kLive = 2, kOtherUser = 4, kInherit = 8 };
enum StartFlags : uint8_t { kTellStart = 1, kSampleMemory = 2 };

void MustClose(Writer& writer) {
  bool closed = writer.Close();
  CHECK(closed);
}

Setup ReadSetup(Reader& in) {
  Setup setup;
  if (in.Number<uint8_t>() != kProtocolVersion) in.Spoil();
  setup.slot = in.Number<uint16_t>();
  setup.spool_folder = in.Text();
  setup.cgroup = in.Text();
  setup.job_folder = in.Text();
  setup.open_files = in.Number<uint64_t>();
  setup.home_cpu = in.Number<int32_t>();
  setup.node_folder = in.Text();
  setup.adopt_patience = {in.Number<int64_t>()};
  setup.node_id = in.Text();
  return setup;
}

void PutLimits(Writer& writer, const JobLimits& limits) {
  writer.Number(limits.time_limit.ns);
  writer.Number(limits.time_limit_percent);
  writer.Number(limits.warn_time.ns);
  writer.Number(limits.kill_grace.ns);
}

JobLimits ReadLimits(Reader& in) {
  JobLimits limits;
  limits.time_limit = {in.Number<int64_t>()};
  limits.time_limit_percent = in.Number<uint32_t>();
  limits.warn_time = {in.Number<int64_t>()};
  limits.kill_grace = {in.Number<int64_t>()};
  return limits;
}

void PutUser(Writer& writer, const TaskUser& user) {
  writer.Number(user.user);
  writer.Number(user.group);
  writer.Number(static_cast<uint32_t>(user.groups.size()));
  for (uint32_t group : user.groups) writer.Number(group);
  writer.Text(user.name);
  writer.Text(user.home);
  writer.Text(user.shell);
}

TaskUser ReadUser(Reader& in) {
  TaskUser user;
  user.user = in.Number<uint32_t>();
  user.group = in.Number<uint32_t>();
  uint32_t count = in.Count(4);
  for (uint32_t i = 0; i < count; ++i) user.groups.push_back(in.Number<uint32_t>());
  user.name = in.Text();
  user.home = in.Text();
  user.shell = in.Text();
  return user;
}

JobOpening ReadOpenJob(Reader& in) {
  JobOpening job;
  job.job = JobId(in.Number<uint32_t>());
  job.cwd = in.Text();
  uint32_t count = in.Count(5);
  for (uint32_t i = 0; i < count && in.ok(); ++i) job.environment.emplace_back(in.Text());
  job.nice = in.Number<int32_t>();
  auto flags = in.Number<uint8_t>();
  if ((flags & ~(kMeasureIo | kLive | kOtherUser | kInherit)) != 0) in.Spoil();
  job.measure_io = (flags & kMeasureIo) != 0;
  job.live_output = (flags & kLive) != 0;
  job.inherit = (flags & kInherit) != 0;
  job.check_patience = {in.Number<int64_t>()};
  job.limits = ReadLimits(in);
  job.umask = in.Number<int32_t>();
  if ((flags & kOtherUser) != 0) job.user = ReadUser(in);
  job.task_folders = in.Text();
  return job;
}

void PutHead(Writer& writer, const Start& start) {
  writer.Number(start.sequence);
  writer.Ref(start.ref);
  writer.Number(start.slot);
  writer.Number(static_cast<uint8_t>((start.tell_start ? kTellStart : 0) |
                                     (start.sample_memory ? kSampleMemory : 0)));
  writer.Number(start.needs.milli_cpus);
  writer.Number(start.needs.memory);
  writer.Number(static_cast<uint32_t>(start.needs.named.size()));
  for (const NamedNeed& need : start.needs.named) {
    writer.Text(need.name);
    writer.Number(need.count);
  }
  writer.Number(static_cast<uint32_t>(start.given.size()));
  for (const NamedOffer& given : start.given) {
    writer.Text(given.name);
    writer.Texts(given.indices);
  }
}

Start ReadHead(Reader& in) {
  Start start;
  start.sequence = in.Number<uint64_t>();
  start.ref = in.Ref();
  start.slot = in.Number<uint16_t>();
  auto flags = in.Number<uint8_t>();
  if ((flags & ~(kTellStart | kSampleMemory)) != 0) in.Spoil();
  start.tell_start = (flags & kTellStart) != 0;
  start.sample_memory = (flags & kSampleMemory) != 0;
  start.needs.milli_cpus = in.Number<uint32_t>();
  start.needs.memory = in.Number<uint64_t>();
  uint32_t named = in.Count(9);
  for (uint32_t i = 0; i < named && in.ok(); ++i) {
    const char* name = in.Text();
    start.needs.named.push_back({name, in.Number<uint32_t>()});
  }
  uint32_t given = in.Count(9);
  for (uint32_t i = 0; i < given && in.ok(); ++i) {
    NamedOffer& one = start.given.emplace_back(NamedOffer{in.Text(), {}});
    uint32_t indices = in.Count(5);
    for (uint32_t k = 0; k < indices && in.ok(); ++k) one.indices.emplace_back(in.Text());
  }
  return start;
}

Start ReadStartHead(Reader& in) {
  if (in.Number<uint8_t>() != static_cast<uint8_t>(OrderType::kStart)) in.Spoil();
  return ReadHead(in);
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
  uint32_t count = in.Count(6);
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
    view.commands.push_back({static_cast<uint16_t>(step), command, first, words});
    for (uint32_t w = 0; w < words && in.ok(); ++w) view.words.push_back(in.Text());
    view.words.push_back(nullptr);
  }
}

OutputStream ReadStream(Reader& in) {
  OutputStream stream;
  stream.total = in.Number<uint64_t>();
  stream.bytes = in.Blob();
  stream.spool = in.Blob();
  if (!stream.bytes.empty() && !stream.spool.empty()) in.Spoil();
  return stream;
}

Ended ReadEnded(Reader& in) {
  Ended ended;
  AttemptEnd& end = ended.end;
  end.ref = in.Ref();
  end.slot = in.Number<uint16_t>();
  end.cause = in.ReadCause();
  auto source = in.Number<uint8_t>();
  if (source > static_cast<uint8_t>(MemorySource::kRusage)) in.Spoil();
  end.memory_source = in.ok() ? static_cast<MemorySource>(source) : MemorySource::kNone;
  end.status = in.Number<int32_t>();
  end.start = {in.Number<int64_t>()};
  end.wall = {in.Number<int64_t>()};
  end.user = {in.Number<int64_t>()};
  end.system = {in.Number<int64_t>()};
  end.peak_memory = in.Number<uint64_t>();
  end.read_bytes = in.Number<int64_t>();
  end.written_bytes = in.Number<int64_t>();
  end.left_behind = in.Number<uint32_t>();
  end.stdout_total = in.Number<uint64_t>();
  end.stderr_total = in.Number<uint64_t>();
  end.note = in.Blob();
  uint32_t count = in.Count(12);
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    ProcessEnd process;
    process.step = in.Number<uint16_t>();
    process.command = in.Number<uint16_t>();
    process.rank = in.Number<uint32_t>();
    process.status = in.Number<int32_t>();
    end.processes.push_back(process);
  }
  ended.output.out = ReadStream(in);
  ended.output.err = ReadStream(in);
  ended.output.files = ReadStream(in);
  return ended;
}

Adopted ReadAdopted(Reader& in) {
  Adopted adopted;
  if (in.Number<uint8_t>() != kProtocolVersion) in.Spoil();
  adopted.ends = in.Number<uint32_t>();
  if (in.Flag()) {
    Adopted::Running& running = adopted.running.emplace();
    running.since = in.Number<int64_t>();
    running.start = ReadHead(in);
    running.limits = ReadLimits(in);
  }
  return adopted;
}

}  // namespace

TaskBody StartView::ToBody() const {
  TaskBody body;
  for (const CommandView& command : commands) {
    if (command.command == 0) body.steps.emplace_back();
    Command& to = body.steps.back().commands.emplace_back();
    for (uint32_t i = 0; i < command.count; ++i) to.argv.emplace_back(words[command.first + i]);
  }
  for (const CheckView& check : checks) {
    body.output_checks.push_back({CheckWhen::kOut, check.kind, check.file});
  }
  for (const PutView& put : puts) body.puts.push_back({put.name, put.mode, put.from});
  for (const char* name : gets) body.gets.emplace_back(name);
  body.cwd = cwd;
  body.stdin_file = stdin_file;
  body.stdout_file = stdout_file;
  body.stderr_file = stderr_file;
  body.late_stderr = late_stderr;
  for (const char* variable : environment) body.environment.emplace_back(variable);
  return body;
}

void AppendSetup(std::string& out, const Setup& setup) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kSetup));
  writer.Number(kProtocolVersion);
  writer.Number(setup.slot);
  writer.Text(setup.spool_folder);
  writer.Text(setup.cgroup);
  writer.Text(setup.job_folder);
  writer.Number(setup.open_files);
  writer.Number(setup.home_cpu);
  writer.Text(setup.node_folder);
  writer.Number(setup.adopt_patience.ns);
  writer.Text(setup.node_id);
  MustClose(writer);
}

void AppendOpenJob(std::string& out, const JobOpening& job,
                   const std::vector<std::string>& environment) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kOpenJob));
  writer.Number(job.job.value);
  writer.Text(job.cwd);
  writer.Texts(environment);
  writer.Number(job.nice);
  writer.Number(static_cast<uint8_t>((job.measure_io ? kMeasureIo : 0) |
                                     (job.live_output ? kLive : 0) | (job.user ? kOtherUser : 0) |
                                     (job.inherit ? kInherit : 0)));
  writer.Number(job.check_patience.ns);
  PutLimits(writer, job.limits);
  writer.Number(job.umask);
  if (job.user) PutUser(writer, *job.user);
  writer.Text(job.task_folders);
  MustClose(writer);
}

bool AppendStart(std::string& out, const Start& start, const TaskBody& body) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kStart));
  PutHead(writer, start);
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
  uint32_t commands = 0;
  for (const Step& step : body.steps) {
    CHECK(!step.commands.empty());
    commands += static_cast<uint32_t>(step.commands.size());
  }
  CHECK(commands > 0);
  writer.Number(commands);
  uint16_t number = 0;
  for (const Step& step : body.steps) {
    for (const Command& command : step.commands) {
      CHECK(!command.argv.empty());
      writer.Number(number);
      writer.Texts(command.argv);
    }
    ++number;
  }
  return writer.Close();
}

void AppendTakeBack(std::string& out, const TakeBack& order) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kTakeBack));
  writer.Ref(order.ref);
  MustClose(writer);
}

void AppendEnd(std::string& out, const EndOrder& order) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kEnd));
  writer.Ref(order.ref);
  writer.Number(static_cast<uint8_t>(order.kill));
  writer.Number(static_cast<uint8_t>(order.cause));
  MustClose(writer);
}

void AppendPause(std::string& out, const Pause& order) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kPause));
  writer.Number(static_cast<uint8_t>(order.paused));
  MustClose(writer);
}

void AppendTaken(std::string& out, const Taken& order) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kTaken));
  writer.Ref(order.ref);
  MustClose(writer);
}

void AppendLeave(std::string& out) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kLeave));
  MustClose(writer);
}

void AppendCloseJob(std::string& out, const CloseJob& order) {
  Writer writer(out, static_cast<uint8_t>(OrderType::kCloseJob));
  writer.Number(order.job.value);
  MustClose(writer);
}

uint8_t TypeOf(std::string_view frame) {
  return frame.empty() ? uint8_t{0} : static_cast<uint8_t>(frame.front());
}

Result<Order> DecodeOrder(std::string_view frame) {
  Reader in(frame);
  auto type = static_cast<OrderType>(in.Number<uint8_t>());
  Order order;
  switch (type) {
    case OrderType::kSetup:
      order = ReadSetup(in);
      break;
    case OrderType::kOpenJob:
      order = ReadOpenJob(in);
      break;
    case OrderType::kTakeBack:
      order = TakeBack{in.Ref()};
      break;
    case OrderType::kEnd: {
      EndOrder end;
      end.ref = in.Ref();
      end.kill = in.Flag();
      end.cause = in.ReadCause();
      order = end;
      break;
    }
    case OrderType::kPause:
      order = Pause{in.Flag()};
      break;
    case OrderType::kTaken:
      order = Taken{in.Ref()};
      break;
    case OrderType::kLeave:
      order = LeaveOrder{};
      break;
    case OrderType::kCloseJob:
      order = CloseJob{JobId(in.Number<uint32_t>())};
      break;
    default:
      return Damaged("an unknown order");
  }
  if (!in.done()) return Damaged("an order");
  return order;
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
  view.commands.clear();
  uint32_t count = in.Count(5);
  for (uint32_t i = 0; i < count && in.ok(); ++i) view.environment.push_back(in.Text());
  ReadChecks(in, view);
  ReadFiles(in, view);
  ReadCommands(in, view);
  if (!in.done()) return Damaged("a start");
  return {};
}

void AppendStarted(std::string& out, const Started& report) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kStarted));
  writer.Ref(report.ref);
  writer.Number(report.when);
  MustClose(writer);
}

void AppendTakenBack(std::string& out, const TakenBack& report) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kTakenBack));
  writer.Ref(report.ref);
  MustClose(writer);
}

void AppendLiveOutput(std::string& out, const LiveOutput& report) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kLiveOutput));
  writer.Ref(report.ref);
  writer.Number(report.stream);
  writer.Blob(report.bytes);
  MustClose(writer);
}

void AppendMemorySample(std::string& out, const MemorySample& report) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kMemorySample));
  writer.Ref(report.ref);
  writer.Number(report.bytes);
  MustClose(writer);
}

void AppendEnded(std::string& out, const AttemptEnd& end, const StreamView& stdout_stream,
                 const StreamView& stderr_stream, const StreamView& files) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kEnded));
  writer.Ref(end.ref);
  writer.Number(end.slot);
  writer.Number(static_cast<uint8_t>(end.cause));
  writer.Number(static_cast<uint8_t>(end.memory_source));
  writer.Number(end.status);
  writer.Number(end.start.ns);
  writer.Number(end.wall.ns);
  writer.Number(end.user.ns);
  writer.Number(end.system.ns);
  writer.Number(end.peak_memory);
  writer.Number(end.read_bytes);
  writer.Number(end.written_bytes);
  writer.Number(end.left_behind);
  writer.Number(end.stdout_total);
  writer.Number(end.stderr_total);
  writer.Blob(end.note);
  writer.Number(static_cast<uint32_t>(end.processes.size()));
  for (const ProcessEnd& process : end.processes) {
    writer.Number(process.step);
    writer.Number(process.command);
    writer.Number(process.rank);
    writer.Number(process.status);
  }
  for (const StreamView* stream : {&stdout_stream, &stderr_stream, &files}) {
    writer.Number(stream->total);
    writer.Blob(stream->spool.empty() ? stream->bytes : std::string_view());
    writer.Blob(stream->spool);
  }
  MustClose(writer);
}

void AppendAdopted(std::string& out, const Adopted& report) {
  Writer writer(out, static_cast<uint8_t>(ReportType::kAdopted));
  writer.Number(kProtocolVersion);
  writer.Number(report.ends);
  writer.Number(static_cast<uint8_t>(report.running.has_value()));
  if (report.running) {
    writer.Number(report.running->since);
    PutHead(writer, report.running->start);
    PutLimits(writer, report.running->limits);
  }
  MustClose(writer);
}

Result<Report> DecodeReport(std::string_view frame) {
  Reader in(frame);
  auto type = static_cast<ReportType>(in.Number<uint8_t>());
  Report report;
  switch (type) {
    case ReportType::kStarted: {
      AttemptRef ref = in.Ref();
      report = Started{ref, in.Number<int64_t>()};
      break;
    }
    case ReportType::kTakenBack:
      report = TakenBack{in.Ref()};
      break;
    case ReportType::kLiveOutput: {
      LiveOutput live{in.Ref(), in.Number<uint8_t>(), in.Blob()};
      if (live.stream != 1 && live.stream != 2) in.Spoil();
      report = live;
      break;
    }
    case ReportType::kMemorySample: {
      AttemptRef ref = in.Ref();
      report = MemorySample{ref, in.Number<uint64_t>()};
      break;
    }
    case ReportType::kEnded:
      report = ReadEnded(in);
      break;
    case ReportType::kAdopted:
      report = ReadAdopted(in);
      break;
    default:
      return Damaged("an unknown report");
  }
  if (!in.done()) return Damaged("a report");
  return report;
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
