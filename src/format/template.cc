// Template::Parse cuts a text into pieces once; AppendText and AppendWords fill them in for each
// task. Both go through Filler, which differs between them in Break() only: what stands between
// two values.

#include "format/template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"

namespace spate::format {
namespace {

constexpr bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }

std::optional<ValuePart> PartOf(std::string_view suffix) {
  if (suffix.empty()) return ValuePart{};
  if (suffix == "/") return ValuePart{ValueForm::kName};
  if (suffix == "//") return ValuePart{ValueForm::kFolder};
  // {%x} alone would take too much of what people mean as it is.
  if (suffix.starts_with("%.") && suffix.size() > 2) {
    return ValuePart{ValueForm::kWithoutText, 0, std::string(suffix.substr(1))};
  }
  bool name = suffix.starts_with('/');
  if (name) suffix.remove_prefix(1);
  if (suffix.empty() || suffix.size() > 3 || suffix.find_first_not_of('.') != suffix.npos) {
    return std::nullopt;
  }
  return ValuePart{name ? ValueForm::kNameNoSuffix : ValueForm::kNoSuffix,
                   static_cast<uint8_t>(suffix.size())};
}

Piece ValuePiece(int32_t position, ValuePart part) {
  return Piece{.kind = Piece::Kind::kValue, .part = std::move(part), .position = position};
}

// "2", "-1/", "2 /.": a position, blanks, a suffix.
std::optional<Piece> PositionPiece(std::string_view content) {
  constexpr size_t kDigitsMax = 8;
  bool negative = content.starts_with('-');
  if (negative) content.remove_prefix(1);
  size_t digits = 0;
  int32_t position = 0;
  while (digits < content.size() && content[digits] >= '0' && content[digits] <= '9') {
    if (digits == kDigitsMax) return std::nullopt;
    position = position * 10 + (content[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  content.remove_prefix(digits);
  while (!content.empty() && IsSpace(content.front())) content.remove_prefix(1);
  auto part = PartOf(content);
  if (!part) return std::nullopt;
  return ValuePiece(negative ? -position : position, std::move(*part));
}

// The placeholder that "{content}" is, if any.
std::optional<Piece> PieceOf(std::string_view content, const Template::Known& known) {
  for (size_t i = 0; i < known.names.size(); ++i) {
    const std::string& name = known.names[i];
    if (name.empty() || !content.starts_with(name)) continue;
    if (auto part = PartOf(content.substr(name.size()))) {
      return ValuePiece(static_cast<int32_t>(i + 1), std::move(*part));
    }
  }
  if (content.empty() && !known.replace.empty()) return std::nullopt;
  if (auto part = PartOf(content)) return ValuePiece(0, std::move(*part));
  if (content == "#") return Piece{.kind = Piece::Kind::kNumber};
  if (content == "%") return Piece{.kind = Piece::Kind::kSlot};
  if (known.job && content == "index") return Piece{.kind = Piece::Kind::kNumber};
  if (known.job && content == "job") return Piece{.kind = Piece::Kind::kJob};
  if (known.rank && content == "rank") return Piece{.kind = Piece::Kind::kRank};
  return PositionPiece(content);
}

// dirname(3), as far as paths with trailing slashes go: "a/b/" is in "a".
void AppendFolder(std::string_view path, std::string& out) {
  auto strip = [](std::string_view text) {
    size_t end = text.find_last_not_of('/');
    return text.substr(0, end == std::string_view::npos ? 1 : end + 1);
  };
  size_t slash = path.rfind('/');
  if (slash != std::string_view::npos && slash + 1 == path.size()) {
    path = strip(path);
    slash = path.rfind('/');
  }
  if (slash == std::string_view::npos) {
    out += '.';
  } else {
    out += strip(path.substr(0, slash + 1));
  }
}

// The path without its last `count` suffixes; as it is when it has fewer.
std::string_view CutSuffixes(std::string_view path, uint8_t count) {
  std::string_view rest = path;
  for (; count > 0; --count) {
    size_t at = rest.find_last_of("./");
    if (at == std::string_view::npos || rest[at] == '/') return path;
    rest = rest.substr(0, at);
  }
  return rest;
}

class Filler {
 public:
  // `words`: where Break() puts a finished word; null: it puts a blank into the text.
  Filler(const Filling& filling, std::string& text, std::vector<std::string>* words)
      : filling_(filling), text_(text), words_(words) {}

  void Fill(std::span<const Piece> pieces) {
    while (!pieces.empty()) {
      auto end = std::ranges::find(pieces, Piece::Kind::kBlanks, &Piece::kind);
      FillGroup(pieces.first(static_cast<size_t>(end - pieces.begin())));
      pieces = pieces.subspan(static_cast<size_t>(end - pieces.begin()));
      if (!pieces.empty()) {
        text_ += pieces.front().text;
        pieces = pieces.subspan(1);
      }
    }
  }

 private:
  void FillGroup(std::span<const Piece> group) {
    bool repeated = filling_.repeat && std::ranges::any_of(group, [](const Piece& piece) {
                      return piece.kind == Piece::Kind::kValue && piece.position == 0;
                    });
    if (!repeated) {
      for (const Piece& piece : group) FillPiece(piece, filling_.values);
      return;
    }
    for (size_t i = 0; i < filling_.values.size(); ++i) {
      if (i > 0) Break();
      for (const Piece& piece : group) FillPiece(piece, filling_.values.subspan(i, 1));
    }
  }

  // `all`: what {} stands for here.
  void FillPiece(const Piece& piece, std::span<const std::string_view> all) {
    switch (piece.kind) {
      case Piece::Kind::kText:
      case Piece::Kind::kBlanks:
        text_ += piece.text;
        return;
      case Piece::Kind::kNumber:
        text_ += std::to_string(filling_.number);
        return;
      case Piece::Kind::kSlot:
        text_ += std::to_string(filling_.slot);
        return;
      case Piece::Kind::kJob:
        text_ += std::to_string(filling_.job);
        return;
      case Piece::Kind::kRank:
        text_ += std::to_string(filling_.rank);
        return;
      case Piece::Kind::kValue:
        break;
    }
    if (piece.position == 0) {
      for (size_t i = 0; i < all.size(); ++i) {
        if (i > 0) Break();
        AddValue(all[i], piece.part);
      }
      return;
    }
    auto count = static_cast<int64_t>(filling_.values.size());
    int64_t at = piece.position > 0 ? piece.position - 1 : count + piece.position;
    if (at >= 0 && at < count) AddValue(filling_.values[static_cast<size_t>(at)], piece.part);
  }

  void AddValue(std::string_view value, const ValuePart& part) {
    if (!filling_.quote) {
      AppendPart(value, part, text_);
      return;
    }
    std::string plain;
    AppendPart(value, part, plain);
    text_ += ShellQuote(plain);
  }

  void Break() {
    if (words_ == nullptr) {
      text_ += ' ';
    } else {
      words_->push_back(std::exchange(text_, std::string()));
    }
  }

  const Filling& filling_;
  std::string& text_;
  std::vector<std::string>* words_;
};

}  // namespace

void AppendPart(std::string_view value, const ValuePart& part, std::string& out) {
  switch (part.form) {
    case ValueForm::kWhole:
      out += value;
      return;
    case ValueForm::kNoSuffix:
      out += CutSuffixes(value, part.suffixes);
      return;
    case ValueForm::kName:
      out += value.substr(value.rfind('/') + 1);
      return;
    case ValueForm::kFolder:
      AppendFolder(value, out);
      return;
    case ValueForm::kNameNoSuffix:
      out += CutSuffixes(value.substr(value.rfind('/') + 1), part.suffixes);
      return;
    case ValueForm::kWithoutText:
      if (value.ends_with(part.text)) value.remove_suffix(part.text.size());
      out += value;
      return;
  }
}

void Template::AddLiteral(std::string_view text) {
  while (!text.empty()) {
    bool blank = IsSpace(text.front());
    size_t end = 1;
    while (end < text.size() && IsSpace(text[end]) == blank) ++end;
    Piece::Kind kind = blank ? Piece::Kind::kBlanks : Piece::Kind::kText;
    if (!pieces_.empty() && pieces_.back().kind == kind) {
      pieces_.back().text += text.substr(0, end);
    } else {
      pieces_.push_back(Piece{.kind = kind, .text = std::string(text.substr(0, end))});
    }
    has_blanks_ = has_blanks_ || blank;
    text.remove_prefix(end);
  }
}

void Template::Add(Piece piece) {
  has_placeholder_ = true;
  has_rank_ = has_rank_ || piece.kind == Piece::Kind::kRank;
  differs_by_task_ =
      differs_by_task_ || (piece.kind != Piece::Kind::kRank && piece.kind != Piece::Kind::kJob);
  if (piece.kind == Piece::Kind::kValue) {
    has_all_values_ = has_all_values_ || piece.position == 0;
    if (first_value_.empty()) first_value_ = piece.text;
  }
  pieces_.push_back(std::move(piece));
}

Template Template::Literal(std::string_view text) {
  Template literal;
  literal.AddLiteral(text);
  return literal;
}

void Template::AddBraces(std::string_view text, const Known& known) {
  while (!text.empty()) {
    size_t close = text.find('}');
    // The innermost opening brace: "{{}}" is {} in braces.
    size_t open = close == std::string_view::npos ? close : text.substr(0, close).rfind('{');
    if (close == std::string_view::npos) {
      AddLiteral(text);
      break;
    }
    std::optional<Piece> piece;
    if (open != std::string_view::npos) {
      piece = PieceOf(text.substr(open + 1, close - open - 1), known);
    }
    if (piece) {
      AddLiteral(text.substr(0, open));
      piece->text = text.substr(open, close + 1 - open);
      Add(std::move(*piece));
    } else {
      AddLiteral(text.substr(0, close + 1));
    }
    text.remove_prefix(close + 1);
  }
}

Template Template::Parse(std::string_view text, const Known& known) {
  Template parsed;
  while (!known.replace.empty()) {
    size_t at = text.find(known.replace);
    if (at == std::string_view::npos) break;
    parsed.AddBraces(text.substr(0, at), known);
    Piece whole = ValuePiece(0, {});
    whole.text = known.replace;
    parsed.Add(std::move(whole));
    text.remove_prefix(at + known.replace.size());
  }
  parsed.AddBraces(text, known);
  return parsed;
}

void AppendText(const Template& source, const Filling& filling, std::string& out) {
  Filler(filling, out, nullptr).Fill(source.pieces());
}

void AppendWords(const Template& word, const Filling& filling, std::vector<std::string>& out) {
  std::string text;
  Filler(filling, text, word.has_blanks() ? nullptr : &out).Fill(word.pieces());
  out.push_back(std::move(text));
}

}  // namespace spate::format
