#include "shepherd/protocol.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/model/task_files.h"

namespace spate::shepherd {
namespace {

// The content of the only frame in `bytes`.
std::string FrameOf(std::string_view bytes) {
  FrameBuffer buffer;
  std::memcpy(buffer.Room(bytes.size()), bytes.data(), bytes.size());
  buffer.Filled(bytes.size());
  auto frame = buffer.Next();
  EXPECT_TRUE(frame.has_value());
  EXPECT_NE(frame->data(), nullptr);
  std::string content(*frame);
  EXPECT_EQ(buffer.pending(), 0u);
  return content;
}

// A text without NUL bytes, as all texts of orders are.
std::string AnyText() { return *rc::gen::container<std::string>(rc::gen::nonZero<char>()); }

std::vector<std::string> AnyTexts() {
  return *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::nonZero<char>()));
}

AttemptRef AnyRef() {
  return {JobId(*rc::gen::arbitrary<uint32_t>()), *rc::gen::arbitrary<uint32_t>(),
          Attempt(*rc::gen::arbitrary<uint16_t>())};
}

Cause AnyCause() { return static_cast<Cause>(*rc::gen::inRange(0, kCauseCount)); }

// Reduced to what a resident process can have.
TaskBody AnyResidentBody(TaskBody body) {
  body.steps.resize(1);
  body.steps[0].commands.resize(1);
  body.links = {};
  body.forwards = {};
  body.puts = {};
  body.gets = {};
  body.output_checks = {};
  body.stdin_file = body.stdout_file = body.stderr_file = "";
  body.late_stderr = false;
  body.resident = true;
  body.input = *rc::gen::arbitrary<std::string>();
  return body;
}

TaskBody AnyBody() {
  TaskBody body;
  int steps = *rc::gen::inRange(1, 4);
  for (int s = 0; s < steps; ++s) {
    Step step;
    int commands = *rc::gen::inRange(1, 4);
    for (int c = 0; c < commands; ++c) {
      Command command{AnyTexts(), AnyTexts()};
      command.argv.insert(command.argv.begin(), AnyText());
      step.commands.push_back(std::move(command));
    }
    body.steps.push_back(std::move(step));
  }
  int checks = *rc::gen::inRange(0, 3);
  for (int i = 0; i < checks; ++i) {
    body.output_checks.push_back(
        {CheckWhen::kOut, static_cast<CheckKind>(*rc::gen::inRange(0, 4)), AnyText()});
  }
  for (const std::string& name : AnyTexts()) {
    if (!CheckTaskFileName(name)) continue;
    body.puts.push_back({name, *rc::gen::arbitrary<uint32_t>(), AnyText()});
  }
  for (const std::string& name : AnyTexts()) {
    if (CheckTaskFileName(name)) body.gets.push_back(name);
  }
  body.cwd = AnyText();
  body.stdin_file = AnyText();
  body.stdout_file = AnyText();
  body.stderr_file = AnyText();
  body.late_stderr = *rc::gen::arbitrary<bool>();
  body.environment = AnyTexts();
  if (body.steps.back().commands.size() > 1 && *rc::gen::arbitrary<bool>()) PipeCommands(body);
  if (*rc::gen::arbitrary<bool>()) {
    body.links.push_back({LinkKind::kFile, {{0, 0, 63}}, {}, "f" + AnyText()});
  }
  for (uint64_t most : *rc::gen::arbitrary<std::vector<uint64_t>>()) {
    auto last = static_cast<int>(kCountOf<LimitKind> - 1);
    body.limits.push_back({static_cast<LimitKind>(*rc::gen::inRange(0, last + 1)), most});
    body.forwards.push_back({.descriptor = 3, .file = {}, .to = "t" + AnyText()});
    body.forwards.push_back({.file = "f" + AnyText(), .to = "t" + AnyText(), .most = most});
  }
  body.cpus = *rc::gen::arbitrary<std::vector<uint16_t>>();
  body.shares_files = *rc::gen::arbitrary<bool>();
  if (CheckRanks(body) && *rc::gen::arbitrary<bool>()) {
    body.first_rank = *rc::gen::inRange(0, 3);
    return body;
  }
  return *rc::gen::arbitrary<bool>() ? body : AnyResidentBody(std::move(body));
}

