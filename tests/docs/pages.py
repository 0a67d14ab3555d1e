# docs: what a reader would type, taken from a page as it is printed; README.md of this folder tells the rules.
"""A page is read into units: what is typed at once, and what the page says is then seen."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXCEPTIONS = pathlib.Path(__file__).with_name("exceptions")
COMMAND = re.compile(r"^(?:\$ |(?:trilha|make|psql|sqlite3|curl) [a-z-]|tools/)")  # how a line of a shell begins on these pages

# text: what bash gets; shown: lines of expected output, or None; stores: where the unit has a meaning.
Unit = collections.namedtuple("Unit", "page text shown stores status")
Exception_ = collections.namedtuple("Exception_", "kind status page start reason")


def names():
    """Every page that a reader may follow, by its path from the root."""
    found = [ROOT / "README.md", ROOT / "LEIA-ME.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "man").glob("*.1"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def exceptions():
    found = []
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, page, start, reason = (part.strip() for part in line.split("|", 3))
        word, _, number = kind.partition(" ")
        assert word in ("skip", "status") and (word == "skip") == (number == ""), line
        assert page and start and len(reason) > 10, f"an exception needs its reason: {line}"
        found.append(Exception_(word, int(number or 0), page, start, reason))
    return found


# --- from the printed form ----------------------------------------------------------------------------------------

def blocks_of(page):
    """(how it is typed, text) of each block; a block of output belongs to the one before it."""
    text = read(page)
    if page.endswith(".1"):
        section = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh|\Z)", text, re.M | re.S)
        literal = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", section.group(1), re.M | re.S) if section else []
        return [("console", re.sub(r"\\e", r"\\", block)) for block in literal]
    return re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.M | re.S)


def commands_of(console):
    """(command, output lines) of a block in which every command follows a `$ `."""
    found = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif found:
            found[-1][1].append(line)
    return found


def without(text, skipped):
    """A block without the commands that begin as one of `skipped`, continued lines included."""
    kept, dropping = [], False
    for line in text.splitlines():
        if not dropping:
            dropping = line.lstrip().startswith(tuple(skipped)) if skipped else False
            if not dropping:
                kept.append(line)
                continue
        dropping = line.endswith("\\")
    return "\n".join(kept)


def stores_of(kind, text):
    if kind.startswith("sql "):
        return {"sqlite": ("sqlite",), "postgresql": ("postgresql",)}[kind.split()[1]]
    return ("postgresql",) if "postgresql://" in re.sub(r"#.*", "", text) or "psql " in text else ("sqlite", "postgresql")


def sql_as_typed(kind, text):
    """A block of SQL goes to the shell of the database that its fence names."""
    client = {"sqlite": "sqlite3 -bail app.db", "postgresql": 'psql -X -q -v ON_ERROR_STOP=1 "$TRILHA_STORE"'}[kind.split()[1]]
    return f"{client} <<'SQL'\n{text}SQL"


def units_of(page):
    """The units of a page in their order, without what the exceptions leave out."""
    mine = [each for each in exceptions() if each.page == page]
    skipped = [each.start for each in mine if each.kind == "skip"]
    units = []

    def add(kind, text, shown):
        typed = without(text, skipped)
        if not typed.strip():
            return
        status = next((each.status for each in mine if each.kind == "status" and typed.startswith(each.start)), 0)
        units.append(Unit(page, typed, shown, stores_of(kind, typed), status))

    for kind, text in blocks_of(page):
        if kind == "console":
            for command, shown in commands_of(text):
                add(kind, command, shown or None)
        elif kind == "sh":
            add(kind, text, None)
        elif kind.startswith("sql "):
            units.append(Unit(page, sql_as_typed(kind, text), None, stores_of(kind, text), 0))
        elif kind == "text seen" and units:
            units[-1] = units[-1]._replace(shown=text.splitlines())
    return units


# --- comparing ----------------------------------------------------------------------------------------------------

VOLATILE = [(re.compile(pattern), name) for pattern, name in (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?", "<time>"),
    (r"\bh1:([a-z0-9-]{1,16}):[A-Za-z0-9_-]{22}", r"h1:\1:<token>"))]


def plain(line):
    """A line with every id, time and token replaced by its kind."""
    for pattern, name in VOLATILE:
        line = pattern.sub(name, line)
    return re.sub(r"\s+", " ", line).strip()


def difference(shown, seen):
    """None when what was seen is what the page shows: `…` stands for anything, alone on its line for any lines."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in plain(line).split("…")) + "\n"
    text = "".join(plain(line) + "\n" for line in seen)
    return None if re.fullmatch(pattern, text) else "the page shows\n" + "\n".join(shown) + "\nand what came is\n" + "\n".join(seen)
