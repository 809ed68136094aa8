// Common beginning of both kinds of picture, and the form of numbers and marks in them.
#pragma once

#include <string>

#include "present/graph/phase.h"
#include "present/graph/svg.h"

namespace spate::present {

inline constexpr double kSvgMargin = 20;

// "12", "12.5": at most one digit behind the point.
std::string SvgNumber(double value);

// The sign of a phase, its middle at a point.
std::string SvgMark(Phase phase, double x, double y);

// All from <svg> to the group in which the picture itself is drawn, from 0,0 to width,height;
// `</g></svg>` ends it. With it go title, counts, `note`, a legend and the length of the critical
// path.
std::string SvgHead(const SvgInput& input, const PhaseCounts& counts, std::string_view note,
                    double width, double height);

// Draws by depth (WriteSvg decides that).
void WriteSvgByDepth(const SvgInput& input, const std::vector<Phase>& phases, const TextSink& sink);

}  // namespace spate::present
