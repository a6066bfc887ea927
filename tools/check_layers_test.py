#!/usr/bin/env python3
"""Every rule of check_layers.py fires, and only where it should."""

import tempfile
import unittest
from pathlib import Path

import check_layers

CMAKE = """
coli_library(base
  PUBLIC_PACKAGES fmt::fmt)   # (a comment)
coli_library(sys DEPENDS base)
coli_library(kernels DEPENDS base TEST_DEPENDS sys)
coli_library(cli DEPENDS base sys PRIVATE_PACKAGES CLI11::CLI11)
coli_isa_source(kernels/x86/avx2*.cc -mavx2 -mfma)
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("src/CMakeLists.txt", CMAKE)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def found(self, path, text):
        self.write(path, text)
        return [str(finding) for finding in check_layers.check_tree(self.root)]

    def assert_clean(self, path, text):
        self.assertEqual(self.found(path, text), [])

    def assert_found(self, path, text, *words):
        found = self.found(path, text)
        self.assertEqual(len(found), 1, found)
        for word in (path, *words):
            self.assertIn(word, found[0])

    def test_reads_the_lists_of_cmake(self):
        layers = check_layers.read_layers(self.root)

        self.assertEqual(layers.depends, {"base": [], "sys": ["base"], "kernels": ["base"], "cli": ["base", "sys"]})
        self.assertEqual(layers.test_depends["kernels"], ["sys"])
        self.assertTrue(layers.is_isa_file("src/kernels/x86/avx2.cc"))
        self.assertFalse(layers.is_isa_file("src/kernels/x86/avx2_test.cc"))
        self.assertFalse(layers.is_isa_file("src/kernels/dispatch.cc"))

    def test_own_folder_and_declared_folders_are_fine(self):
        self.assert_clean("src/sys/file.cc", '#include "sys/file.h"\n#include "base/check.h"\n#include <string>\n')

    def test_upward_include_is_found_with_its_line(self):
        self.assert_found("src/base/log.h", '#pragma once\n#include "sys/file.h"\n', ":2:", "base may not include")

    def test_sideways_include_is_found(self):
        self.assert_found("src/kernels/dispatch.cc", '#include "sys/file.h"\n', "kernels may not include")

    def test_what_only_tests_may_include(self):
        self.assert_clean("src/kernels/dispatch_test.cc", '#include "sys/file.h"\n#include "testing/grid.h"\n')

    def test_test_support_stays_out_of_the_program(self):
        self.assert_found("src/kernels/dispatch.cc", '#include "testing/grid.h"\n', "kernels may not include")
        self.assert_found("src/kernels/dispatch.cc", '#include "kernels/testing/rows.h"\n', "for tests only")
        self.assert_clean("src/kernels/dispatch.cc", "")
        self.assert_clean("src/kernels/testing/rows.cc", '#include "kernels/testing/rows.h"\n#include "sys/file.h"\n')

    def test_include_without_folder_is_found(self):
        self.assert_found("src/base/log.cc", '#include "log.h"\n', "from src/ on")

    def test_undeclared_folder_is_found(self):
        self.assert_found("src/extra/a.cc", "\n", "does not declare the folder extra")

    def test_cycle_is_found(self):
        self.write("src/CMakeLists.txt", "coli_library(base DEPENDS sys)\ncoli_library(sys DEPENDS base)\n")

        self.assertEqual(len(list(check_layers.check_tree(self.root))), 1)

    def test_heavy_header_in_a_header_is_found(self):
        for header in ("nlohmann/json.hpp", "boost/asio.hpp", "spdlog/spdlog.h", "regex"):
            with self.subTest(header):
                self.assert_found("src/base/json.h", f"#include <{header}>\n", "too dear")
        self.assert_clean("src/base/json.h", "#include <nlohmann/json_fwd.hpp>\n")
        self.assert_clean("src/base/json.cc", "#include <nlohmann/json.hpp>\n")
        self.assert_clean("src/base/testing/json_text.h", "#include <nlohmann/json.hpp>\n")

    def test_owned_header_elsewhere_is_found(self):
        owners = {"CLI/CLI.hpp": "src/cli/", "pcre2.h": "src/text/", "hwloc.h": "src/sys/", "immintrin.h": "src/kernels/x86/"}
        for header, owner in owners.items():
            with self.subTest(header):
                self.assert_found("src/base/a.cc", f"#include <{header}>\n", "belongs in", owner)
        self.write("src/base/a.cc", "")
        self.assert_clean("src/cli/main.cc", "#include <CLI/CLI.hpp>\n")

    def test_isa_file_includes_only_kernel_headers(self):
        path = "src/kernels/x86/avx2.cc"

        self.assert_clean(path, '#include <immintrin.h>\n#include <stdint.h>\n#include "kernels/kernel_table.h"\n')
        self.assert_found(path, "#include <vector>\n", "its own instruction set")
        self.assert_found(path, '#include "base/check.h"\n', "its own instruction set")


if __name__ == "__main__":
    unittest.main()
