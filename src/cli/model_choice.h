// Which model directory is meant.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace coli {

struct ModelChoice {
  std::filesystem::path directory;
  bool built_in = false;  // nobody named one
};

// `named`: what the user asked for. Nothing: the built-in model that belongs to `executable`.
// Errors: kNotFound when there is no such directory or it holds no config.json; the message says
// what to do.
Result<ModelChoice> ChooseModel(const std::optional<std::string>& named,
                                const std::filesystem::path& executable);

// The file this process runs, empty when the system does not tell.
std::filesystem::path ThisExecutable();

}  // namespace coli
