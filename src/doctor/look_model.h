// Looks at a model directory for `coli doctor`. Headers only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "doctor/facts.h"
#include "engine/options.h"

namespace coli {

// Every fault of the directory that shows without reading weights, as facts.
ModelDirectoryFacts LookAtModel(const EngineOptions& options);

// What the names of its files tell: unfinished downloads, shards that are missing or of another
// set. Pure.
void JudgeNames(const std::vector<std::string>& names, ModelDirectoryFacts& facts);

// A file of weights of the directory, to try reads with; empty if there is none.
std::filesystem::path SomeWeightsFile(const std::filesystem::path& directory);

}  // namespace coli
