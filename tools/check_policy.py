#!/usr/bin/env python3
"""Checks the house rules that a machine can check: check_policy.py [--root DIR] [--objects BUILD-DIR]

Without --objects it reads the tree; with it, only the object files of kernels with their own instruction set. A line that
has to break a rule says so on that line or the one above:   // policy: <rule>: <why>
An allowance that allows nothing is a finding too. Exit status 1 when something is found.
"""

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import check_layers

MAX_FUNCTION_LINES = 80
MAX_FILE_LINES = 600

CPP = (".cc", ".h")
SOURCE = (*CPP, ".py", ".sh", ".ts", ".tsx", ".cmake")
TEXT = (*SOURCE, ".md", ".txt", ".json", ".toml", ".html", ".css", ".def")
PLACES = ("src", "tests", "bench", "tools", "scripts", "cmake", "web", "docs", ".ci")
SKIPPED_FOLDERS = {"node_modules", "dist", "__pycache__", "corpus"}

# In C++ and TypeScript, and in everything else.
SLASH_ALLOWANCE = re.compile(r"//\s*policy: ([a-z-]+): \S")
HASH_ALLOWANCE = re.compile(r"#\s*policy: ([a-z-]+): \S")


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


class Source(NamedTuple):
    """One text file. `code` is `text` without comments and literals (C++), with the same lines."""

    path: str
    text: str
    code: str


class Pattern(NamedTuple):
    """A rule that is a regular expression over the code or the text of some files."""

    rule: str
    regex: re.Pattern
    advice: str
    applies: object  # path -> bool
    of_text: bool = False


def is_cpp(path):
    return path.endswith(CPP)


def in_src(path):
    return path.startswith("src/") and is_cpp(path)


def below_cli(path):
    return in_src(path) and not path.startswith("src/cli/")


def in_program(path):
    """Program code: not tests, nor what supports them."""
    return in_src(path) and not check_layers.is_test(path)


def shipped(path):
    return below_cli(path) and in_program(path)


def except_check(path):
    return below_cli(path) and path != "src/base/check.cc"


def source_file(path):
    return path.endswith(SOURCE)


def any_file(_path):
    return True


def pattern(rule, regex, advice, applies, of_text=False):
    return Pattern(rule, re.compile(regex, re.MULTILINE), advice, applies, of_text)


