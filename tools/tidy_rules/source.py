# tidy: the tree that is checked, and C sources split into code, comments and strings.
import os
import re
import shutil
import subprocess

ROOTS_OF_C = ("src/", "include/", "tests/", "examples/", "bench/")
NEVER = re.compile(r"(^|/)(\.git|build[^/]*|node_modules|\.scratch|__pycache__)(/|$)")


class Source:
    """A C file. `code` has comments and the contents of strings blanked, with every line where it was."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.strings = []  # (line, content as spelled)
        self.comments = []  # (line, content)
        self.code = self._split(text)
        self.lines = self.code.split("\n")

    TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.S)

    def _split(self, text):
        def blank(match):
            token = match.group(0)
            line = text.count("\n", 0, match.start()) + 1
            if token[0] == "/":
                self.comments.append((line, token))
                return re.sub(r"[^\n]", " ", token)
            if token[0] == '"':
                # The file of an #include is no string of the program.
                if not re.search(r"^[ \t]*#[ \t]*include[ \t]*$", text[:match.start()].rsplit("\n", 1)[-1]):
                    self.strings.append((line, token[1:-1]))
            return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[0]

        return self.TOKEN.sub(blank, text)

    def includes(self):
        """(line, '"room/file.h"' or '<file.h>')"""
        for number, line in enumerate(self.text.split("\n"), 1):
            match = re.match(r"\s*#\s*include\s*([\"<][^\">]+[\">])", line)
            if match:
                yield number, match.group(1)

    def without_preprocessor(self):
        """The code with preprocessor lines (continued ones too) blanked."""
        out, continued = [], False
        for line in self.lines:
            directive = continued or line.lstrip().startswith("#")
            continued = directive and line.rstrip().endswith("\\")
            out.append("" if directive else line)
        return out

    def top_level(self):
        """Statements outside every brace: (first line, last line, text with bodies as {}). A body belongs to its statement;
        a function ends with its brace, everything else with its semicolon."""
        depth, start, text = 0, None, []
        for number, line in enumerate(self.without_preprocessor(), 1):
            if depth == 0 and re.match(r'\s*extern\s*"\s*"\s*\{?\s*$', line):
                continue  # the opening of extern "C" opens no scope of ours
            for char in line + "\n":
                if depth == 0 and start is None:
                    if char.isspace() or char in ";}":
                        continue
                    start = number
                if char == "{":
                    if depth == 0:
                        text.append("{}")
                    depth += 1
                elif char == "}":
                    depth = max(0, depth - 1)
                    joined = "".join(text)
                    if depth == 0 and is_function(joined):
                        yield start, number, joined
                        start, text = None, []
                elif depth == 0:
                    text.append(char)
                    if char == ";":
                        yield start, number, "".join(text)
                        start, text = None, []


def is_function(statement):
    """Whether a statement that ended with a brace is a function's definition."""
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", " ", statement)
    return bool(re.search(r"\w\s*\([^{}]*\)\s*\{\}\s*$", head)) and not re.match(r"\s*(typedef|struct|enum|union)\b[^()]*\{\}", head) \
        and "=" not in head.split("(")[0]


def function_name(statement):
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", " ", statement)
    match = re.search(r"(\w+)\s*\(", head)
    return match.group(1) if match else "?"


class Tree:
    """The files below one root, as the version control sees them (or all, where there is none)."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(path for path in self._list() if not NEVER.search(path))
        self._texts = {}
        self._sources = {}

    def _list(self):
        if os.path.exists(os.path.join(self.root, ".git")) and shutil.which("git"):
            done = subprocess.run(["git", "-C", self.root, "ls-files", "-co", "--exclude-standard", "-z"],
                                  stdout=subprocess.PIPE, check=False)
            if done.returncode == 0:
                names = done.stdout.decode("utf-8").split("\0")
                return [name for name in names if name and os.path.isfile(os.path.join(self.root, name))]
        found = []
        for folder, _, names in os.walk(self.root):
            for name in names:
                found.append(os.path.relpath(os.path.join(folder, name), self.root))
        return found

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def text(self, path):
        """The file's text; None where it is binary."""
        if path not in self._texts:
            try:
                with open(os.path.join(self.root, path), encoding="utf-8") as file:
                    self._texts[path] = file.read()
            except (UnicodeDecodeError, OSError):
                self._texts[path] = None
        return self._texts[path]

    def texts(self):
        for path in self.paths:
            text = self.text(path)
            if text is not None and "\0" not in text:
                yield path, text

    def c_files(self, *prefixes):
        for path in self.paths:
            if path.endswith((".c", ".h", ".cc")) and path.startswith(prefixes or ROOTS_OF_C):
                if path not in self._sources:
                    self._sources[path] = Source(path, self.text(path) or "")
                yield self._sources[path]
