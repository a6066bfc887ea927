// The process environment, read here and nowhere else in the program.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace coli {

// Looks up one variable; tests pass a map. An empty variable counts as not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

Environment ProcessEnvironment();

// colibri's own folder below XDG_CONFIG_HOME (~/.config) and XDG_STATE_HOME (~/.local/state);
// nothing without a home.
std::optional<std::filesystem::path> ConfigFolder(const Environment& environment);
std::optional<std::filesystem::path> StateFolder(const Environment& environment);

}  // namespace coli
