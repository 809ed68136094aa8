// One node's part of a gang: the task's one command, made the processes of a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/body.h"
#include "core/model/gang.h"
#include "core/model/needs.h"

namespace spate::node {

// Variables that show what a task, or a process of a gang, was given: SPATE_GPUS and the variable
// of the node's GPUs, SPATE_RESOURCE_NAME. Only one variable may select among GPUs: ROCm
// renumbers the devices in ROCR_VISIBLE_DEVICES, and CUDA_VISIBLE_DEVICES would select from those.
std::vector<std::string> GivenVariables(const std::vector<NamedOffer>& given,
                                        std::string_view gpu_variable);

// `body` as its job has it becomes the part's, `given` being what the part has. An error when it is
// more than one command by itself, which is the whole of what a gang can be.
//
// Input, files that come home and checks of files are the first part's alone.
Status MakePart(TaskBody& body, const GangPart& part, const std::vector<NamedOffer>& given,
                std::string_view gpu_variable);

}  // namespace spate::node
