# tidy: rules about lists and documents: what the code has and what the documents say of it agree.
import os
import re

FAULTS = "docs/fault-points.md"
LIMITS = "docs/limits.md"
DIAGNOSTICS = "docs/diagnostics.md"

# Data of others, and the texts that must name what they forbid.
EXEMPT = ("tests/data/", "tests/tools/", "tools/tidy_rules/", "tests/fuzz/corpus/")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~:/$}<)-])/(work|farm|root|Users|home/\w+)/")
POINT = re.compile(r"[a-z0-9]+(\.[a-z0-9_]+){2,}\Z")


def nothing_is_marked_unfinished(tree):
    for path, text in tree.texts():
        if path.startswith(EXEMPT):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if UNFINISHED.search(line):
                yield path, number, f"unfinished: {line.strip()[:80]}"


def no_path_of_one_machine(tree):
    for path, text in tree.texts():
        if path.startswith(EXEMPT):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE_PATH.search(line):
                yield path, number, f"a path of one machine: {line.strip()[:80]}"


def literal_after(source, line_index, column):
    """The string literal that begins at or after a place, read from the original text."""
    rest = "\n".join([source.text.split("\n")[line_index][column:]] + source.text.split("\n")[line_index + 1:line_index + 4])
    match = re.match(r'[^";]*?"((?:[^"\\]|\\.)*)"', rest)
    return match.group(1) if match else None


def calls_with_literal(tree, word, *prefixes):
    for source in tree.c_files(*prefixes):
        for index, line in enumerate(source.without_preprocessor()):
            for match in re.finditer(rf"\b{word}\s*\(", line):
                yield source.path, index + 1, literal_after(source, index, match.end())


def listed_in(tree, document):
    """Names in backquotes at the beginning of a table row or list item of the document: {name: line}."""
    found = {}
    for number, line in enumerate((tree.text(document) or "").split("\n"), 1):
        match = re.match(r"\s*[|*-]\s*`([^`]+)`", line)
        if match:
            found.setdefault(match.group(1), number)
    return found


def compare(tree, document, used, what):
    """Both ways: what is used must be listed, what is listed must be used. `used` is {name: (path, line)}."""
    if not tree.has(document):
        return
    listed = listed_in(tree, document)
    for name in sorted(set(used) - set(listed)):
        yield used[name][0], used[name][1], f"{what} '{name}' is not listed in {document}"
    for name in sorted(set(listed) - set(used)):
        yield document, listed[name], f"{what} '{name}' is listed but nowhere in the code"


def fault_points_are_unique_and_listed(tree):
    used = {}
    for path, line, name in calls_with_literal(tree, "TRILHA_FAULT", "src/"):
        if name is None or not POINT.match(name):
            yield path, line, f"a fault point is named room.verb.moment, not '{name}'"
        elif name in used:
            yield path, line, f"fault point '{name}' stands also at {used[name][0]}:{used[name][1]}"
        else:
            used[name] = (path, line)
    if used and not tree.has(FAULTS):
        path, line = next(iter(used.values()))
        yield path, line, f"there are fault points but no {FAULTS}"
    yield from compare(tree, FAULTS, used, "fault point")


def limits_are_listed(tree):
    used = {}
    for source in tree.c_files("src/", "include/"):
        for number, line in enumerate(source.lines, 1):
            defined = re.match(r"\s*#\s*define\s+(TRILHA_\w+)\b(?!\()", line)
            names = [defined.group(1)] if defined else re.findall(r"\b(TRILHA_\w+)\s*=(?!=)", line)
            for name in names:
                if re.search(r"_MAX(_|$)|\w_LIMIT(_|$)", name[len("TRILHA_"):]):
                    used.setdefault(name, (source.path, number))
    if tree.has(LIMITS):
        text = tree.text(LIMITS)
        for name in sorted(used):
            if f"`{name}`" not in text:
                yield used[name][0], used[name][1], f"limit '{name}' is not listed in {LIMITS}"
        for number, line in enumerate(text.split("\n"), 1):
            for name in re.findall(r"`(TRILHA_\w+_MAX\w*|TRILHA_\w+_LIMIT\w*)`", line):
                if name not in used:
                    yield LIMITS, number, f"limit '{name}' is listed but nowhere in the code"


def emitted_names(tree):
    """(path, line, name) of each diagnostic. A name that a variable holds stands in its file as a constant."""
    dotted = r"[a-z0-9_]+(\.[a-z0-9_]+)+\Z"
    for source in tree.c_files("src/"):
        if source.path == "src/base/diagnostics.c" or source.path.endswith(".h"):
            continue
        for index, line in enumerate(source.without_preprocessor()):
            for match in re.finditer(r"\btrilha_emit\s*\(", line):
                rest = "\n".join([source.text.split("\n")[index][match.end():]] + source.text.split("\n")[index + 1:index + 4])
                third = re.match(r"[^,]*,[^,]*,\s*(?:\"([^\"]*)\"|(\w+)\s*,)", rest)
                if third and third.group(1) is not None:
                    yield source.path, index + 1, third.group(1) if re.match(dotted, third.group(1)) else None
                    continue
                constants = [name for _, name in source.strings if re.match(dotted, name)] if third else []
                yield from ((source.path, index + 1, name) for name in constants or [None])


def diagnostics_are_listed(tree):
    used = {}
    for path, line, name in emitted_names(tree):
        if name is None:
            yield path, line, "a diagnostic is emitted under a literal name like event.published"
        else:
            used.setdefault(name, (path, line))
    yield from compare(tree, DIAGNOSTICS, used, "diagnostic")


def anchors_of(text):
    """What headings can be linked as, the way the common renderers do."""
    anchors = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#+\s+(.*?)\s*#*\s*$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchors.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return anchors


def links_of_documents_resolve(tree):
    for path, text in tree.texts():
        if not path.endswith(".md") or path.startswith(EXEMPT):
            continue
        prose = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
        for number, line in enumerate(prose.split("\n"), 1):
            for target in re.findall(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                file, _, anchor = target.partition("#")
                found = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if found.startswith("..") or not tree.has(found):
                    yield path, number, f"the link to {target} leads nowhere"
                elif anchor and found.endswith(".md") and anchor not in anchors_of(tree.text(found) or ""):
                    yield path, number, f"the link to {target} names no heading there"


def sql_queries_say_their_locks_and_index(tree):
    for path, text in tree.texts():
        if not re.match(r"sql/.*/queries/.*\.sql$", path):
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            below = lines[number] if number < len(lines) else ""
            # Statements that only open, close or set up a transaction touch no table.
            if re.match(r"--\s*name:", line) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|LOCK)\b", below, re.I):
                yield path, number, "a query begins with a comment on its locks and its index"


def programs_can_be_run(tree):
    for path, text in tree.texts():
        if text.startswith("#!") and not os.access(os.path.join(tree.root, path), os.X_OK):
            yield path, 1, "begins with #! but has no run bit"


RULES = [nothing_is_marked_unfinished, no_path_of_one_machine, fault_points_are_unique_and_listed, limits_are_listed,
         diagnostics_are_listed, links_of_documents_resolve, sql_queries_say_their_locks_and_index, programs_can_be_run]