# The words are written in halves so that this file passes its own checks.
PATTERNS = (
    pattern("abort", r"\b(std::)?(abort|terminate)\s*\(", "input never ends the process: return an Error", except_check),
    pattern("exit", r"\b(_?exit|_Exit|quick_exit)\s*\(|\bEXIT_(SUCCESS|FAILURE)\b", "only cli/ ends the process", below_cli),
    pattern("assert", r"\bassert\s*\(", "COLI_CHECK for errors of the programmer, an Error for everything else", in_src),
    pattern("getenv", r"\b(secure_)?getenv\s*\(|\bsetenv\s*\(|\benviron\b", "the environment is read in cli/ only", below_cli),
    pattern("rand", r"\b(s?rand|random)\s*\(|\brandom_device\b", "a seeded generator, passed in", shipped),
    pattern(
        "number-parsing",
        r"\b(ato(i|l|ll|f)|strto(l|ll|ul|ull|f|d|ld|imax|umax)|sscanf|(std::)?sto(i|l|ll|ul|ull|f|d|ld))\s*\(",
        "std::from_chars, and all of the text must be used",
        in_src,
    ),
    pattern(
        "stdout",
        r"\b(std::)?(printf|vprintf|puts|putchar)\s*\(|\bstd::cout\b|\bstdout\b|\bfmt::print(ln)?\s*\(\s*(?!stderr\b)",
        "only cli/ prints",
        shipped,
    ),
    pattern("regex", r"\bstd::(basic_|w)?regex\b|#\s*include\s*<regex>", "PCRE2, in text/", in_src),
    pattern("mmap", r"\bmmap\s*\((?![^;]*MAP_ANON)", "weights are read, not mapped", in_program),
    pattern("throw", r"\bthrow\b", "errors are values", in_program),
    pattern(
        "model-prose",
        r"(?i)\bk?(avx\w*|sse\d\w*|neon|cuda|vulkan)\b",
        "model code names no instruction set and no device",
        lambda path: shipped(path) and path.startswith("src/model/"),
    ),
    pattern("openmp", r"#\s*pragma\s+omp\b|\bomp_[a-z_]+\s*\(", "sys/thread_pool", is_cpp),
    pattern("todo", r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", "do it or file it", source_file, True),
    pattern("long-comment", r"^(?=.{101})\s*//", "100 columns, as code", is_cpp, True),
    pattern(
        "dead-code",
        # A statement, and not three words of prose in a row.
        r"^\s*//\s*(?!.*\b[a-z]+ [a-z]+ [a-z]+\b)(return\b.*|([\w:<>*&]+ )?[\w:.>\[\]-]+(\(.*\)| [-+*/|&]?= .*));$",
        "delete it",
        lambda path: path.endswith(".cc"),
        True,
    ),
    pattern("home-path", r"(?<![\w.])/(home/\w|Users/\w|ro" r"ot/)", "no paths of somebody's machine", any_file, True),
    pattern(
        "registry-host",
        r"https?://[^\s/\"')>]*(pypi|npmjs|pythonhosted|crates\.io|artifactory|nexus|mirror|proxy|registry|download\.pyt" r"orch)"
        r"|\bregistry\.np" r"mjs|--(extra-)?index" r"-url\b",
        "name the package, not the host",
        any_file,
        True,
    ),
)
RULES = {p.rule for p in PATTERNS} | {"function-length", "file-length", "allowance"}


CPP_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)


def strip_cpp(text):
    """Comments become nothing and literals empty literals; every line stays where it was."""

    def replacement(match):
        token = match.group()
        lines = "\n" * token.count("\n")
        return lines if token.startswith("/") else token[-1] * 2 + lines

    return CPP_TOKEN.sub(replacement, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def pattern_findings(source):
    for rule in PATTERNS:
        if not rule.applies(source.path):
            continue
        text = source.text if rule.of_text else source.code
        for match in rule.regex.finditer(text):
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            yield Finding(source.path, line_of(text, start), rule.rule, f"'{match.group().strip()}': {rule.advice}")


def cpp_functions(code):
    """(first line, last line) of every function body outside functions. A heuristic over braces, not a parser."""
    # Preprocessor lines may hold unbalanced braces.
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), code, flags=re.MULTILINE)
    head = 0  # where the text begins that the next brace belongs to
    depth = 0  # braces inside a function, or inside the arguments of a call; 0 is outside
    first = 0  # line of the function's head; 0 for arguments
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match.group()
        before = code[head:at]
        if depth:
            depth += {"{": 1, "}": -1, ";": 0}[mark]
            # `: a_{x}, b_{y} {`: a brace before a comma or a brace was an initialiser, and the head goes on.
            if depth == 0 and first and not re.match(r"\s*[,{]", code[at + 1 :]):
                yield first, line_of(code, at)
                head = at + 1
        elif mark == "{" and before.count("(") > before.count(")"):
            depth, first = 1, 0
        elif mark == "{" and is_function_head(before):
            depth, first = 1, line_of(code, at - len(before.lstrip()))
        else:
            head = at + 1


def is_function_head(head):
    words = re.sub(r"\btemplate\s*<[^{}]*?>\s*(?=\w)|\[\[[^\]]*\]\]|\balignas\([^)]*\)", "", head)
    container = re.match(r"\s*((public|private|protected)\s*:\s*)*(inline\s+)?(namespace|class|struct|union|enum|extern)\b", words)
    return "(" in words and not (container and not re.search(r"\)\s*(const|noexcept|override|\s)*$", words))


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def length_findings(source):
    lines = source.text.count("\n")
    if source.path.endswith(SOURCE) and lines > MAX_FILE_LINES:
        yield Finding(source.path, 1, "file-length", f"{lines} lines, at most {MAX_FILE_LINES}; split it by idea")
    functions = ()
    if is_cpp(source.path):
        functions = cpp_functions(source.code)
    elif source.path.endswith(".py"):
        functions = python_functions(source.text)
    for first, last in functions:
        if last - first + 1 > MAX_FUNCTION_LINES:
            text = f"{last - first + 1} lines, at most {MAX_FUNCTION_LINES}"
            yield Finding(source.path, first, "function-length", text)


