// Where the time of a chat went, as a table for people. Pure.
#pragma once

#include <string>

#include "engine/token_stream.h"

namespace coli {

// Adds the counts and times of `more` to `sum`; what holds for a moment is that of `more`.
void AddStats(const GenerationStats& more, GenerationStats& sum);

// Lines with a column for the last answer and one for all of them.
std::string WorkReport(const GenerationStats& last, const GenerationStats& all);

}  // namespace coli
