// `spate top`: a hub on the screen, redrawn every second until the user quits.
//
// Plain escape sequences on the alternate screen, which every terminal of today knows: see
// docs/design/012-looking.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/options/words.h"
#include "command/spate/top_keys.h"
#include "command/spate/top_view.h"
#include "command/steering.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/json/json_fields.h"
#include "present/table/text_width.h"
#include "submit/hub_submit.h"

namespace spate::cli::command {
namespace {

constexpr Option kOnce = {
    .names = "once", .heading = Heading::kOutput, .help = "print the current state once and exit"};

constexpr Duration kTopEvery = Duration::Seconds(1);
// The alternate screen, no cursor, long lines cut; and back.
constexpr std::string_view kEnterTop = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeaveTop = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kTopLeft = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";

class TopScreen {
 public:
  TopScreen(client::HubCall& call, const client::HubSetting& setting, const Words& words,
            bool colour)
      : call_(call), loop_(*setting.loop), here_(setting.here), words_(words), colour_(colour) {}
  Result<int> Run();

 private:
  void Watch();
  void Read();
  void Press(TopKey key);
  void Type(char byte);
  void ShowLine();
  void Steer();
  Result<int> SteerBy(const HubScreen& screen, Steering what, std::string_view line);
  void LookAtProcesses();
  void Draw();
  void Quit(int code);

  client::HubCall& call_;
  os::RealLoop& loop_;
  const client::Surroundings& here_;
  const Words& words_;
  const bool colour_;
  TopView view_;
  TopKeys keys_;
  // An order that is being typed, and one that is to be given when the hub is not being asked.
  std::optional<std::pair<Steering, TopLine>> typed_, entered_;
  int code_ = kExitSuccess;
};

void TopScreen::Quit(int code) {
  code_ = code;
  call_.Interrupt();
}

void TopScreen::Read() {
  std::array<char, 256> bytes;
  auto size = os::ReadSome(os::kStdin, bytes.data(), bytes.size(), "standard input");
  if (!size || *size == 0) {  // the terminal is gone
    loop_.Unwatch(os::kStdin);
    return Quit(kExitHangup);
  }
  for (size_t i = 0; i < *size && !call_.interrupted(); ++i) {
    if (typed_) {
      Type(bytes[i]);
      continue;
    }
    for (TopKey key : keys_.Feed({&bytes[i], 1})) Press(key);
  }
  Draw();
}

// Questions on the last line, by Steering.
constexpr const char* kPrompts[] = {"stop which job, or task JOB.TASK? ",
                                    "continue which job, or task JOB.TASK? ",
                                    "kill which job, or task JOB.TASK? ",
                                    "which signal, and to which job, task or process (USR1 12)? "};

void TopScreen::Press(TopKey key) {
  switch (key) {
    case TopKey::kQuit:
      return Quit(kExitSuccess);
    case TopKey::kStop:
    case TopKey::kContinue:
    case TopKey::kKill:
    case TopKey::kSignal:
      typed_ = {static_cast<Steering>(static_cast<int>(key) - static_cast<int>(TopKey::kStop)), {}};
      return ShowLine();
    default:
      return view_.Press(key);
  }
}

void TopScreen::Type(char byte) {
  const TopLine::Now now = typed_->second.Feed(byte);
  if (now == TopLine::Now::kEntered) entered_ = typed_;
  if (now != TopLine::Now::kTyping) typed_.reset();
  ShowLine();
}

void TopScreen::ShowLine() {
  if (!typed_) return view_.SetLastLine(entered_ ? "..." : "");
  view_.SetLastLine(kPrompts[static_cast<size_t>(typed_->first)] + typed_->second.text() + "_");
}

// Does what the command does; its report stays on the last line until the next order.
void TopScreen::Steer() {
  const auto [what, line] = *std::exchange(entered_, std::nullopt);
  std::string said;
  const HubScreen screen{.hub = call_,
                         .words = words_,
                         .write_err =
                             [&said](std::string_view text) {
                               if (!said.empty()) said += "; ";
                               said += text.substr(0, text.find('\n'));
                             },
                         .pause = [this](Duration time) { call_.Pause(time); }};
  auto done = SteerBy(screen, what, line.text());
  if (!done) said = "spate: " + present::TextOf(done.error());
  if (!typed_) view_.SetLastLine(EscapeForScreen(said));
}

Result<int> TopScreen::SteerBy(const HubScreen& screen, Steering what, std::string_view line) {
  std::vector<std::string> words;
  for (const auto& word : std::views::split(line, ' ')) {
    if (!word.empty()) words.emplace_back(word.begin(), word.end());
  }
  int signal = 0;
  if (what == Steering::kSignal && !words.empty()) {
    signal = os::SignalNumber(words.front());
    if (signal <= 0) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("'{}' is not a signal; write a name or number, such as USR1 or 10",
                              EscapeForScreen(words.front())));
    }
    words.erase(words.begin());
  }
  auto question = TRY(SteerOf(screen, what, words));
  question.signal = signal;
  return cli::Steer(screen, std::move(question), WordOf(what));
}

