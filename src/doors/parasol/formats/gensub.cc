// A template is cut into pieces once; each pair then only appends. What a variable stands for is
// found in the item each time it is asked for: that is a search for a slash or a dot.

#include "doors/parasol/formats/gensub.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include "format/lines.h"

namespace spate::parasol {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr uint32_t kLastDirsMax = 30;

struct PartName {
  std::string_view name;
  GensubPart part;
};
constexpr std::array kParts = {
    PartName{"path", GensubPart::kPath}, PartName{"dir", GensubPart::kDir},
    PartName{"root", GensubPart::kRoot}, PartName{"ext", GensubPart::kExt},
    PartName{"file", GensubPart::kFile}, PartName{"lastDir", GensubPart::kLastDir},
    PartName{"num", GensubPart::kNum},
};

std::string_view FileOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Without its slash at the end, unless it is only that.
std::string_view DirOf(std::string_view path) {
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  return path.substr(0, std::max<size_t>(slash, 1));
}

// Without what comes behind the first so many folders: Parasol's program looks at no more.
std::string_view FirstDirs(std::string_view dir) {
  size_t at = 0;
  for (uint32_t i = 0; i < kLastDirsMax; ++i) {
    size_t slash = dir.find('/', at);
    if (slash == std::string_view::npos) return dir;
    at = slash + 1;
  }
  return dir.substr(0, at - 1);
}

// The last `count` folders of `dir`; nullopt when it has fewer. What is before a leading slash
// counts as one.
std::optional<std::string_view> LastDirs(std::string_view dir, uint32_t count) {
  if (dir.empty()) return std::nullopt;
  size_t at = dir.size();
  for (uint32_t i = 0; i < count; ++i) {
    size_t slash = at == 0 ? std::string_view::npos : dir.rfind('/', at - 1);
    if (slash == std::string_view::npos) {
      if (i + 1 == count) return dir;
      return std::nullopt;
    }
    at = slash;
  }
  return dir.substr(at + 1);
}

struct Item {
  std::string_view path;
  size_t number = 0;
};

void Append(const GensubTemplate::Piece& piece, const Item& item, std::string* out) {
  std::string_view file = FileOf(item.path);
  size_t dot = std::min(file.rfind('.'), file.size());
  switch (piece.part) {
    case GensubPart::kPath:
      *out += item.path;
      return;
    case GensubPart::kDir:
      *out += DirOf(item.path);
      return;
    case GensubPart::kLastDir:
      *out += FileOf(DirOf(item.path));
      return;
    case GensubPart::kLastDirs:
      *out += LastDirs(FirstDirs(DirOf(item.path)), piece.count).value_or(piece.text);
      return;
    case GensubPart::kRoot:
      *out += file.substr(0, dot);
      return;
    case GensubPart::kExt:
      *out += file.substr(dot);
      return;
    case GensubPart::kFile:
      *out += file;
      return;
    case GensubPart::kNum:
      fmt::format_to(std::back_inserter(*out), "{}", item.number);
      return;
  }
}

// "path1" or "lastDirs2=3"; nullopt for a name that is not known.
std::optional<GensubTemplate::Piece> ReadVariable(std::string_view name) {
  GensubTemplate::Piece piece{.is_variable = true};
  constexpr std::string_view kLastDirs = "lastDirs";
  auto take_list = [&](std::string_view number) {
    piece.is_second = number == "2";
    return piece.is_second || number == "1";
  };
  if (name.starts_with(kLastDirs)) {
    name.remove_prefix(kLastDirs.size());
    piece.part = GensubPart::kLastDirs;
    if (name.size() < 3 || name[1] != '=' || !take_list(name.substr(0, 1))) return std::nullopt;
    auto [end, error] = std::from_chars(name.data() + 2, name.data() + name.size(), piece.count);
    bool whole = error == std::errc() && end == name.data() + name.size();
    if (!whole || name[2] == '0' || piece.count > kLastDirsMax) return std::nullopt;
    return piece;
  }
  for (const PartName& known : kParts) {
    if (!name.starts_with(known.name) || !take_list(name.substr(known.name.size()))) continue;
    piece.part = known.part;
    return piece;
  }
  return std::nullopt;
}

// Appends the pieces of a line of the body.
void CutLine(std::string_view line, std::vector<GensubTemplate::Piece>* pieces) {
  size_t copied = 0;
  for (size_t at = 0; (at = line.find("$(", at)) != std::string_view::npos;) {
    size_t close = line.find(')', at);
    if (close == std::string_view::npos) break;
    auto variable = ReadVariable(line.substr(at + 2, close - at - 2));
    if (!variable) {
      at += 2;
      continue;
    }
    if (at > copied) pieces->push_back({.text = line.substr(copied, at - copied)});
    variable->text = line.substr(at, close + 1 - at);
    pieces->push_back(*variable);
    at = copied = close + 1;
  }
  if (line.size() > copied) pieces->push_back({.text = line.substr(copied)});
  pieces->push_back({.text = "\n"});
}

class Writer {
 public:
  Writer(const GensubTemplate& made_of, std::span<const std::string_view> first,
         std::span<const std::string_view> second,
         const std::function<Status(std::string_view)>& sink)
      : template_(made_of), first_(first), second_(second), sink_(sink) {}

