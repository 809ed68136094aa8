// The fields of jobs and tasks (core/model/fields.h) within messages, and what must hold beside
// their types.
#pragma once

#include <string_view>

#include "core/model/gang.h"
#include "core/model/job.h"
#include "core/model/needs.h"
#include "wire/ask.h"
#include "wire/field_bytes.h"
#include "wire/fields.h"

namespace spate::wire {

// Each notes the first defect of what a sender that keeps to the protocol never sends.
void Check(FieldReader& in, const Needs& needs);
void Check(FieldReader& in, const TaskClass& of_tasks);
void Check(FieldReader& in, const GangPart& part);
void Check(FieldReader& in, const JobSettings& settings);
void Check(FieldReader& in, const JobPolicy& policy);
void Check(FieldReader& in, const Ask& ask);
void Check(FieldReader& in, const AnswerPiece& piece);

// Those of a T, checked; `name` is that of the field which holds them.
template <HasFields T>
T DecodeFields(FieldReader& in, std::string_view name, std::string_view bytes) {
  T value;
  internal::FieldParser parser(kMostElements, kWireLimits.longest);
  parser.Read(bytes, value);
  FieldReader::Inside inside(in, name);
  if (!parser.ok()) in.Defect(parser.field(), parser.what());
  Check(in, value);
  return value;
}

}  // namespace spate::wire