void TopScreen::Draw() {
  TopView::Size size{os::TerminalWidth(os::kStdout, here_.environment),
                     os::TerminalHeight(os::kStdout), colour_};
  std::string bytes(kTopLeft);
  for (const std::string& line : view_.Draw(size, loop_.Now())) {
    if (bytes.size() > kTopLeft.size()) bytes += "\r\n";
    // First, because behind a line as wide as the terminal the cursor stays on its last column.
    bytes += kClearLine;
    bytes += line;
  }
  if (!os::WriteAll(os::kStdout, bytes, "the terminal")) Quit(kExitOutputClosed);
}

// A program of an older release does not know the question, and shows none.
void TopScreen::LookAtProcesses() {
  std::vector<NodeProcesses> answers;
  auto asked = client::Query(call_, wire::ListProcesses(),
                             [&](NodeProcesses answer) { answers.push_back(std::move(answer)); });
  if (!asked) view_.SetTrouble(present::TextOf(asked.error()));
  view_.SetProcesses(answers, loop_.Now());
}

void TopScreen::Watch() {
  loop_.WatchRead(os::kStdin, [this] { Read(); });
  loop_.OnSignal(os::kSignalWindow, [this] { Draw(); });
  loop_.OnSignal(os::kSignalContinue, [this] { Draw(); });
  loop_.OnSignal(os::kSignalInt, [this] { Quit(kExitInterrupted); });
  loop_.OnSignal(os::kSignalTerm, [this] { Quit(kExitTerminated); });
  loop_.OnSignal(os::kSignalHup, [this] { Quit(kExitHangup); });
}

Result<int> TopScreen::Run() {
  auto terminal = TRY(os::KeyTerminal::Enter(os::kStdin));
  (void)os::WriteAll(os::kStdout, kEnterTop, "the terminal");
  Watch();
  while (!call_.interrupted()) {
    auto snapshot = client::QueryOne(call_, wire::LookAtAll());
    if (call_.interrupted()) break;
    if (snapshot) view_.Set(std::move(*snapshot), loop_.Now());
    view_.SetTrouble(snapshot ? "" : present::TextOf(snapshot.error()));
    if (snapshot && view_.shows_processes()) LookAtProcesses();
    if (snapshot && entered_) Steer();
    if (call_.interrupted()) break;
    Draw();
    call_.Pause(kTopEvery);
  }
  loop_.Unwatch(os::kStdin);
  (void)os::WriteAll(os::kStdout, kLeaveTop, "the terminal");
  return code_;
}

std::string JsonLinesOf(const TopFacts& all) {
  std::string text = present::JsonOf("hub", all.hub);
  for (const PoolFacts& pool : all.pools) text += present::JsonOf("pool", pool);
  for (const NodeFacts& node : all.nodes) text += present::JsonOf("node", node);
  for (const JobGlance& job : all.jobs) text += present::JsonOf("job", job);
  return text;
}

Result<int> PrintOnce(client::HubCall& call, const client::HubSetting& setting, OutputForm form,
                      const os::TerminalFacts& facts) {
  auto all = TRY(client::QueryOne(call, wire::LookAtAll()));
  std::string text;
  if (form == OutputForm::kHuman) {
    TopView view;
    view.Set(std::move(all), setting.loop->Now());
    uint32_t width =
        os::PrintWidth(os::kStdout, setting.here.environment).value_or(present::kWholeWidth);
    auto screen = view.Draw({width, 0, facts.may_colour}, setting.loop->Now());
    text = fmt::format("{}\n", fmt::join(screen, "\n"));
  } else {
    text = JsonLinesOf(all);
  }
  TRY(os::WriteAll(os::kStdout, text, "standard output"));
  return kExitSuccess;
}

Result<int> RunTop(const Words& words, bool once, bool& hung) {
  auto form = TRY(OutputFormOf(words));
  auto setting = TRY(submit::FindSetting(words));
  auto facts = os::LookAtTerminal(os::kStdout, setting.here.environment);
  bool keys = os::LookAtTerminal(os::kStdin, setting.here.environment).is_terminal;
  bool screen = keys && facts.may_move && form == OutputForm::kHuman && !once;
  client::HubCall call(*setting.loop, setting.target);
  auto connected = call.Connect();
  hung = call.hung();
  TRY(connected);
  if (!screen) return PrintOnce(call, setting, form, facts);
  return TopScreen(call, setting, words, facts.may_colour).Run();
}

}  // namespace

extern const Command kSpateTop = {
    .order = 510,
    .group = CommandGroup::kHub,
    .name = "top",
    .arguments = "",
    .summary = "watch a hub, its nodes and its jobs",
    .details =
        "On a terminal, the display is updated every second. q quits; n and j show only the nodes "
        "or only the jobs (press again for both), p the processes of your tasks; arrows, PgUp and "
        "PgDn scroll. s stops, c continues and k kills a job or task, g sends a signal: each asks "
        "for an ID, and Esc cancels. If the hub "
        "disconnects, spate top waits for it. Elsewhere, it prints the current state once. "
        "--output json prints one object per line. Only administrators see the names of other "
        "users' jobs.",
    .examples = {{{"spate top", "updated every second"},
                  {"spate top --once", "the current state once"},
                  {"spate top --at ~/.local/state/spate/jobs/12/socket", "a run of this machine"}}},
    .words_max = 0,
    .options = {{opt::kAboutHub, opt::kAt, kOnce}},
    .run =
        [](const Invocation& invocation) {
          bool hung = false;
          auto code = RunTop(invocation.words, invocation.words.Has(kOnce), hung);
          return Conclude(invocation, code, hung);
        },
};

}  // namespace spate::cli::command