  void Text(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kPiece) Flush();
  }

  void Pair(size_t i, size_t j) {
    for (const GensubTemplate::Piece& piece : template_.body()) {
      if (!piece.is_variable) {
        buffer_ += piece.text;
      } else if (piece.is_second) {
        Append(piece, {second_[j], j}, &buffer_);
      } else {
        Append(piece, {first_[i], i}, &buffer_);
      }
    }
    if (buffer_.size() >= kPiece) Flush();
  }

  void Flush() {
    if (status_) status_ = sink_(buffer_);
    buffer_.clear();
  }

  bool failed() const { return !status_; }
  Status status() const { return status_; }

 private:
  const GensubTemplate& template_;
  std::span<const std::string_view> first_, second_;
  const std::function<Status(std::string_view)>& sink_;
  std::string buffer_;
  Status status_;
};

// Calls pair(i, j) in the order, until it returns false.
template <typename F>
void ForEachPair(size_t rows, size_t columns, GensubOrder order, F pair) {
  switch (order) {
    case GensubOrder::kDiagonal:
      for (size_t sum = 0; sum < rows + columns - 1; ++sum) {
        size_t j = sum < rows ? 0 : sum - rows + 1;
        for (; j <= sum && j < columns; ++j) {
          if (!pair(sum - j, j)) return;
        }
      }
      return;
    case GensubOrder::kGroup1:
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) {
          if (!pair(i, j)) return;
        }
      }
      return;
    case GensubOrder::kGroup2:
      for (size_t j = 0; j < columns; ++j) {
        for (size_t i = 0; i < rows; ++i) {
          if (!pair(i, j)) return;
        }
      }
      return;
    case GensubOrder::kSelfPair:
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = i + 1; j < rows; ++j) {
          if (!pair(i, j)) return;
        }
      }
      return;
  }
}

}  // namespace

Result<GensubTemplate> GensubTemplate::Parse(std::string_view text, std::string_view name) {
  GensubTemplate made;
  enum { kHead, kBody, kTail } where = kHead;
  while (auto line = format::NextLine(&text)) {
    if (where == kHead && line->starts_with("#LOOP")) {
      where = kBody;
    } else if (where == kBody && line->starts_with("#ENDLOOP")) {
      where = kTail;
    } else if (where == kBody) {
      CutLine(*line, &made.body_);
    } else {
      std::string& to = where == kHead ? made.head_ : made.tail_;
      to.append(*line).append("\n");
    }
  }
  if (where != kTail) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("No {} statement in {}", where == kHead ? "#LOOP" : "#ENDLOOP", name));
  }
  return made;
}

std::vector<std::string_view> GensubItems(std::string_view text) {
  std::vector<std::string_view> items;
  while (auto line = format::NextLine(&text)) items.push_back(format::TrimBlanks(*line));
  return items;
}

Status WriteGensub(const GensubTemplate& made_of, std::span<const std::string_view> first,
                   std::span<const std::string_view> second, GensubOrder order,
                   const std::function<Status(std::string_view)>& sink) {
  if (order == GensubOrder::kSelfPair) second = first;
  Writer writer(made_of, first, second, sink);
  writer.Text(made_of.head());
  ForEachPair(first.size(), second.size(), order, [&](size_t i, size_t j) {
    writer.Pair(i, j);
    return !writer.failed();
  });
  writer.Text(made_of.tail());
  writer.Flush();
  return writer.status();
}

}  // namespace spate::parasol
