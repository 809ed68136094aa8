#include "doors/parasol/programs/gensub2.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "doors/parasol/formats/gensub.h"
#include "doors/parasol/programs/para_options.h"
#include "doors/parasol/programs/parasol_input.h"
#include "doors/parasol/programs/parasol_options.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

constexpr std::string_view kSingle = "single";

// The text that the items lie in, and they. It stays where it is when the list is moved.
struct List {
  std::unique_ptr<const std::string> text;
  std::vector<std::string_view> items;
};

Result<List> ReadList(const std::string& name) {
  auto text = TRY(ReadParasolLines(name));
  std::ranges::replace(text, '\\', '/');  // paths of Windows
  List list{.text = std::make_unique<const std::string>(std::move(text)), .items = {}};
  list.items = GensubItems(*list.text);
  if (list.items.empty()) {
    return Fail(ErrorKind::kInvalid, fmt::format("{} is empty; write one line per item", name));
  }
  return list;
}

struct Order {
  GensubOrder order = GensubOrder::kDiagonal;
  bool single = false;  // no second list is read
};

Order OrderOf(const ParasolOptions& options) {
  bool self = SameWord(options.words()[1], "selfPair");
  bool single = self || SameWord(options.words()[1], kSingle);
  if (options.Has("group1")) return {GensubOrder::kGroup1, single};
  if (options.Has("group2")) return {GensubOrder::kGroup2, single};
  return {self ? GensubOrder::kSelfPair : GensubOrder::kDiagonal, single};
}

}  // namespace

Result<int> RunGensub2(std::span<const std::string> args) {
  ParasolOptions options = ParasolOptions::ParseAny(args);
  const std::vector<std::string>& words = options.words();
  if (words.size() != 4) return Fail(ErrorKind::kInvalid, std::string(kGensub2.usage));
  auto first = TRY(ReadList(words[0]));
  Order order = OrderOf(options);
  Result<List> second = List{.text = {}, .items = {kSingle}};
  if (!order.single) second = ReadList(words[1]);
  if (!second) return std::unexpected(std::move(second.error()));
  auto text = TRY(ReadParasolLines(words[2]));
  auto made_of = TRY(GensubTemplate::Parse(text, words[2]));

  // Not before all input is known to be right.
  os::Fd file;
  if (words[3] != "stdout") {
    auto opened = TRY(os::OpenWrite(words[3], os::OpenHow::kTruncate));
    file = std::move(opened);
  }
  int fd = file ? file.get() : os::kStdout;
  auto written =
      WriteGensub(made_of, first.items, second->items, order.order,
                  [&](std::string_view piece) { return os::WriteAll(fd, piece, words[3]); });
  if (written && file) written = file.Close();
  if (!written) return std::unexpected(std::move(written.error()));
  return 0;
}

}  // namespace spate::parasol
