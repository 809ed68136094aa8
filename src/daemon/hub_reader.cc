#include "daemon/hub_reader.h"

#include <string_view>

#include "doors/doors.h"
#include "history/reader_end.h"
#include "os/clock.h"
#include "store/sqlite/sqlite_history.h"
#include "wire/client_codec.h"

namespace spate::daemon {

std::optional<int> HubReaderEntry(int argc, char** argv) {
  if (argc != 5 || std::string_view(argv[1]) != "__hub-reader") return std::nullopt;
  store::JobPlace place = store::JobPlace::Hub(argv[2]);
  if (std::string_view(argv[4]) == history::kKeepWord) place.keep_replay_after = 1;
  history::Source source(store::OpenHistory(place));
  source.viewer = {argv[3], std::string_view(argv[4]) == "admin"};
  source.settings = [](const store::JobRow& row) { return wire::DecodeSettings(row.settings); };
  source.dialects = doors::AllDialects();
  if (history::KeepIfAsked(source, argv[3], argv[4])) return 0;
  source.now = os::WallNow;
  history::AnswerOnce(source);
  return 0;
}

}  // namespace spate::daemon
