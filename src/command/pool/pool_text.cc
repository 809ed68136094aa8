#include "command/pool/pool_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "present/advice.h"
#include "present/table/page.h"
#include "present/table/table.h"
#include "present/table/text_width.h"
#include "present/table/time_text.h"
#include "present/text/end_text.h"
#include "present/text/pool_words.h"

namespace spate::cli {
namespace {

// "10 pilots of 4 nodes"
std::string PilotsText(uint32_t count, uint32_t nodes) {
  std::string text = present::CountOf(count, "pilot");
  return nodes > 1 ? fmt::format("{} of {}", text, present::CountOf(nodes, "node")) : text;
}

// When each of them ends; empty: nobody knows.
std::string EndText(const PoolPolicy& pool) {
  std::string text;
  const Duration life = pool.Life();
  if (life != Duration::Max()) text = fmt::format("after {}", FormatDuration(life));
  if (pool.idle_exit == Duration::Max()) return text;
  return fmt::format("{}{}after {} without work", text, text.empty() ? "" : " or ",
                     FormatDuration(pool.idle_exit));
}

std::string OfferText(const PoolFacts& pool) {
  if (pool.slots == 0 && pool.cpus == 0) return "known from the first pilot on";
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (pool.slots > 0) add(present::CountOf(pool.slots, "slot"));
  if (pool.cpus > 0) add(fmt::format("{:g} cpus", pool.cpus));
  if (pool.memory > 0) add(FormatSize(pool.memory));
  return text;
}

present::Tone ToneOf(const PoolFacts& pool) {
  if (pool.state != "on") return present::Tone::kDoubtful;
  return pool.trouble.empty() ? present::Tone::kGood : present::Tone::kBad;
}

// State of a pilot, or what it waits for.
std::string NoteOf(const PilotFacts& pilot) {
  std::string text = pilot.why;
  if (pilot.idle) {
    text +=
        fmt::format("{}idle since {}", text.empty() ? "" : "; ", present::DateAndTime(*pilot.idle));
  }
  return text;
}

std::string PilotTable(const HubScreen& screen, const std::vector<PilotFacts>& pilots) {
  std::string text;
  present::Table table({{"PILOT", present::Align::kRight},
                        {"ID", present::Align::kLeft, 8},
                        {"STATE"},
                        {"SINCE"},
                        {"NODES", present::Align::kRight},
                        {"UNTIL"},
                        {"WHY", present::Align::kLeft, 8}},
                       screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  for (const PilotFacts& pilot : pilots) {
    table.Add(
        {{fmt::format("{}", pilot.pilot)},
         {pilot.id},
         {pilot.state, pilot.state == "joined" ? present::Tone::kGood : present::Tone::kPlain},
         {present::DateAndMinute(pilot.joined.value_or(pilot.since))},
         {fmt::format("{}", pilot.nodes)},
         {pilot.until ? present::DateAndMinute(*pilot.until) : ""},
         {NoteOf(pilot)}});
  }
  table.Finish();
  return text;
}

}  // namespace

std::string PlanOf(const PoolPolicy& pool) {
  std::string text;
  if (pool.min_pilots > 0 && pool.min_pilots == pool.max_pilots) {
    text = fmt::format("{}, always", PilotsText(pool.max_pilots, pool.nodes_per_pilot));
  } else {
    text = fmt::format("up to {} when tasks wait for them",
                       PilotsText(pool.max_pilots, pool.nodes_per_pilot));
    if (pool.min_pilots > 0) text += fmt::format(", {} always", pool.min_pilots);
    text += fmt::format(", {} in the queue at once", pool.backlog);
  }
  std::string end = EndText(pool);
  if (!end.empty()) text += fmt::format("; each ends {}", end);
  if (pool.chain) text += "; a successor is queued before that";
  if (pool.spread) text += "; as many as tasks can use, however short the tasks are";
  return text;
}

std::string NamesText(const std::vector<std::string>& names) {
  if (names.size() == 1) return EscapeForScreen(names.front());
  if (names.size() == 2) {
    return fmt::format("{} and {}", EscapeForScreen(names[0]), EscapeForScreen(names[1]));
  }
  return fmt::format("{} and {} others", EscapeForScreen(names[0]), names.size() - 1);
}

std::string TableOf(const HubScreen& screen, const std::vector<PoolFacts>& pools) {
  std::string text;
  present::Table table({{"POOL", present::Align::kLeft, 8},
                        {"SYSTEM"},
                        {"USER", present::Align::kLeft, 6},
                        {"STATE"},
                        {"QUEUED", present::Align::kRight},
                        {"JOINED", present::Align::kRight},
                        {"MAX", present::Align::kRight},
                        {"NODES", present::Align::kRight},
                        {"WANTED", present::Align::kRight},
                        {"WHY", present::Align::kLeft, 8}},
                       screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  for (const PoolFacts& pool : pools) {
    table.Add({{pool.policy.name},
               {pool.system},
               {pool.policy.user == "*" ? "all" : pool.policy.user},
               {pool.state, ToneOf(pool)},
               {fmt::format("{}", pool.queued)},
               {fmt::format("{}", pool.joined)},
               {fmt::format("{}", pool.policy.max_pilots)},
               {fmt::format("{}", pool.nodes)},
               {fmt::format("{}", pool.wanted)},
               {present::WhyOf(pool)}});
  }
  table.Finish();
  return text;
}

std::string PageOf(const HubScreen& screen, const PoolFacts& pool) {
  std::string text;
  present::Page page(screen.width, [&](std::string_view line) { text += line; });
  page.Title("Pool " + pool.policy.name);
  page.Field("state", pool.state);
  page.Field("why", pool.why);
  page.Field("trouble", pool.trouble);
  page.Field("group", pool.group);
  page.Field("system", fmt::format("{}, as {}", pool.system, pool.account));
  page.Field("serves", pool.policy.user == "*" ? "all users" : pool.policy.user);
  page.Field("plan", PlanOf(pool.policy));
  page.Field(
      "pilots",
      fmt::format("{} queued, {} joined, {} leaving; {} wanted in addition to the joined ones",
                  pool.queued, pool.joined, pool.leaving, pool.wanted));
  page.Field("nodes", fmt::format("{} connected", pool.nodes));
  page.Field("each has", OfferText(pool));
  std::vector<std::string> quoted;
  for (const std::string& option : pool.options) quoted.push_back(ShellQuote(option));
  page.Field("options", fmt::format("{}", fmt::join(quoted, " ")));
  if (!pool.avoids.empty()) {
    page.Field("avoids", fmt::format("{} (pilots failed there)", fmt::join(pool.avoids, ", ")));
  }
  if (pool.next_submit) page.Field("next", "not before " + present::DateAndTime(*pool.next_submit));
  if (pool.state == "paused") {
    page.Command("to resume",
                 present::TextOf(Advice("pool resume", pool.policy.name), screen.reach));
  }
  return text + PilotTable(screen, pool.pilots);
}

std::string LogOf(const HubScreen& screen, const std::vector<PoolEvent>& events) {
  std::string text;
  bool several = std::ranges::any_of(
      events, [&](const PoolEvent& event) { return event.pool != events.front().pool; });
  for (const PoolEvent& event : events) {
    std::string line = present::DateAndTime(event.at) + "  ";
    if (several) line += EscapeForScreen(event.pool) + "  ";
    if (event.pilot > 0) line += fmt::format("pilot {}", event.pilot);
    if (event.pilot > 0 && !event.id.empty())
      line += fmt::format(" ({})", EscapeForScreen(event.id));
    if (event.pilot > 0) line += ' ';
    line += EscapeForScreen(event.what);
    if (!event.words.empty()) line += ": " + EscapeForScreen(event.words);
    text += present::CutToWidth(line, screen.width) + '\n';
  }
  return text;
}

std::string TrialText(const PoolTrial& trial, bool tested) {
  auto lines = [](std::string_view shown) {
    std::string text;
    while (!shown.empty()) {
      size_t end = std::min(shown.find('\n'), shown.size());
      text += fmt::format("  {}\n", EscapeForScreen(shown.substr(0, end)));
      shown.remove_prefix(std::min(end + 1, shown.size()));
    }
    return text;
  };
  std::string text =
      fmt::format("Pool {}\nCommand\n{}", EscapeForScreen(trial.pool), lines(trial.command));
  if (!trial.description.empty()) text += "Description\n" + lines(trial.description);
  if (!trial.script.empty()) text += "Script\n" + lines(trial.script);
  if (!tested) return text;
  text += trial.passed ? "Test: passed\n" : "Test: failed\n";
  return text + lines(trial.words);
}

}  // namespace spate::cli
