// Rows and columns of text, aligned for a terminal or as Markdown. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coli {

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as many cells as the header
  std::vector<bool> right;                     // columns that are aligned right

  std::string Text() const;
  std::string Markdown() const;
};

}  // namespace coli
