// `spate pool log`
#include <string>
#include <vector>

#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "present/json/json_fields.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr uint32_t kMostEvents = 1'000;

constexpr Option kPilotOutput = {
    .names = "output-of",
    .argument = "N",
    .heading = Heading::kSelect,
    .help = "print the output of pilot N instead",
    .more =
        "The end of it, up to 256 KB. Of pilots that have ended, that of the last 50 is kept. "
        "Pilots of batch systems are numbered as in the names of their nodes: NAME.N."};

Result<int> ReadOutputOf(const HubScreen& screen) {
  OptionReader in(screen.words);
  wire::ReadPilotOutput question{.name = screen.words.words.front()};
  in.Read(kPilotOutput, question.pilot, CountUpTo(UINT32_MAX));
  TRY(in.status());
  auto told = TRY(client::QueryOne(screen.hub, std::move(question)));
  if (screen.human()) return screen.Write(told.text);
  return screen.Write(present::JsonOf("pilot_output", "pool", screen.words.words.front(), "pilot",
                                      question.pilot, "text", told.text));
}

Result<int> ReadPoolLog(const HubScreen& screen) {
  if (screen.words.Has(kPilotOutput)) return ReadOutputOf(screen);
  OptionReader in(screen.words);
  wire::ReadPoolLog question{.name = screen.words.words.front()};
  in.Read(opt::kLimit, question.most, CountUpTo(kMostEvents));
  TRY(in.status());
  std::vector<PoolEvent> events;
  TRY(client::Query(screen.hub, std::move(question),
                    [&](PoolEvent event) { events.push_back(std::move(event)); }));
  if (screen.human()) return screen.Write(LogOf(screen, events));
  std::string text;
  for (const PoolEvent& event : events) text += present::JsonOf("pool_event", event);
  return screen.Write(text);
}

}  // namespace

extern const Command kPoolLog = {
    .order = 460,
    .group = CommandGroup::kPools,
    .name = "pool log",
    .arguments = "NAME",
    .completes = Completes::kPools,
    .summary = "print a pool's log, newest last",
    .details = "Prints 100 lines, or with -n up to 1,000.",
    .examples = {{{"spate pool log lab", "the newest 100 lines"},
                  {"spate pool log lab -n 1000", "all lines that the hub prints"},
                  {"spate pool log lab --output-of 12", "what the pilot of node lab.12 wrote"}}},
    .words_min = 1,
    .words_max = 1,
    .options = {{opt::kAboutHub, opt::kLimit, kPilotOutput}},
    .run = AskHub<ReadPoolLog>,
};

}  // namespace spate::cli::command
