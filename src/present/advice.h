// The text of advice: values of base/advice.h for a terminal or a log.
//
// `reach` has the options by which commands reach what they are about, each with a space in front:
// " --access FILE", " --hub --state DIR", " --state DIR", " --local", or nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/advice.h"
#include "base/result.h"

namespace spate::present {

// Options for the commands that are always about a hub: `reach` without --hub.
std::string_view ReachOfHub(std::string_view reach);

// "spate job release --access FILE 12": a line for a shell. Each command gets those of the options
// that it takes; none when its arguments name what it reaches.
std::string TextOf(const Advice& advice, std::string_view reach = {});
// "; see: spate job list"
std::string TextOf(const Remedy& remedy, std::string_view reach = {});
// The message with its remedy, without a trailing newline.
std::string TextOf(const Error& error, std::string_view reach = {});
std::string TextOf(const LogText& line, std::string_view reach = {});

// The same error whose remedy has become text: for those who know what its commands must reach.
Error Reached(Error error, std::string_view reach);

}  // namespace spate::present
