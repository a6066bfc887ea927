#!/usr/bin/env python3
"""Checks who includes whom under src/: check_layers.py [--root DIR]

The rules are the DEPENDS lists in src/CMakeLists.txt. On top of them: dear headers stay out of headers, some libraries
belong to one folder, and intrinsics to the kernels of one instruction set. Exit status 1 when something is found.
"""

import argparse
import fnmatch
import re
import sys
from pathlib import Path
from typing import NamedTuple

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# Seconds of compile time for everybody who includes a header that includes them.
HEAVY = re.compile(r"^(nlohmann/json\.hpp|CLI/|boost/|spdlog/|toml\+\+/|pcre2\.h|regex$|iostream$)")
# Library headers that only one place may know.
OWNED = (
    (re.compile(r"^(CLI/|histedit\.h|editline/|toml\+\+/)"), "src/cli/"),
    (re.compile(r"^(pcre2\.h|utf8proc\.h)"), "src/text/"),
    (re.compile(r"^hwloc"), "src/sys/"),
    (re.compile(r"^liburing"), "src/sys/"),
    (re.compile(r"^([a-z]*mmintrin\.h|x86intrin\.h)"), "src/kernels/x86/"),
    (re.compile(r"^arm_[a-z]+\.h"), "src/kernels/arm/"),
)
ISA_FILE_MAY_INCLUDE = re.compile(r"^(stdint\.h|stddef\.h|cstdint|cstddef|[a-z]*mmintrin\.h|arm_[a-z]+\.h|kernels/.+|.+\.def)$")


def is_test(path):
    """Tests and what supports them: x_test.cc, and the folder testing/ in a library folder."""
    return path.endswith("_test.cc") or "/testing/" in path


class Layers(NamedTuple):
    """What src/CMakeLists.txt says: folder -> folders it may include, and what only its tests may include."""

    depends: dict
    test_depends: dict
    isa_patterns: list

    def is_isa_file(self, path):
        """Whether a file is compiled for more than the baseline instruction set."""
        return not is_test(path) and any(fnmatch.fnmatch(path, p) for p in self.isa_patterns)


class Finding(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def read_layers(root):
    text = re.sub(r"#.*", "", (root / "src/CMakeLists.txt").read_text())
    layers = Layers({}, {}, [])
    for call in re.findall(r"\bcoli_library\(([^)]*)\)", text):
        name, *words = call.split()
        lists = {"": []}
        key = ""
        for word in words:
            if re.fullmatch(r"[A-Z_]+", word):
                key = word
            lists.setdefault(key, [])
            if word != key:
                lists[key].append(word)
        layers.depends[name] = lists.get("DEPENDS", [])
        layers.test_depends[name] = lists.get("TEST_DEPENDS", [])
    for call in re.findall(r"\bcoli_isa_source\(([^)]*)\)", text):
        layers.isa_patterns.append("src/" + call.split()[0])
    return layers


def check_order(layers):
    """Dependencies point to folders that are declared above: so there can be no cycle."""
    above = set()
    for name, depends in layers.depends.items():
        for other in depends:
            if other not in above:
                yield Finding("src/CMakeLists.txt", 1, f"{name} DEPENDS {other}, which is not declared above it")
        above.add(name)


def layer_problem(layers, folder, for_test, header):
    """What is wrong with folder's `#include "header"`, or None."""
    target = header.split("/")[0]
    if "/" not in header or target.startswith("."):
        return f'"{header}": write the path from src/ on'
    allowed = {folder, *layers.depends[folder]}
    if for_test:
        allowed |= {"testing", *layers.test_depends[folder]}
    elif "/testing/" in header:
        return f'"{header}" is for tests only'
    if target in allowed:
        return None
    return f'{folder} may not include "{header}" (it may include {", ".join(sorted(allowed - {folder})) or "nothing"})'


def check_file(layers, path, text):
    """path: relative to the root, with forward slashes."""
    folder = path.split("/")[1]
    if folder not in layers.depends:
        yield Finding(path, 1, f"src/CMakeLists.txt does not declare the folder {folder}")
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        if quote == '"':
            problem = layer_problem(layers, folder, is_test(path), header)
            if problem:
                yield Finding(path, number, problem)
        if quote == "<" and path.endswith(".h") and not is_test(path) and HEAVY.match(header):
            yield Finding(path, number, f"<{header}> is too dear for a header")
        for pattern, owner in OWNED:
            if quote == "<" and pattern.match(header) and not path.startswith(owner):
                yield Finding(path, number, f"<{header}> belongs in {owner} only")
        if layers.is_isa_file(path) and not ISA_FILE_MAY_INCLUDE.match(header):
            yield Finding(path, number, f"a file with its own instruction set may not include {header}")


def check_tree(root):
    layers = read_layers(root)
    yield from check_order(layers)
    for path in sorted((root / "src").rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.suffix in (".cc", ".h") and relative.count("/") >= 2:
            yield from check_file(layers, relative, path.read_text(errors="replace"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    findings = list(check_tree(parser.parse_args().root))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
