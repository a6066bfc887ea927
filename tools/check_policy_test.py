#!/usr/bin/env python3
"""Every rule of check_policy.py fires, and only where it should."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_policy


def rules(path, text):
    return [finding.rule for finding in check_policy.check_source(path, text)]


# rule, path, a line that breaks it, a line close by that does not. Written in halves where this file would break it.
CASES = (
    ("abort", "src/base/log.cc", "  std::abort();", "  report_abort();"),
    ("exit", "src/sys/file.cc", "  exit(1);", "  on_exit_(1);"),
    ("exit", "src/sys/file.cc", "  return EXIT_FAILURE;", "  return kFailure;"),
    ("assert", "src/cli/main.cc", "  assert(x > 0);", "  static_assert(x > 0);"),
    ("getenv", "src/engine/options.cc", '  std::getenv("HOME");', "  get_environment(x);"),
    ("rand", "src/engine/sampler.cc", "  return rand();", "  return operand();"),
    ("number-parsing", "src/text/grammar.cc", "  int n = atoi(text);", "  std::from_chars(a, b, n);"),
    ("number-parsing", "src/cli/main.cc", "  long n = std::stoul(text);", "  auto n = restol(text);"),
    ("number-parsing", "src/text/grammar.cc", "  strtod(text, nullptr);", "  strtok_r(a, b, c);"),
    ("stdout", "src/engine/engine.cc", '  printf("x");', '  std::fprintf(stderr, "x");'),
    ("stdout", "src/engine/engine.cc", "  std::cout << x;", "  std::cerr << x;"),
    ("stdout", "src/engine/engine.cc", '  fmt::print("x");', '  fmt::print(stderr, "x");'),
    ("regex", "src/text/tokenizer.cc", "  std::regex r;", "  Regex r;"),
    ("mmap", "src/store/container.cc", "  mmap(0, n, PROT_READ, MAP_PRIVATE, fd, 0);", "  mmap(0, n, p, MAP_ANONYMOUS, -1, 0);"),
    ("throw", "src/text/grammar.cc", "  throw 1;", "  x = throws;"),
    ("model-prose", "src/model/layer.cc", "  if (isa == Isa::kAvx2) {", "  if (isa_is_fine) {"),
    ("openmp", "src/kernels/reference.cc", "#pragma omp parallel", "#pragma once"),
    ("todo", "src/base/log.cc", "// TO" + "DO: later", "// what is left to do"),
    ("todo", "scripts/setup.sh", "# FIX" + "ME", "# fixed"),
    ("dead-code", "src/base/log.cc", "  // x = compute(y);", "  // x is what compute(y) gave; y is the input"),
    ("dead-code", "src/base/log.cc", "  // return Ok();", "  // returns Ok() when all is well;"),
    ("dead-code", "src/base/log.cc", "  // store->Acquire(layer);", "  // Acquire(layer) yields leases as they (slowly) come;"),
    ("long-comment", "src/base/log.cc", "// " + "x" * 98, "// " + "x" * 97),
    ("home-path", "docs/guide.md", "cd /ho" + "me/someone/colibri", "cd colibri/home/x"),
    ("registry-host", "docs/guide.md", "https://py" + "pi.org/simple", "https://example.com/registry"),
    ("registry-host", "tools/a.txt", "https://download.py" + "torch.org/whl/cpu", "https://pytorch.org/docs"),
    ("registry-host", "tools/a.txt", "--extra-index" + "-url https://example.com", "torch==2.13.0"),
)


class Patterns(unittest.TestCase):
    def test_each_fires(self):
        for rule, path, bad, good in CASES:
            with self.subTest(rule=rule, line=bad):
                self.assertEqual(rules(path, f"\n{bad}\n"), [rule])
                self.assertEqual(rules(path, f"\n{good}\n"), [])

    def test_each_rule_has_a_case(self):
        elsewhere = {"function-length", "file-length", "allowance"}

        self.assertEqual({case[0] for case in CASES} | elsewhere, check_policy.RULES)

    def test_comments_and_literals_are_not_code(self):
        self.assertEqual(rules("src/base/a.cc", '// abort() is forbidden\nauto x = "abort()"; /* exit(1)\n throw */\n'), [])
        self.assertEqual(rules("src/base/a.cc", 'auto x = R"(abort(); " throw)"; char c = \'"\'; int n = 1\'000;\n'), [])

    def test_code_after_a_literal_is_still_code(self):
        self.assertEqual(rules("src/base/a.cc", "char c = '\"'; abort(); int n = 1'000'000;\n"), ["abort"])

    def test_the_line_is_right(self):
        finding = next(iter(check_policy.check_source("src/base/a.cc", '/* a\n b */\nauto t = R"(\n\n)";\n  abort();\n')))

        self.assertEqual(finding.line, 6)

    def test_places(self):
        self.assertEqual(rules("src/cli/main.cc", '  exit(1); getenv("A"); printf("x");\n'), [])
        self.assertEqual(rules("src/base/check.cc", "  std::abort();\n"), [])
        self.assertEqual(rules("src/engine/a_test.cc", '  printf("x");\n'), [])
        self.assertEqual(rules("src/engine/testing/a.h", "  throw 1;\n"), [])


class Allowances(unittest.TestCase):
    def test_on_the_line_or_above(self):
        self.assertEqual(rules("src/base/a.cc", "throw 1;  // policy: throw: the library's callback knows no other way\n"), [])
        self.assertEqual(rules("src/base/a.cc", "// policy: throw: see below\nthrow 1;\n"), [])

    def test_needs_a_reason(self):
        self.assertEqual(rules("src/base/a.cc", "throw 1;  // policy: throw:\n"), ["throw"])

    def test_is_for_one_rule_and_one_line(self):
        self.assertEqual(rules("src/base/a.cc", "// policy: abort: why\nthrow 1;\n"), ["throw", "allowance"])
        self.assertEqual(rules("src/base/a.cc", "// policy: throw: why\n\nthrow 1;\n"), ["throw", "allowance"])

    def test_for_nothing_is_found(self):
        self.assertEqual(rules("src/base/a.cc", "// policy: throw: there was one once\nint x;\n"), ["allowance"])


class Lengths(unittest.TestCase):
    def cpp(self, body_lines, head="int F(int x)"):
        return f"namespace a {{\n{head} {{\n" + "  x += 1;\n" * body_lines + "}\n}\n"

    def test_function(self):
        self.assertEqual(rules("src/base/a.cc", self.cpp(78)), [])
        self.assertEqual(rules("src/base/a.cc", self.cpp(79)), ["function-length"])

    def test_functions_of_many_forms(self):
        heads = (
            "struct Foo Bar(int x)",
            "template <class T>\nA<T>::A(int x) : a_{x}, b_{1}",
            "auto F() const noexcept -> int",
            "TEST(Router, Masks)",
            "int F(int x, A a = {})",
            "class A {\n public:\n  explicit A(int x)",
            "enum class E { kA, kB };\nint F(E e)",
        )
        for head in heads:
            with self.subTest(head):
                self.assertEqual(rules("src/base/a.cc", self.cpp(90, head)), ["function-length"])

    def test_classes_tables_and_namespaces_are_not_functions(self):
        self.assertEqual(rules("src/base/a.h", "class A : public B<int> {\n" + "  int F() { return 1; }\n" * 100 + "};\n"), [])
        self.assertEqual(rules("src/base/a.cc", "const int kTable[] = {\n" + "  F(1),\n" * 100 + "};\n"), [])
        self.assertEqual(rules("src/base/a.cc", "auto t = std::to_array<A>({\n" + "  {1, F(2)},\n" * 100 + "});\n"), [])
        self.assertEqual(rules("src/base/a.cc", "void F() {}\n" * 100), [])

    def test_braces_of_the_preprocessor_do_not_count(self):
        self.assertEqual(rules("src/base/a.cc", "#define OPEN if (x) { \\\n  y\nvoid F() {}\n" + "int a;\n" * 100), [])

    def test_python_function(self):
        self.assertEqual(rules("tools/a.py", "def f():\n" + "    x = 1\n" * 79), [])
        self.assertEqual(rules("tools/a.py", "def f():\n" + "    x = 1\n" * 80), ["function-length"])

    def test_file(self):
        self.assertEqual(rules("src/base/a.cc", "int a;\n" * 600), [])
        self.assertEqual(rules("src/base/a.cc", "int a;\n" * 601), ["file-length"])


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def test_reads_sources_and_leaves_other_trees_alone(self):
        self.write("src/base/a.cc", "void F() { abort(); }\n")
        self.write("build/src/base/b.cc", "void F() { abort(); }\n")
        self.write("web/node_modules/x/c.md", "/ho" + "me/someone\n")

        self.assertEqual([finding.path for finding in check_policy.check_tree(self.root)], ["src/base/a.cc"])

    def compile_isa_file(self, text, name="avx2.cc"):
        self.write("src/CMakeLists.txt", f"coli_isa_source(kernels/x86/{name} -mavx2)\n")
        self.write(f"src/kernels/x86/{name}", text)
        folder = self.root / "build/src/CMakeFiles/coli_kernels.dir/kernels/x86"
        folder.mkdir(parents=True, exist_ok=True)
        source = self.root / "src/kernels/x86" / name
        subprocess.run(["c++", "-c", str(source), "-o", str(folder / f"{name}.o")], check=True)
        return list(check_policy.check_objects(self.root, self.root / "build"))

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_inline_function_in_an_isa_object_is_found(self):
        found = self.compile_isa_file("inline int Shared() { return 1; }\nint F() { return Shared(); }\n")

        self.assertEqual([finding.rule for finding in found], ["isa-object"])
        self.assertIn("Shared()", found[0].text)

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_internal_function_in_an_isa_object_is_fine(self):
        text = "namespace { inline int Own() { return 1; } }\nint F() { return Own(); }\n"

        self.assertEqual(self.compile_isa_file(text), [])

    @unittest.skipUnless(shutil.which("objdump") and os.uname().machine == "x86_64", "needs x86 tools")
    def test_wide_products_are_expected_of_avx512(self):
        sources = {
            False: "void F() { __asm__(\"vpdpwssd %ymm0, %ymm1, %ymm2\"); }\n",
            True: "void F() { __asm__(\"vpdpwssd %zmm0, %zmm1, %zmm2\"); }\n",
        }
        for is_wide, text in sources.items():
            texts = [finding.text for finding in self.compile_isa_file(text, "avx512_vnni.cc")]

            self.assertEqual(texts, [] if is_wide else [r"has no vpdpwssd .*%zmm"])

    def test_missing_isa_object_is_found(self):
        self.write("src/CMakeLists.txt", "coli_isa_source(kernels/x86/avx2.cc -mavx2)\n")
        self.write("src/kernels/x86/avx2.cc", "")

        self.assertEqual(len(list(check_policy.check_objects(self.root, self.root / "build"))), 1)


if __name__ == "__main__":
    unittest.main()