Start AnyStart() {
  Start start;
  start.sequence = *rc::gen::arbitrary<uint64_t>();
  start.ref = AnyRef();
  start.slot = *rc::gen::arbitrary<uint16_t>();
  start.tell_start = *rc::gen::arbitrary<bool>();
  start.is_part = *rc::gen::arbitrary<bool>();
  start.sample_memory = *rc::gen::arbitrary<bool>();
  start.needs.milli_cpus = *rc::gen::arbitrary<uint32_t>();
  start.needs.memory = *rc::gen::arbitrary<uint64_t>();
  for (const std::string& name : AnyTexts()) {
    start.needs.named.push_back({name, *rc::gen::arbitrary<uint32_t>()});
    start.given.push_back({name, AnyTexts()});
  }
  return start;
}

Duration AnyDuration() { return {*rc::gen::inRange<int64_t>(0, int64_t{1} << 60)}; }

JobSettings AnySettings() {
  JobSettings settings;
  settings.cwd = AnyText();
  settings.nice = *rc::gen::arbitrary<int32_t>();
  settings.measure_io = *rc::gen::arbitrary<bool>();
  settings.check_patience = settings.warn_before = AnyDuration();
  settings.time_limit = AnyDuration();
  settings.time_limit_percent = settings.warn_signal = *rc::gen::arbitrary<uint32_t>();
  settings.kill_grace = AnyDuration();
  settings.leftovers_wait = AnyDuration();
  settings.append_output = *rc::gen::arbitrary<bool>();
  return settings;
}

std::optional<TaskUser> AnyUser() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return TaskUser{*rc::gen::arbitrary<uint32_t>(),
                  *rc::gen::arbitrary<uint32_t>(),
                  *rc::gen::arbitrary<std::vector<uint32_t>>(),
                  AnyText(),
                  AnyText(),
                  AnyText()};
}

TEST(Protocol, StartsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    TaskBody body = AnyBody();
    Start start = AnyStart();
    std::string bytes;
    RC_ASSERT(AppendStart(bytes, start, body));
    std::string frame = FrameOf(bytes);
    StartView view;
    RC_ASSERT(DecodeStart(frame, view).has_value());
    RC_ASSERT(view.ToBody() == body);
    RC_ASSERT(view.start == start);
    auto head = DecodeStartHead(frame);
    RC_ASSERT(head.has_value() && *head == start);
    // The argv of each command ends with a null pointer, as exec wants it.
    for (const auto& command : view.commands) {
      RC_ASSERT(view.words[command.first + command.count] == nullptr);
    }
  }));
}

