#include "daemon/schema.h"

#include <all_questions.h>
#include <fmt/format.h>

#include <concepts>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/advice.h"
#include "base/ids.h"
#include "base/time.h"
#include "base/type_name.h"
#include "core/engine/record.h"
#include "core/model/fields.h"
#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/needs.h"
#include "core/model/node_measures.h"
#include "core/provision/record.h"
#include "doors/parasol/formats/site_facts.h"
#include "present/json/json_fields.h"
#include "present/reasons.h"
#include "shepherd/protocol.h"
#include "wire/client_forms.h"
#include "wire/greeting.h"
#include "wire/questions.h"

namespace spate::daemon {
namespace {

// Members by the numbers of their fields, from the text of a list ("1, name, 4, Into(counts)"):
// JSON does not name all of them.
std::map<std::string, std::string> MembersIn(std::string_view list) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (char c : list) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      words.emplace_back();
    } else if (c == '(') {
      words.back().clear();  // a mark
    } else if (c != ' ' && c != ')') {
      words.back() += c;
    }
  }
  std::map<std::string, std::string> members;
  for (size_t i = 0; i + 1 < words.size(); i += 2) members[words[i]] = words[i + 1];
  return members;
}

class SchemaLines {
 public:
  // Alternatives of a variant, which bytes know by their numbers, or places from `first` on; as
  // they stand in bytes.
  template <typename... T>
  void AddKinds(const std::string& name, const std::variant<T...>*, int64_t first = 0) {
    ((types_[name] += ValueLine(name, NumberOf<T>(first++),
                                KindOf(static_cast<typename wire::FormOf<T>::Type*>(nullptr)))),
     ...);
  }
  template <typename... Q>
  void AddQuestions(const std::tuple<Q...>*) {
    std::map<uint32_t, std::string> lines;
    ((lines[Q::kNumber] =
          ValueLine("wire::Question", Q::kNumber, KindOf(static_cast<Q*>(nullptr)))),
     ...);
    for (const auto& [number, line] : lines) types_["wire::Question"] += line;
    (KindOf(static_cast<typename Q::Answer*>(nullptr)), ...);
  }
  template <typename... T>
  void AddTypes() {
    (KindOf(static_cast<T*>(nullptr)), ...);
  }
  std::string Text() const {
    std::string text;
    for (const auto& [name, lines] : types_) text += lines;
    return text;
  }

 private:
  struct Visitor {
    SchemaLines& schema;
    const std::string& of;
    std::map<std::string, std::string> members;
    std::string lines = {};
    uint32_t first_later = UINT32_MAX;

    template <typename T>
    void operator()(uint32_t number, std::string_view name, T&& value, const Bounds& bounds = {}) {
      const bool named = name != kNotInJson && name != kInto;
      present::JsonLine line = present::TypedLine("field");
      present::AddFields(line, "of", of, "number", number, "name",
                         named ? std::string(name) : members[std::to_string(number)], "json",
                         name != kNotInJson, "kind", schema.KindOf(&value));
      AddBounds(line, bounds);
      if (number >= first_later) present::AddFields(line, "later", true);
      lines += line.Finish();
    }
    // Those that there are.
    static void AddBounds(present::JsonLine& line, const Bounds& bounds) {
      const Bounds none;
      if (bounds.must) present::AddFields(line, "must", true);
      if (bounds.sorted) present::AddFields(line, "sorted", true);
      if (bounds.least != none.least) present::AddFields(line, "least", bounds.least);
      if (bounds.most != none.most) present::AddFields(line, "most", bounds.most);
      if (bounds.count != none.count) present::AddFields(line, "count", bounds.count);
    }
  };
  template <typename T>
  static int64_t NumberOf(int64_t place) {
    if constexpr (requires { T::kType; }) return static_cast<int64_t>(T::kType);
    if constexpr (requires { T::kNumber; }) return T::kNumber;
    return place;
  }
  static std::string ValueLine(std::string_view of, int64_t number, std::string_view name) {
    return present::JsonOf("value", "of", of, "number", number, "name", name);
  }

