// The codec of what describes jobs and tasks, wherever a message holds it.
#pragma once

#include <wire/spate.pb.h>

#include "core/model/job.h"
#include "core/model/needs.h"
#include "wire/fields.h"

namespace spate::wire {

void PutNeeds(pb::Needs& to, const Needs& needs);
Needs TakeNeeds(FieldReader& in, const pb::Needs& from);

void PutSettings(pb::JobSettings& to, const JobSettings& settings);
JobSettings TakeSettings(FieldReader& in, const pb::JobSettings& from);

}  // namespace spate::wire