TEST(Protocol, OtherOrdersComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    spate::shepherd::Setup setup{*rc::gen::arbitrary<uint16_t>(),
                                 AnyText(),
                                 AnyText(),
                                 AnyText(),
                                 *rc::gen::arbitrary<uint64_t>(),
                                 *rc::gen::arbitrary<int32_t>(),
                                 AnyText(),
                                 AnyDuration(),
                                 AnyText()};
    JobOpening job{JobId(*rc::gen::arbitrary<uint32_t>()),
                   AnySettings(),
                   AnyTexts(),
                   AnyUser(),
                   AnyText(),
                   *rc::gen::arbitrary<bool>(),
                   *rc::gen::arbitrary<bool>(),
                   *rc::gen::arbitrary<uint64_t>()};
    Withdraw back{AnyRef()};
    EndOrder end{AnyRef(), *rc::gen::arbitrary<bool>(), AnyCause()};
    Pause pause{*rc::gen::arbitrary<bool>()};
    std::string bytes;
    Append(bytes, setup);
    JobOpening bare = job;
    AppendOpenJob(bytes, bare, std::exchange(bare.environment, {}));
    Append(bytes, back);
    Append(bytes, end);
    Append(bytes, pause);
    Taken taken{AnyRef()};
    Append(bytes, taken);
    Append(bytes, LeaveOrder{});
    CloseJob close{JobId(*rc::gen::arbitrary<uint32_t>())};
    Append(bytes, close);
    Freeze freeze{AnyRef(), *rc::gen::arbitrary<bool>()};
    Append(bytes, freeze);
    // In pieces of any size, as a socket gives them.
    FrameBuffer buffer;
    std::vector<Order> orders;
    size_t at = 0;
    while (at < bytes.size()) {
      size_t piece = std::min<size_t>(bytes.size() - at, *rc::gen::inRange<size_t>(1, 64));
      std::memcpy(buffer.Room(piece), bytes.data() + at, piece);
      buffer.Filled(piece);
      at += piece;
      while (true) {
        auto frame = buffer.Next();
        RC_ASSERT(frame.has_value());
        if (frame->data() == nullptr) break;
        auto order = DecodeOrder(*frame);
        RC_ASSERT(order.has_value());
        orders.push_back(std::move(*order));
      }
    }
    RC_ASSERT(orders == (std::vector<Order>{setup, job, back, end, pause, taken, LeaveOrder{},
                                            close, freeze}));
  }));
}

OutputStream AnyStream(bool spooled) {
  OutputStream stream;
  (spooled ? stream.spool : stream.bytes) = *rc::gen::arbitrary<std::string>();
  stream.total = *rc::gen::arbitrary<uint64_t>();
  return stream;
}

TEST(Protocol, EndsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    AttemptEnd end;
    end.ref = AnyRef();
    end.slot = *rc::gen::arbitrary<uint16_t>();
    end.cause = AnyCause();
    end.memory_source = static_cast<MemorySource>(*rc::gen::inRange(0, 4));
    end.status = *rc::gen::arbitrary<int32_t>();
    end.start = {*rc::gen::arbitrary<int64_t>()};
    end.wall = AnyDuration();
    end.user = AnyDuration();
    end.system = AnyDuration();
    end.peak_memory = *rc::gen::arbitrary<uint64_t>();
    end.read_bytes = *rc::gen::arbitrary<int64_t>();
    end.written_bytes = *rc::gen::arbitrary<int64_t>();
    end.left_behind = *rc::gen::arbitrary<uint32_t>();
    end.stdout_total = *rc::gen::arbitrary<uint64_t>();
    end.stderr_total = *rc::gen::arbitrary<uint64_t>();
    end.note = *rc::gen::arbitrary<std::string>();
    end.processes.resize(*rc::gen::inRange<size_t>(0, 3));
    for (ProcessEnd& process : end.processes) {
      process = {*rc::gen::arbitrary<uint16_t>(), *rc::gen::arbitrary<uint16_t>(),
                 *rc::gen::arbitrary<uint32_t>(), *rc::gen::arbitrary<int32_t>(),
                 *rc::gen::arbitrary<uint64_t>(), *rc::gen::arbitrary<uint64_t>()};
    }
    OutputStream out = AnyStream(*rc::gen::arbitrary<bool>());
    OutputStream err = AnyStream(*rc::gen::arbitrary<bool>());
    OutputStream files = AnyStream(*rc::gen::arbitrary<bool>());
    std::string bytes;
    auto view = [](const OutputStream& one) { return StreamView{one.bytes, one.spool, one.total}; };
    Append(bytes, EndedView{end, {view(out), view(err), view(files)}});
    auto report = DecodeReport(FrameOf(bytes));
    RC_ASSERT(report.has_value());
    const auto& got = std::get<Ended>(*report);
    // Encoded again it gives the same bytes, so nothing was lost.
    std::string again;
    Append(again, EndedView{got.end,
                            {view(got.output.out), view(got.output.err), view(got.output.files)}});
    RC_ASSERT(again == bytes);
    RC_ASSERT(got.end.note == end.note);
    RC_ASSERT(got.end.slot == end.slot);
    RC_ASSERT(got.end.processes.size() == end.processes.size());
  }));
}