def check_source(path, text):
    """All findings of one file, allowances applied. path: relative to the root, with forward slashes."""
    source = Source(path, text, strip_cpp(text) if is_cpp(path) else text)
    findings = sorted({*pattern_findings(source), *length_findings(source)})
    allowance = SLASH_ALLOWANCE if path.endswith((".cc", ".h", ".ts", ".tsx")) else HASH_ALLOWANCE
    allowed = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = allowance.search(line)
        if match and source_file(path):
            allowed[number] = match.group(1)
    used = set()
    for finding in findings:
        lines = [n for n in (finding.line, finding.line - 1) if allowed.get(n) == finding.rule]
        used.update(lines)
        if not lines:
            yield finding
    for number, rule in allowed.items():
        if number not in used:
            yield Finding(path, number, "allowance", f"allows '{rule}', and there is none here")


def tree_files(root):
    for entry in sorted(root.iterdir()):
        if entry.is_file():
            yield entry
    for place in PLACES:
        for path in sorted((root / place).rglob("*")):
            if path.is_file() and not SKIPPED_FOLDERS & set(path.relative_to(root).parts):
                yield path


def check_tree(root):
    for path in tree_files(root):
        relative = path.relative_to(root).as_posix()
        named = path.suffix in TEXT and path.name != "package-lock.json"
        if (named or path.name in ("coli", "check", "run", "Makefile")) and path.stat().st_size < 4 << 20:
            yield from check_source(relative, path.read_text(errors="replace"))


def weak_symbols(nm_output):
    """Names of the weak definitions in `nm --defined-only --demangle`: what the linker may merge with other files."""
    for line in nm_output.splitlines():
        match = re.match(r"[0-9a-fA-F]+ ([WwVvu]) (.+)", line)
        if match:
            yield match.group(2)


# What a file is there for, as a pattern that a line of its disassembly matches. {vex} marks the AVX-VNNI encoding.
EXPECTED_INSTRUCTIONS = {
    "src/kernels/x86/avx_vnni.cc": r"\{vex\} vpdpwssd .*%ymm",
    "src/kernels/x86/avx512_vnni.cc": r"vpdpwssd .*%zmm",
}


def check_objects(root, build):
    """Objects of files with their own instruction set must not define anything that baseline code may be linked to."""
    layers = check_layers.read_layers(root)
    sources = [path.relative_to(root).as_posix() for path in sorted((root / "src").rglob("*.cc"))]
    for source in filter(layers.is_isa_file, sources):
        objects = sorted(build.rglob("CMakeFiles/*.dir/" + source.removeprefix("src/") + ".o"))
        if not objects:
            yield Finding(source, 1, "isa-object", f"no object file of it under {build}")
        for path in objects:
            output = subprocess.run(
                ["nm", "--defined-only", "--demangle", str(path)], check=True, capture_output=True, text=True
            ).stdout
            instruction = EXPECTED_INSTRUCTIONS.get(source)
            if instruction is not None:
                code = subprocess.run(["objdump", "-d", str(path)], check=True, capture_output=True, text=True).stdout
                if not re.search(instruction, code):
                    yield Finding(source, 1, "isa-object", f"has no {instruction}")
            for name in weak_symbols(output):
                yield Finding(source, 1, "isa-object", f"defines '{name}', which the linker may give to every CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--objects", type=Path, metavar="BUILD-DIR")
    arguments = parser.parse_args()
    if arguments.objects:
        findings = list(check_objects(arguments.root, arguments.objects))
    else:
        findings = list(check_tree(arguments.root))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
