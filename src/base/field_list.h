// SPATE_FIELDS: the list of a struct's fields, behind its members (core/model/fields.h has what is
// made of it).
//
//   struct Weight {
//     std::string user;
//     uint32_t weight = 1;
//     SPATE_FIELDS(1, user, 2, weight);
//   };
//
// Each field is a number and a member. A list that lacks a member does not compile, nor does one
// with a number twice. A mark states what a member's name alone does not:
//
//   3, Named(leased, "running")  JSON has the field under another name
//   4, NotInJson(since)          JSON does not have it
//   5, Into(machine)             JSON has the member's own fields in its place
//   6, Columns(hosts)            a list of rows in columns, with this number and those that follow
//   9, OneMore(umask)            a number from -1 on
//   9, OrNever(idle_exit)        a time that may be Duration::Max(): never
//   0, Embed(retry)              the member's fields, by their own numbers, are fields of this type
//   2, Embed(counts)             likewise, with this number and those that follow
//   4, Packed(tasks)             a list of rows of numbers, one row behind the other, packed
//   5, Must(job)                 neither left out nor zero nor empty
//   7, Bound(slots, .most = 9)   with Bounds; in other marks after a comma
//   0, NoField(cache)            no field
//
// A program that reads bytes of others checks bounds (wire/message_check.h); they are in the
// schema.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "base/each.h"

namespace spate::internal {

// 0 is no field's number.
consteval bool AreDistinct(std::initializer_list<uint32_t> numbers) {
  for (const uint32_t* one = numbers.begin(); one != numbers.end(); ++one) {
    for (const uint32_t* other = numbers.begin(); other != one; ++other) {
      if (*one == *other && *one != 0) return false;
    }
  }
  return true;
}

}  // namespace spate::internal

// The structured binding has as many names as the type has members, or it does not compile. The
// text of the list has the names that JSON leaves out (daemon/schema.h).
#define SPATE_FIELDS(...)                                                                     \
  template <typename Self, typename Visit>                                                    \
  static void Fields([[maybe_unused]] Self& self, [[maybe_unused]] Visit&& visit) {           \
    SPATE_EACH(SPATE_VISIT, __VA_ARGS__);                                                     \
  }                                                                                           \
  static constexpr const char* kFieldList = #__VA_ARGS__;                                     \
  void ListsAllMembers() const {                                                              \
    __VA_OPT__([[maybe_unused]] const auto& [SPATE_EACH(SPATE_MEMBER, __VA_ARGS__)] = *this;) \
    static_assert(__is_empty(__typeof__(*this)) __VA_OPT__(|| true));                         \
  }                                                                                           \
  static_assert(::spate::internal::AreDistinct({SPATE_EACH(SPATE_NUMBER, __VA_ARGS__)}),      \
                "a number of a field is there twice")

// The list of a message, whose zeros are not in its bytes (core/model/fields.h).
#define SPATE_MESSAGE(...)                      \
  static constexpr bool kLeavesOutZeros = true; \
  SPATE_FIELDS(__VA_ARGS__)

#define SPATE_VISIT(number, field) SPATE_FIELD(SPATE_CALL, number, field)
#define SPATE_MEMBER(number, field) SPATE_FIELD(SPATE_BIND, number, field)
#define SPATE_NUMBER(number, field) number

// use(number, ignored, member, what is called with the field, its name, its value, ...): a mark
// puts its own of these in front of a plain member's.
#define SPATE_FIELD(use, number, field) \
  SPATE_APPLY(use, number, SPATE_MARK_##field, field, visit, #field, self.field)
#define SPATE_APPLY(use, ...) use(__VA_ARGS__)
#define SPATE_BOUNDED(...) ::spate::Bounded(visit, ::spate::Bounds{__VA_ARGS__})
#define SPATE_MARK_Bound(member, ...) , member, SPATE_BOUNDED(__VA_ARGS__), #member, self.member
#define SPATE_MARK_Must(member) , member, SPATE_BOUNDED(.must = true), #member, self.member
#define SPATE_MARK_Named(member, name, ...) , member, SPATE_BOUNDED(__VA_ARGS__), name, self.member
#define SPATE_MARK_NotInJson(member) , member, visit, ::spate::kNotInJson, self.member
#define SPATE_MARK_Into(member) , member, visit, ::spate::kInto, self.member
#define SPATE_MARK_Columns(member, ...) \
  , member, SPATE_BOUNDED(__VA_ARGS__), #member, ::spate::Columns(self.member)
#define SPATE_MARK_Packed(member, ...) \
  , member, SPATE_BOUNDED(__VA_ARGS__), #member, ::spate::Packed(self.member)
#define SPATE_MARK_OneMore(member, ...) \
  , member, SPATE_BOUNDED(__VA_ARGS__), #member, ::spate::OneMore(self.member)
#define SPATE_MARK_OrNever(member, ...) \
  , member, SPATE_BOUNDED(__VA_ARGS__), #member, ::spate::OrNever(self.member)
#define SPATE_MARK_Embed(member) , member, SPATE_CALL_EMBEDDED, , self.member
#define SPATE_MARK_NoField(member) , member, SPATE_CALL_NOTHING, , self.member
#define SPATE_CALL(number, ignored, member, call, name, value, ...) call(number, name, value)
#define SPATE_BIND(number, ignored, member, ...) member##_
#define SPATE_CALL_EMBEDDED(number, name, value) ::spate::VisitFrom(number, value, visit)
#define SPATE_CALL_NOTHING(number, name, value) static_cast<void>(0)