TEST(Protocol, OtherReportsComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    std::string text = *rc::gen::arbitrary<std::string>();
    std::vector<Report> reports = {
        Started{AnyRef(), *rc::gen::arbitrary<int64_t>()}, TakenBack{AnyRef()},
        LiveOutput{AnyRef(), static_cast<uint8_t>(*rc::gen::inRange(1, 3)), text},
        MemorySample{AnyRef(), *rc::gen::arbitrary<uint64_t>()}, LeftRunning{AnyRef(), text}};
    std::string bytes;
    Append(bytes, std::get<Started>(reports[0]));
    auto started = DecodeReport(FrameOf(bytes));
    RC_ASSERT(started && std::get<Started>(*started) == std::get<Started>(reports[0]));
    bytes.clear();
    Append(bytes, std::get<TakenBack>(reports[1]));
    auto back = DecodeReport(FrameOf(bytes));
    RC_ASSERT(back && std::get<TakenBack>(*back) == std::get<TakenBack>(reports[1]));
    bytes.clear();
    Append(bytes, std::get<LiveOutput>(reports[2]));
    std::string frame = FrameOf(bytes);
    auto live = DecodeReport(frame);
    RC_ASSERT(live && std::get<LiveOutput>(*live) == std::get<LiveOutput>(reports[2]));
    bytes.clear();
    Append(bytes, std::get<MemorySample>(reports[3]));
    auto memory = DecodeReport(FrameOf(bytes));
    RC_ASSERT(memory && std::get<MemorySample>(*memory) == std::get<MemorySample>(reports[3]));
    bytes.clear();
    Append(bytes, std::get<LeftRunning>(reports[4]));
    auto left = DecodeReport(FrameOf(bytes));
    RC_ASSERT(left && std::get<LeftRunning>(*left) == std::get<LeftRunning>(reports[4]));
    Answer answer{{*rc::gen::arbitrary<uint64_t>(), wire::AnswerKind::kFailed, 5, text}};
    bytes.clear();
    Append(bytes, answer);
    auto piece = DecodeReport(FrameOf(bytes));
    RC_ASSERT(piece && std::get<Answer>(*piece) == answer);
    UnclaimedOutput output{JobId(*rc::gen::arbitrary<uint32_t>()), *rc::gen::arbitrary<uint64_t>()};
    bytes.clear();
    Append(bytes, output);
    auto unclaimed = DecodeReport(FrameOf(bytes));
    RC_ASSERT(unclaimed && std::get<UnclaimedOutput>(*unclaimed) == output);
    Adopted adopted{*rc::gen::arbitrary<uint32_t>(), {}, *rc::gen::arbitrary<uint32_t>()};
    if (*rc::gen::arbitrary<bool>()) {
      adopted.running = {*rc::gen::arbitrary<int64_t>(), AnyStart(), AnySettings(), AnyDuration(),
                         *rc::gen::arbitrary<bool>()};
    }
    bytes.clear();
    Append(bytes, adopted);
    auto told = DecodeReport(FrameOf(bytes));
    RC_ASSERT(told && std::get<Adopted>(*told) == adopted);
  }));
}

void MustNotCrash(std::string_view frame) {
  (void)DecodeOrder(frame);
  (void)DecodeReport(frame);
  (void)DecodeStartHead(frame);
  StartView view;
  if (DecodeStart(frame, view)) {
    for (const auto& command : view.commands) {
      RC_ASSERT(command.first + command.count < view.words.size());
      RC_ASSERT(command.count > 0);
    }
    RC_ASSERT(!view.commands.empty());
    (void)view.ToBody();
  }
}

