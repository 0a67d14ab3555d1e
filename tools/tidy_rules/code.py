# tidy: rules about the C code itself: lengths, names, what library code may not call or hold.
import os
import re

from .source import function_name, is_function

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70

# Variables that may change although they live as long as the process. A signal handler and a fault point can reach nothing else.
# What a library that is loaded late calls its functions becomes known once, for the whole process.
MUTABLE = {("src/base/fault.c", "counts"), ("src/cli/interrupt.c", "stop_wanted"), ("src/fetch/late_curl.c", "curl"),
           ("src/config/late_fyaml.c", "fyaml"), ("src/schema/late_pcre2.c", "pcre2"),
           ("src/http/late_gnutls.c", "gnutls"), ("src/http/late_microhttpd.c", "microhttpd"), ("src/store/postgres/late_pq.c", "libpq")}
# The one door to time, and the one that may talk when our own assertions fail.
CLOCK = "src/base/clock.c"
# Surfaces print; libraries return or emit diagnostics.
PRINTING_ROOMS = ("src/cli/",)

VAGUE = re.compile(r"(^|_|-)(utils?|commons?|helpers?|managers?|misc|stuff)(_|-|\.|$)")
PRINTING = re.compile(r"\b(v?printf|puts|putchar|perror)\s*\(|\b(stdout|stderr)\b")
TIME = re.compile(r"\b(time|clock_gettime|gettimeofday|clock_nanosleep|nanosleep|usleep|sleep|clock|timespec_get|ftime|"
                  r"localtime|localtime_r|gmtime|gmtime_r|mktime|timegm|strftime)\s*\(")
BANNED = {
    "strcpy": "has no bound", "strcat": "has no bound", "sprintf": "has no bound", "vsprintf": "has no bound", "gets": "has no bound",
    "stpcpy": "has no bound", "alloca": "has no bound", "strtok": "keeps state", "strerror": "is not thread-safe",
    "rand": "is no random source (base/uuid)", "random": "is no random source (base/uuid)", "srand": "keeps state",
    "atoi": "hides errors", "atol": "hides errors", "atof": "hides errors and follows the locale", "system": "runs a shell",
    "popen": "runs a shell", "setjmp": "loses what scopes own", "longjmp": "loses what scopes own",
    "assert": "vanishes in a release (base/assert)",
}
SQL = re.compile(
    r"^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|VACUUM|ANALYZE|LOCK|LISTEN|"
    r"NOTIFY|TRUNCATE|GRANT|REVOKE|EXPLAIN|WITH)\b(?!:)|"
    r"\b(?i:select\s.+\sfrom|insert\s+into|delete\s+from|update\s+\w+\s+set|create\s+(table|index|schema|role|trigger)|"
    r"alter\s+table|drop\s+(table|index|schema|role)|begin\s+(immediate|transaction)|pragma\s+\w+\s*[=(])\b|\bON CONFLICT\b|\bORDER BY\b")


def functions_of(source):
    """(name, first line, last line) of every function's definition."""
    for first, last, statement in source.top_level():
        if is_function(statement):
            yield function_name(statement), first, last


def files_are_short(tree):
    for path, text in tree.texts():
        # Lists that a program made are not read by people from top to bottom; nor is the dump of what the migrations make.
        if re.fullmatch(r"sql/[a-z]+/schema\.sql", path):
            continue
        if path.endswith((".c", ".h", ".cc", ".py", ".sh", ".sql", ".build")) or path.startswith("tools/"):
            lines = text.count("\n")
            if lines > FILE_LINES_MAX:
                yield path, lines, f"{lines} lines; a file past {FILE_LINES_MAX} is two rooms"


def functions_are_short(tree):
    for source in tree.c_files():
        for name, first, last in functions_of(source):
            # The main of a test program is the list of its tests.
            if name == "main" and source.path.startswith("tests/"):
                continue
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield source.path, first, f"function '{name}' has {last - first + 1} lines (most: {FUNCTION_LINES_MAX})"


def file_names_say_what_is_inside(tree):
    for path in tree.paths:
        if path.startswith(("src/", "include/", "tests/", "tools/", "examples/", "bench/", "sql/")) and VAGUE.search(os.path.basename(path)):
            yield path, 1, "util, common, helper, manager say nothing: name what it does"


