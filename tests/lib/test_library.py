# lib: what libtrilha exports, how it is named, and that its headers stand alone as C99 and C++.
"""test_library.py SOURCE_ROOT SHARED_LIBRARY STATIC_LIBRARY CC CXX"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import tap  # pylint: disable=wrong-import-position

ROOT, SHARED, STATIC = (pathlib.Path(path) for path in sys.argv[1:4])
CC, CXX = sys.argv[4:6]
LISTED = (ROOT / "src/lib/exports.txt").read_text(encoding="utf-8").split()


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def declared():
    """Names of the functions that the public headers export."""
    names = set()
    for header in sorted((ROOT / "include/trilha").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.S)
        for match in re.finditer(r"^\s*TRILHA_API\b([^;{]*?)\b(trilha_\w+)\s*\(", text, re.M):
            names.add(match.group(2))
    return names


def test_exported_symbols_are_exactly_those_of_exports_txt():
    lines = output("nm", "-D", "--defined-only", str(SHARED)).splitlines()
    # Sanitizers and linkers add symbols of their own, in names reserved for them.
    exported = sorted(line.split()[-1].split("@")[0] for line in lines)
    exported = [name for name in exported if not name.startswith("_")]
    assert exported == LISTED, f"only in the library: {set(exported) - set(LISTED)}; only listed: {set(LISTED) - set(exported)}"


def test_exports_txt_is_sorted_and_names_only_declared_functions():
    assert LISTED == sorted(set(LISTED))
    assert set(LISTED) <= declared(), f"not declared in a public header: {set(LISTED) - declared()}"


def test_shared_library_is_named_for_its_major_version():
    dynamic = output("objdump", "-p", str(SHARED))
    assert re.search(r"SONAME\s+libtrilha\.so\.0$", dynamic, re.M), dynamic


def test_global_symbols_of_the_static_library_begin_with_trilha():
    foreign = set()
    for line in output("nm", "-g", "--defined-only", str(STATIC)).splitlines():
        parts = line.split()
        # __odr_asan and the like come with a sanitizer; .gcda with coverage.
        if len(parts) == 3 and not re.match(r"trilha_|_|\.", parts[2]):
            foreign.add(parts[2])
    assert not foreign, f"an embedder may own these names: {sorted(foreign)}"


def test_library_needs_none_of_what_it_loads_late():
    needed = re.findall(r"NEEDED\s+(lib\w+)", output("objdump", "-p", str(SHARED)))
    assert "libsqlite3" in needed
    assert not set(needed) & {"libcurl", "libmicrohttpd", "libgnutls", "libpq"}, needed


def test_library_never_writes_to_the_standard_streams():
    used = output("nm", "-D", "--undefined-only", str(SHARED))
    streams = re.findall(r"\b(printf|puts|putchar|perror|stdout|stderr|__printf_chk|vprintf)(?=@|$)", used, re.M)
    assert not streams, f"the library uses {streams}"


def compiles_alone(compiler, language, *standards):
    for header in sorted((ROOT / "include/trilha").glob("*.h")):
        for standard in standards:
            source = f'#include "trilha/{header.name}"\n#include "trilha/{header.name}"\nint trilha_test_unit;\n'
            done = subprocess.run([*compiler.split(), "-x", language, f"-std={standard}", "-pedantic-errors", "-Wall", "-Wextra",
                                   "-Werror", "-Wno-unused-function", "-fsyntax-only", f"-I{ROOT / 'include'}", "-"], input=source,
                                  stderr=subprocess.PIPE, text=True, check=False)
            assert done.returncode == 0, f"{header.name} as {standard}:\n{done.stderr}"


def test_each_public_header_compiles_alone_as_c99():
    compiles_alone(CC, "c", "c99", "c11")


def test_each_public_header_compiles_alone_as_cpp():
    compiles_alone(CXX, "c++", "c++11", "c++17")


tap.run(globals())