TEST(Protocol, AnyBytesAreAnsweredWithAnError) {
  EXPECT_TRUE(rc::check([] {
    std::string bytes = *rc::gen::arbitrary<std::string>();
    MustNotCrash(bytes);
    // With a type that exists in front, so that fields are read.
    const uint8_t kTypes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65, 66, 67, 68, 69, 70, 71};
    for (uint8_t type : kTypes) {
      bytes.insert(bytes.begin(), static_cast<char>(type));
      MustNotCrash(bytes);
    }
  }));
}

TEST(Protocol, DamagedFramesAreAnsweredWithAnErrorOrAnotherMeaning) {
  EXPECT_TRUE(rc::check([] {
    std::string bytes;
    RC_ASSERT(AppendStart(bytes, AnyStart(), AnyBody()));
    std::string frame = FrameOf(bytes);
    size_t at = *rc::gen::inRange<size_t>(0, frame.size());
    std::string damaged = frame;
    damaged[at] = static_cast<char>(damaged[at] ^ *rc::gen::inRange(1, 256));
    MustNotCrash(damaged);
    // Anything shorter than the frame is an error.
    StartView view;
    RC_ASSERT(!DecodeStart(std::string_view(frame).substr(0, at), view).has_value());
    RC_ASSERT(!DecodeStart(frame + "x", view).has_value());
  }));
}

TEST(Protocol, RefusesWhatDoesNotFitAFrame) {
  TaskBody body;
  body.steps = {{{{{"echo", std::string("a\0b", 3)}}}}};
  std::string bytes = "kept";
  EXPECT_FALSE(AppendStart(bytes, Start{}, body));
  EXPECT_EQ(bytes, "kept");
  body.steps = {{{{{"echo", std::string(kMaxFrame, 'x')}}}}};
  EXPECT_FALSE(AppendStart(bytes, Start{}, body));
  EXPECT_EQ(bytes, "kept");
}

TEST(Protocol, RefusesLengthsThatCannotBe) {
  for (uint32_t length : {0u, kMaxFrame + 1, 0xffffffffu}) {
    FrameBuffer buffer;
    std::memcpy(buffer.Room(4), &length, 4);
    buffer.Filled(4);
    auto frame = buffer.Next();
    ASSERT_FALSE(frame.has_value());
    EXPECT_EQ(frame.error().kind, ErrorKind::kCorrupt);
  }
}

TEST(Protocol, RefusesFilesThatLeadOutOfTheFolder) {
  for (const char* name : {"../x", "a/../../x", "/etc/passwd", "a/", ""}) {
    for (bool put : {true, false}) {
      TaskBody body;
      body.steps = {{{{{"true"}}}}};
      if (put) body.puts = {{"fine", 0600, "/from"}, {name, 0600, "/from"}};
      if (!put) body.gets = {"fine", name};
      std::string bytes;
      ASSERT_TRUE(AppendStart(bytes, Start{}, body));
      std::string frame = FrameOf(bytes);
      StartView view;
      EXPECT_FALSE(DecodeStart(frame, view)) << name;
    }
  }
}

TEST(Protocol, ChecksOfInputsStayBehind) {
  TaskBody body;
  body.steps = {{{{{"true"}}}}};
  body.output_checks = {{CheckWhen::kIn, CheckKind::kExists, "in"},
                        {CheckWhen::kOut, CheckKind::kLine, "out"}};
  std::string bytes;
  ASSERT_TRUE(AppendStart(bytes, Start{}, body));
  std::string frame = FrameOf(bytes);
  StartView view;
  ASSERT_TRUE(DecodeStart(frame, view));
  ASSERT_EQ(view.checks.size(), 1u);
  EXPECT_STREQ(view.checks[0].file, "out");
}

}  // namespace
}  // namespace spate::shepherd