def library_code_never_prints(tree):
    for source in tree.c_files("src/", "include/"):
        first = source.comments[0][1] if source.comments else ""
        if source.path.startswith(PRINTING_ROOMS) or "run at build time" in first:
            continue
        for number, line in enumerate(source.lines, 1):
            match = None if "format(" in line else PRINTING.search(line)
            if match:
                yield source.path, number, f"'{match.group(0).rstrip('( ')}': library code returns or emits a diagnostic"


def time_comes_through_base_clock(tree):
    for source in tree.c_files("src/"):
        if source.path == CLOCK:
            continue
        for number, line in enumerate(source.without_preprocessor(), 1):
            for match in TIME.finditer(line):
                if not line[:match.start()].rstrip().endswith(("->", ".", "*")):
                    yield source.path, number, f"'{match.group(1)}': time only through base/clock"


def calls_that_went_wrong_before_are_not_used(tree):
    for source in tree.c_files("src/"):
        for number, line in enumerate(source.without_preprocessor(), 1):
            for match in re.finditer(r"(?<![\w>.])(\w+)\s*\(", line):
                if match.group(1) == "strerror" and source.path.startswith(PRINTING_ROOMS):
                    continue  # the program's own surface has one thread
                if match.group(1) in BANNED:
                    yield source.path, number, f"'{match.group(1)}' {BANNED[match.group(1)]}"


def is_mutable_variable(statement):
    """Whether a declaration (bodies as {}) defines or names a variable that may change; its name."""
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)|_Static_assert\s*\(.*?\)\s*;|\b__extension__\b", " ", statement, flags=re.S)
    head = text.split("=")[0].rstrip("; \n\t")
    if re.match(r"\s*(typedef|_Static_assert)\b", head) or not head.strip():
        return None
    if "=" not in text and ("(" in head and not re.search(r"\(\s*\*", head)):
        return None  # a prototype
    if re.match(r"\s*(extern\s+)?(struct|union|enum)\s*\w*\s*(\{\})?\s*$", head):
        return None  # a type alone
    head = re.sub(r"\[[^\]]*\]", "", head)
    name = re.search(r"(\w+)\s*(\)\s*\([^)]*\)?)?\s*$", head)
    if not name or not re.search(r"\w+[\s*{}]+\w+\s*(\)|$)|\}\s*\w+$|\*\s*\w+", head):
        return None
    # What decides is the const nearest to the name: after the last star.
    before = head[:name.start(1)]
    nearest = before.rsplit("*", 1)[-1] if "*" in before else before
    return None if re.search(r"\bconst\b", nearest) else name.group(1)


def nothing_global_can_change(tree):
    for source in tree.c_files("src/", "include/"):
        for first, _, statement in source.top_level():
            if is_function(statement) or re.match(r"\s*[A-Z_]+\s*\(", statement):
                continue
            name = is_mutable_variable(statement)
            if name and (source.path, name) not in MUTABLE:
                yield source.path, first, f"'{name}' can change and lives as long as the process"
        for number, line in enumerate(source.without_preprocessor(), 1):
            if re.search(r"\b(_Thread_local|__thread|thread_local)\b", line):
                yield source.path, number, "nothing is thread-local"
            match = re.match(r"\s+static\b(?!\s+inline)[^;=]*[;=]", line)
            name = is_mutable_variable(re.sub(r"\bstatic\b", "", match.group(0))) if match else None
            if name:
                yield source.path, number, f"static '{name}' inside a function can change"


def no_sql_in_c(tree):
    for source in tree.c_files("src/"):
        for line, string in source.strings:
            if SQL.search(string):
                yield source.path, line, f"SQL lives in .sql files: \"{string[:60]}\""


def tests_are_named_as_sentences(tree):
    for source in tree.c_files("tests/"):
        if not source.path.endswith(".c") or not source.comments or source.comments[0][0] != 1:
            if source.path.endswith(".c"):
                yield source.path, 1, "the first line must be a comment that says what is tested"
        for number, line in enumerate(source.without_preprocessor(), 1):
            for name in re.findall(r"\bcmocka_unit_test\w*\(\s*(\w+)", line):
                if name.count("_") < 2:
                    yield source.path, number, f"'{name}': the name of a test is a sentence"


RULES = [files_are_short, functions_are_short, file_names_say_what_is_inside, library_code_never_prints, time_comes_through_base_clock,
         calls_that_went_wrong_before_are_not_used, nothing_global_can_change, no_sql_in_c, tests_are_named_as_sentences]
