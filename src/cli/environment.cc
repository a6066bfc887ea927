#include "cli/environment.h"

#include <cstdlib>

namespace coli {
namespace {

std::optional<std::filesystem::path> XdgFolder(const Environment& environment, const char* variable,
                                               const char* below_home) {
  // The XDG rules ask for relative paths to be ignored.
  if (const auto folder = environment(variable); folder && folder->starts_with('/')) {
    return std::filesystem::path(*folder) / "colibri";
  }
  if (const auto home = environment("HOME")) {
    return std::filesystem::path(*home) / below_home / "colibri";
  }
  return std::nullopt;
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') {
      return std::nullopt;
    }
    return std::string(value);
  };
}

std::optional<std::filesystem::path> ConfigFolder(const Environment& environment) {
  return XdgFolder(environment, "XDG_CONFIG_HOME", ".config");
}

std::optional<std::filesystem::path> StateFolder(const Environment& environment) {
  return XdgFolder(environment, "XDG_STATE_HOME", ".local/state");
}

}  // namespace coli
