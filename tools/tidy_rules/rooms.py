# tidy: rules about rooms: who may include, link and be named what.
import fnmatch
import os
import re

from .source import function_name

TABLE = "src/ROOMS"
# What a room's meson.build may name, by the foreign header that needs it.
DEPENDENCY_OF = {"dep_pq": "libpq-fe.h", "dep_sqlite": "sqlite3.h", "dep_crypto": "openssl/evp.h", "dep_pcre2": "pcre2.h",
                 "dep_idn2": "idn2.h", "dep_utf8proc": "utf8proc.h", "dep_fyaml": "libfyaml.h", "dep_microhttpd": "microhttpd.h",
                 "dep_late_pq": "libpq-fe.h", "dep_late_curl": "curl/curl.h", "dep_late_microhttpd": "microhttpd.h",
                 "dep_late_gnutls": "gnutls/gnutls.h", "dep_late_fyaml": "libfyaml.h", "dep_late_pcre2": "pcre2.h"}


class Rooms:
    """src/ROOMS: rooms[name] is the set of rooms it may use; foreign is [(pattern, set of rooms)]."""

    def __init__(self, tree):
        self.rooms = {}
        self.foreign = []
        self.lines = {}
        for number, line in enumerate((tree.text(TABLE) or "").split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, uses = line.partition(":")
            if name.startswith("<"):
                self.foreign.append((name[1:-1], set(uses.split())))
            else:
                self.rooms[name] = set(uses.split())
                self.lines[name] = number

    def of(self, path):
        """The room of a file below src/: the longest name that is its folder; None for files of no room."""
        folder = os.path.dirname(path[len("src/"):])
        fitting = [room for room in self.rooms if folder == room or folder.startswith(room + "/")]
        return max(fitting, key=len) if fitting else None


def table_names_the_rooms_that_exist_and_has_no_circle(tree):
    rooms = Rooms(tree)
    if not rooms.rooms:
        yield TABLE, 1, "no table of rooms"
    for room, uses in rooms.rooms.items():
        if not tree.has(f"src/{room}/meson.build"):
            yield TABLE, rooms.lines[room], f"room '{room}' has no src/{room}/meson.build"
        for other in uses - set(rooms.rooms):
            yield TABLE, rooms.lines[room], f"room '{room}' may use '{other}', which is no room"
    done = set()
    while True:
        ready = {room for room in rooms.rooms if room not in done and (rooms.rooms[room] & set(rooms.rooms)) <= done}
        if not ready:
            break
        done |= ready
    for room in sorted(set(rooms.rooms) - done):
        yield TABLE, rooms.lines[room], f"room '{room}' is part of, or uses, a circle"
    for path in tree.paths:
        if path.startswith("src/") and path.endswith((".c", ".h")) and rooms.of(path) is None:
            yield path, 1, "lies in no room of src/ROOMS"


def include_lines_agree_with_the_table(tree):
    rooms = Rooms(tree)
    for source in tree.c_files("src/"):
        room = rooms.of(source.path)
        if room is None:
            continue
        for line, name in source.includes():
            target = name[1:-1]
            if name[0] == "<":
                for pattern, allowed in rooms.foreign:
                    if fnmatch.fnmatch(target, pattern) and room not in allowed:
                        yield source.path, line, f"room '{room}' may not include {name} (src/ROOMS: {' '.join(sorted(allowed))})"
                continue
            if "/" not in target or target.startswith("trilha/"):
                continue  # generated for this room, or public
            other = rooms.of("src/" + target)
            if other is None:
                yield source.path, line, f"{name} lies in no room"
            elif other != room and other not in rooms.rooms[room]:
                yield source.path, line, f"room '{room}' may not use room '{other}' ({TABLE})"
            elif other != room and target.endswith("_internal.h"):
                yield source.path, line, f"{name} is the inside of room '{other}'"


def tests_touch_public_and_corridor_headers_of_rooms_that_exist(tree):
    rooms = Rooms(tree)
    for source in tree.c_files("examples/"):
        for line, name in source.includes():
            if name[0] == '"' and "/" in name and not name[1:].startswith("trilha/"):  # one of examples/ itself has no folder
                yield source.path, line, f"an example uses public headers only, not {name}"
    for source in tree.c_files("tests/"):
        for line, name in source.includes():
            target = name[1:-1]
            if name[0] == '"' and "/" in target and not target.startswith("trilha/") and rooms.of("src/" + target) is None \
                    and not tree.has("tests/" + target):
                yield source.path, line, f"{name} lies in no room"


def meson_files_link_only_what_the_table_allows(tree):
    rooms = Rooms(tree)
    variable = {room.replace("/", "_"): room for room in rooms.rooms}
    for room, uses in rooms.rooms.items():
        path = f"src/{room}/meson.build"
        for number, line in enumerate((tree.text(path) or "").split("\n"), 1):
            line = line.split("#")[0]
            for kind, name in re.findall(r"\b(dep|lib)_(\w+)", line):
                other = variable.get(name)
                if other and other != room and other not in uses:
                    yield path, number, f"room '{room}' may not link room '{other}' ({TABLE})"
                header = DEPENDENCY_OF.get(f"dep_{name}") if kind == "dep" else None
                for pattern, allowed in rooms.foreign:
                    if header and fnmatch.fnmatch(header, pattern) and room not in allowed:
                        yield path, number, f"room '{room}' may not link dep_{name} ({TABLE}: <{pattern}>)"


def each_room_with_code_has_tests_in_its_mirrored_folder(tree):
    rooms = Rooms(tree)
    with_code = {rooms.of(path) for path in tree.paths if path.startswith("src/") and path.endswith(".c")} - {None}
    for room in sorted(with_code):
        if not tree.has(f"tests/{room}/meson.build"):
            yield f"src/{room}/meson.build", 1, f"room '{room}' has no tests/{room}/meson.build"


def first_lines_name_the_room(tree):
    rooms = Rooms(tree)
    for source in tree.c_files("src/"):
        room = rooms.of(source.path)
        if room is None:
            continue
        first = source.comments[0][1] if source.comments and source.comments[0][0] == 1 else ""
        if not first.startswith("/* "):
            yield source.path, 1, "the first line must be a comment that says what the file is"
        elif source.path.endswith(".h") and not re.match(rf"/\* {re.escape(room)}(/\w+| inside)?: \S", first):
            yield source.path, 1, f"the first line of a header must be a comment '{room}/name: what it is'"
        elif source.path.endswith(".h") and not re.search(rf"\bRoom:\s+{re.escape(room)}\b", re.sub(r"\s*\n\s*\*\s*", " ", first)):
            yield source.path, 1, f"the first comment of a header must say 'Room: {room}'"


def include_guards_are_the_path(tree):
    for source in tree.c_files("src/", "include/"):
        if not source.path.endswith(".h"):
            continue
        parts = source.path.split("/")[1:]
        if parts[0] != "trilha":
            parts.insert(0, "trilha")
        guard = re.sub(r"\W", "_", "_".join(parts)).upper()
        # bus/bus_internal.h may leave out the repetition.
        short = re.sub(r"_([A-Z]+)_\1_INTERNAL_H$", r"_\1_INTERNAL_H", guard)
        first = source.comments[0][1] if source.comments else ""
        if not re.search(r"\bonce (for|by) each\b|\ba part of \w+\.h\b", first) and not re.search(rf"^#ifndef ({guard}|{short})\n#define \1$", source.text, re.M):
            yield source.path, 1, f"the include guard must be {guard}"


def global_functions_begin_with_trilha(tree):
    for source in tree.c_files("src/"):
        if not source.path.endswith(".c"):
            continue
        for first, _, statement in source.top_level():
            if statement.endswith("{}") and not re.match(r"\s*(static|typedef)\b", statement) and "(" in statement:
                name = function_name(statement)
                if not name.startswith("trilha_") and name != "main":
                    yield source.path, first, f"global function '{name}' must begin with trilha_ or be static"


def public_headers_define_only_names_of_trilha(tree):
    for source in tree.c_files("include/"):
        for number, line in enumerate(source.lines, 1):
            match = re.match(r"\s*#\s*define\s+(\w+)", line)
            if match and not match.group(1).startswith("TRILHA_"):
                yield source.path, number, f"macro '{match.group(1)}' must begin with TRILHA_"
            for kind, name in re.findall(r"\b(struct|enum|union)\s+(\w+)\s*\{", line):
                if not name.startswith("trilha_"):
                    yield source.path, number, f"{kind} '{name}' must begin with trilha_"


RULES = [table_names_the_rooms_that_exist_and_has_no_circle, include_lines_agree_with_the_table,
         tests_touch_public_and_corridor_headers_of_rooms_that_exist, meson_files_link_only_what_the_table_allows,
         each_room_with_code_has_tests_in_its_mirrored_folder, first_lines_name_the_room, include_guards_are_the_path,
         global_functions_begin_with_trilha, public_headers_define_only_names_of_trilha]