  static std::string KindOf(const bool*) { return "bool"; }
  template <std::integral T>
  static std::string KindOf(const T*) {
    return fmt::format("{}{}", std::is_signed_v<T> ? "sint" : "uint", 8 * sizeof(T));
  }
  static std::string KindOf(const double*) { return "double"; }
  static std::string KindOf(const std::string*) { return "text"; }
  static std::string KindOf(const std::string_view*) { return "text"; }
  static std::string KindOf(const Duration*) { return "duration"; }
  static std::string KindOf(const Instant*) { return "instant"; }
  template <typename Tag, typename Rep>
  static std::string KindOf(const Id<Tag, Rep>*) {
    return KindOf(static_cast<Rep*>(nullptr));
  }
  template <typename T>
  std::string KindOf(const std::optional<T>*) {
    return "optional " + KindOf(static_cast<T*>(nullptr));
  }
  template <typename T>
  std::string KindOf(const std::vector<T>*) {
    return "list of " + KindOf(static_cast<T*>(nullptr));
  }
  template <typename T>
  std::string KindOf(const std::shared_ptr<T>*) {
    return "optional " + KindOf(static_cast<T*>(nullptr));
  }
  template <typename List>
  std::string KindOf(const Packed<List>*) {
    return "packed " + KindOf(static_cast<typename List::value_type*>(nullptr));
  }
  template <typename List>
  std::string KindOf(const Columns<List>*) {
    return "columns of " + KindOf(static_cast<typename List::value_type*>(nullptr));
  }
  template <typename T>
  std::string KindOf(const OneMore<T>*) {
    return "one more than " + KindOf(static_cast<T*>(nullptr));
  }
  template <typename T>
  static std::string KindOf(const OrNever<T>*) {
    return "duration or never";
  }
  template <typename E>
    requires std::is_enum_v<E>
  std::string KindOf(const E*) {
    std::string name(TypeName<E>());
    std::string lines;
    if constexpr (HasWords<E>) {
      for (size_t i = 0; i < kCountOf<E>; ++i) {
        lines += ValueLine(name, static_cast<int64_t>(i), kWordsOf<E>[i]);
      }
    }
    types_[name] = lines;
    return name;
  }
  template <HasFields T>
  std::string KindOf(const T*) {
    std::string name(TypeName<T>());
    if (!types_.try_emplace(name).second) return name;
    Visitor visitor{*this, name, {}};
    if constexpr (requires { T::kFieldList; }) visitor.members = MembersIn(T::kFieldList);
    if constexpr (requires { T::kFirstLater; }) visitor.first_later = T::kFirstLater;
    T value{};
    T::Fields(value, visitor);
    types_[name] = std::move(visitor.lines);
    return name;
  }

  std::map<std::string, std::string> types_;
};

}  // namespace

std::string Schema() {
  SchemaLines schema;
  schema.AddKinds("wire::ToNode", static_cast<wire::ToNode*>(nullptr));
  schema.AddKinds("wire::ToHub", static_cast<wire::ToHub*>(nullptr));
  schema.AddKinds("wire::Request", static_cast<wire::Request*>(nullptr));
  schema.AddKinds("wire::Reply", static_cast<wire::Reply*>(nullptr));
  schema.AddTypes<wire::Greeting, wire::Welcome, wire::Refusal, wire::OutputPiece>();
  schema.AddQuestions(static_cast<AllQuestions*>(nullptr));
  schema.AddKinds("engine::Record", static_cast<engine::Record*>(nullptr));
  schema.AddKinds("provision::Record", static_cast<provision::Record*>(nullptr), 1);
  schema.AddKinds("shepherd::Order", static_cast<shepherd::Order*>(nullptr));
  schema.AddKinds("shepherd::Report", static_cast<shepherd::Report*>(nullptr));
  schema.AddTypes<shepherd::Start, shepherd::StartView::Surroundings, JobSettings, JobPolicy,
                  TaskClass, GangPart, Remedy, NodeMeasures, ReadProcesses, parasol::ParasolSite>();
  std::string text = schema.Text();
  for (const present::ReasonRow& row : present::Reasons()) {
    text += present::JsonOf("reason", "number", static_cast<int>(row.kind), "name", row.word,
                            "arguments", row.arguments, "text", row.text);
  }
  for (const auto& [name, part] : present::ReasonParts()) {
    text += present::JsonOf("reason_part", "name", name, "text", part);
  }
  return text;
}

std::optional<int> SchemaEntry(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "__schema") return std::nullopt;
  const std::string text = Schema();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}

}  // namespace spate::daemon
