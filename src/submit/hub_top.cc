#include "submit/hub_top.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "cli/top/top_keys.h"
#include "cli/top/top_view.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/json/json_fields.h"
#include "present/table/text_width.h"
#include "submit/hub_submit.h"

namespace spate::submit {
namespace {

constexpr Duration kLookEvery = Duration::Seconds(1);
// The alternate screen, no cursor, long lines cut; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[K";

class TopScreen {
 public:
  TopScreen(client::HubCall& call, const client::HubSetting& setting, bool colour)
      : call_(call), loop_(*setting.loop), here_(setting.here), colour_(colour) {}
  Result<int> Run();

 private:
  void Watch();
  void Read();
  void Draw();
  void Quit(int code);

  client::HubCall& call_;
  os::RealLoop& loop_;
  const client::Surroundings& here_;
  const bool colour_;
  cli::TopView view_;
  cli::TopKeys keys_;
  int code_ = cli::kExitSuccess;
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
    return Quit(cli::kExitHangup);
  }
  for (cli::TopKey key : keys_.Feed({bytes.data(), *size})) {
    if (key == cli::TopKey::kQuit) return Quit(cli::kExitSuccess);
    view_.Press(key);
  }
  Draw();
}

void TopScreen::Draw() {
  cli::TopView::Size size{os::TerminalWidth(os::kStdout, here_.environment),
                          os::TerminalHeight(os::kStdout), colour_};
  std::string bytes(kHome);
  for (const std::string& line : view_.Draw(size, loop_.Now())) {
    if (bytes.size() > kHome.size()) bytes += "\r\n";
    // First, because behind a line as wide as the terminal the cursor stays on its last column.
    bytes += kClearLine;
    bytes += line;
  }
  if (!os::WriteAll(os::kStdout, bytes, "the terminal")) Quit(cli::kExitOutputClosed);
}

void TopScreen::Watch() {
  loop_.WatchRead(os::kStdin, [this] { Read(); });
  loop_.OnSignal(os::kSignalWindow, [this] { Draw(); });
  loop_.OnSignal(os::kSignalContinue, [this] { Draw(); });
  loop_.OnSignal(os::kSignalInt, [this] { Quit(cli::kExitInterrupted); });
  loop_.OnSignal(os::kSignalTerm, [this] { Quit(cli::kExitTerminated); });
  loop_.OnSignal(os::kSignalHup, [this] { Quit(cli::kExitHangup); });
}

Result<int> TopScreen::Run() {
  auto terminal = TRY(os::KeyTerminal::Enter(os::kStdin));
  (void)os::WriteAll(os::kStdout, kEnter, "the terminal");
  Watch();
  while (!call_.interrupted()) {
    auto snapshot = client::AskOne(call_, wire::LookAtAll());
    if (call_.interrupted()) break;
    if (snapshot) view_.Set(std::move(*snapshot), loop_.Now());
    view_.SetTrouble(snapshot ? "" : present::TextOf(snapshot.error()));
    Draw();
    call_.Pause(kLookEvery);
  }
  loop_.Unwatch(os::kStdin);
  (void)os::WriteAll(os::kStdout, kLeave, "the terminal");
  return code_;
}

std::string JsonLinesOf(const TopFacts& all) {
  std::string text = present::JsonOf("hub", all.hub);
  for (const PoolFacts& pool : all.pools) text += present::JsonOf("pool", pool);
  for (const NodeFacts& node : all.nodes) text += present::JsonOf("node", node);
  for (const JobGlance& job : all.jobs) text += present::JsonOf("job", job);
  return text;
}

Result<int> PrintOnce(client::HubCall& call, const client::HubSetting& setting,
                      cli::OutputForm form, const os::TerminalFacts& facts) {
  auto all = TRY(client::AskOne(call, wire::LookAtAll()));
  std::string text;
  if (form == cli::OutputForm::kHuman) {
    cli::TopView view;
    view.Set(std::move(all), setting.loop->Now());
    uint32_t width =
        os::PrintWidth(os::kStdout, setting.here.environment).value_or(present::kWholeWidth);
    auto screen = view.Draw({width, 0, facts.may_colour}, setting.loop->Now());
    text = fmt::format("{}\n", fmt::join(screen, "\n"));
  } else {
    text = JsonLinesOf(all);
  }
  TRY(os::WriteAll(os::kStdout, text, "standard output"));
  return cli::kExitSuccess;
}

Result<int> Run(const cli::Words& words, bool once, bool& hung) {
  auto form = TRY(cli::OutputFormOf(words));
  auto setting = TRY(FindSetting(words));
  auto facts = os::LookAtTerminal(os::kStdout, setting.here.environment);
  bool keys = os::LookAtTerminal(os::kStdin, setting.here.environment).is_terminal;
  bool screen = keys && facts.may_move && form == cli::OutputForm::kHuman && !once;
  client::HubCall call(*setting.loop, setting.target);
  auto connected = call.Connect();
  hung = call.hung();
  TRY(connected);
  if (!screen) return PrintOnce(call, setting, form, facts);
  return TopScreen(call, setting, facts.may_colour).Run();
}

}  // namespace

int Top(const cli::Invocation& invocation, bool once) {
  bool hung = false;
  auto code = Run(invocation.words, once, hung);
  return cli::Conclude(invocation, code, hung);
}

}  // namespace spate::submit
