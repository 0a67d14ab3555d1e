#!/usr/bin/env python3
"""Compares the JSON room with Python's json, decimal and fractions on random texts and numbers.

usage: differential.py PROBE [SEED [CASES]]

PROBE is the program built from probe.c. Every random choice follows from the seed, which is printed. Output: TAP.
"""
import decimal
import json
import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

decimal.setcontext(decimal.Context(prec=20000, Emax=10**15, Emin=-10**15, traps=[]))


class Probe:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, verb, *fields):
        line = " ".join([verb] + ["x" + f.hex() if isinstance(f, bytes) else str(f) for f in fields])
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


# --- random values ---------------------------------------------------------------------------------------

ALPHABET = ["a", "b", "z", "0", " ", "/", "\\", '"', "\n", "\t", "\x01", "\x1f", "\x7f", "\u0080", "ç", "ã", "\u07ff", "\u0800", "€",
            "\ufffd", "\uffff", "\U00010000", "😀", "\U0010ffff", "\u0000"]


def random_string(rng):
    size = rng.choice([0, 1, 2, 5, 9, 30, 33, 70])
    plain = rng.random() < 0.5
    return "".join(rng.choice(ALPHABET[:4] if plain and rng.random() < 0.9 else ALPHABET) for _ in range(rng.randint(0, size)))


def random_digits(rng, most):
    return "".join(rng.choice("0123456789" if rng.random() < 0.7 else "09") for _ in range(rng.randint(1, most)))


def random_number(rng, exponent_max=30, digits_max=25):
    text = rng.choice(["", "-"]) + rng.choice(["0", (random_digits(rng, digits_max).lstrip("0") or "0")])
    if rng.random() < 0.5:
        text += "." + random_digits(rng, digits_max)
    if rng.random() < 0.4:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + rng.choice(["", "0", "00"]) + str(rng.randint(0, exponent_max))
    return text


class Number(str):
    """A number by its spelling."""


def random_value(rng, depth=0):
    kind = rng.random()
    if depth < 6 and kind < 0.25:
        return [random_value(rng, depth + 1) for _ in range(rng.randint(0, 5))]
    if depth < 6 and kind < 0.5:
        return {random_string(rng): random_value(rng, depth + 1) for _ in range(rng.randint(0, 25 if rng.random() < 0.1 else 5))}
    if kind < 0.75:
        return random_string(rng)
    if kind < 0.9:
        return Number(random_number(rng))
    return rng.choice([None, True, False])


def spell_string(rng, s):
    style = rng.random()
    if style < 0.4:
        return json.dumps(s, ensure_ascii=True)
    if style < 0.8:
        return json.dumps(s, ensure_ascii=False)
    units = s.encode("utf-16-be")
    return '"' + "".join("\\u%02x%02X" % (units[i], units[i + 1]) for i in range(0, len(units), 2)) + '"'


def space(rng):
    return rng.choice(["", "", "", "", " ", "\n", "\r\n  ", "\t", " " * rng.randint(1, 70)])


def spell(rng, v):
    pad = lambda text: space(rng) + text + space(rng)
    if isinstance(v, Number):
        return pad(str(v))
    if isinstance(v, str):
        return pad(spell_string(rng, v))
    if isinstance(v, list):
        return pad("[" + (",".join(spell(rng, x) for x in v) or space(rng)) + "]")
    if isinstance(v, dict):
        members = list(v.items())
        rng.shuffle(members)
        return pad("{" + (",".join(space(rng) + spell_string(rng, k) + space(rng) + ":" + spell(rng, x) for k, x in members) or space(rng)) + "}")
    return pad({None: "null", True: "true", False: "false"}[v])


# --- Python's reading -------------------------------------------------------------------------------------

def refuse(_):
    raise ValueError("constant")


def python_reads(data, number=Number):
    """The value, or None when Python refuses the text, in a tuple with whether it holds a lone surrogate."""
    try:
        value = json.loads(data.decode("utf-8"), parse_float=number, parse_int=number, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None, False
    lone = any(0xD800 <= ord(c) <= 0xDFFF for c in json.dumps(value, ensure_ascii=False))
    return (value,), lone


def has_duplicate(data):
    found = []

    def pairs(items):
        names = [k for k, _ in items]
        if len(set(names)) != len(names):
            found.append(True)
        return dict(items)

    json.loads(data.decode("utf-8"), object_pairs_hook=pairs)
    return bool(found)


def comparable(v):
    """A value that is equal exactly when the JSON values are."""
    if isinstance(v, Number):
        return ("number", Fraction(Decimal(v)))
    if isinstance(v, list):
        return ("array", tuple(comparable(x) for x in v))
    if isinstance(v, dict):
        return ("object", tuple(sorted((k.encode(), comparable(x)) for k, x in v.items())) if not v else
                tuple((k, comparable(v[k])) for k in sorted(v)))
    return (type(v).__name__, v)


# --- the comparisons --------------------------------------------------------------------------------------

def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(repr(w) for w in what))


def texts_round_trip(probe, rng, cases):
    for _ in range(cases):
        value = random_value(rng)
        data = spell(rng, value).encode()
        answer = probe.ask("read", data).split(" ")
        check(answer[0] == "ok", data, answer)
        compact, canonical = bytes.fromhex(answer[1][1:]), bytes.fromhex(answer[2][1:])
        check(python_reads(compact)[0] == (value,), data, compact)
        again = python_reads(canonical)[0][0]
        check(comparable(again) == comparable(value), data, canonical)
        check(probe.ask("equal", data, canonical) == "1 1", data, canonical)
        check(probe.ask("read", canonical).split(" ")[2] == answer[2], canonical)
        check(canonical == json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")).encode() or has_number(value)
              or "\x7f" in repr(value), data, canonical)


def has_number(v):
    if isinstance(v, list):
        return any(has_number(x) for x in v)
    if isinstance(v, dict):
        return any(has_number(x) for x in v.values())
    return isinstance(v, Number)


def plain(v):
    """Members sorted by their names' bytes."""
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: plain(v[k]) for k in sorted(v, key=lambda k: k.encode())}
    return v


def mutated_texts_are_accepted_alike(probe, rng, cases):
    accepted = refused = 0
    alphabet = b'"\\{}[],:0123456789.eE+-tfnu \n\t\x00\x1f\x7f\x80\xbf\xc3\xed\xa0\xf0\xff'
    for _ in range(cases):
        data = bytearray(spell(rng, random_value(rng, 4)).encode())
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(data))
            what = rng.random()
            if what < 0.4:
                data[at:at + 1] = bytes([rng.choice(alphabet)])
            elif what < 0.7:
                data[at:at] = bytes([rng.choice(alphabet)])
            else:
                del data[at:at + rng.randint(1, 3)]
        data = bytes(data)
        answer = probe.ask("read", data).split(" ")
        value, lone = python_reads(data)
        wanted = value is not None and not lone
        check((answer[0] == "ok") == wanted, data, answer)
        if lone:
            check(answer[0] == "JSON_SURROGATE", data, answer)
        if not wanted:
            refused += 1
            offset, line, column = (int(x) for x in answer[1:])
            before = data[:offset].decode()
            check(line == before.count("\n") + 1 and column == len(before) - (before.rfind("\n") + 1) + 1, data, answer)
            continue
        accepted += 1
        check(python_reads(bytes.fromhex(answer[1][1:]))[0] == value or has_duplicate(data), data, answer)
        check((answer[3] == "JSON_DUPLICATE_KEY") == has_duplicate(data) or answer[3] in ("JSON_NUL", "JSON_NUMBER_RANGE"), data, answer)
    check(accepted > cases // 20 and refused > cases // 20, accepted, refused)


def equality_follows_the_values(probe, rng, cases):
    equal = 0
    for _ in range(cases):
        a = random_value(rng, 3)
        b = vary(rng, a)
        same = comparable(a) == comparable(b)
        equal += same
        answer = probe.ask("equal", spell(rng, a).encode(), spell(rng, b).encode())
        check(answer[0] == ("1" if same else "0"), a, b, answer)
        check(not same or answer == "1 1", a, b, answer)
        ca, cb = (probe.ask("read", spell(rng, x).encode()).split(" ")[2] for x in (a, b))
        check((ca == cb) == same, a, b, ca, cb)
    check(equal > cases // 10, equal)


def respell(rng, text):
    """Another spelling of the same number."""
    d = Decimal(text)
    if d.is_zero():
        return rng.choice(["0", "-0", "0.0", "0e5", "-0.00E-3"])
    sign, digits, exponent = d.as_tuple()
    zeros = rng.randint(0, 3)
    return ("-" if sign else "") + "".join(map(str, digits)).lstrip("0") + "0" * zeros + "e" + str(exponent - zeros)


def vary(rng, v):
    """The same value in another spelling, or one that differs a little."""
    if isinstance(v, Number):
        if rng.random() < 0.1:
            return rng.choice([Number(str(Decimal(v) + 1)), str(v), True, Number("0")])
        return Number(respell(rng, v))
    if isinstance(v, list):
        out = [vary(rng, x) for x in v]
        if rng.random() < 0.03:
            rng.shuffle(out)
        return out
    if isinstance(v, dict):
        out = {k: vary(rng, x) for k, x in v.items()}
        if out and rng.random() < 0.03:
            name = rng.choice(list(out))
            out[name + "x"] = out.pop(name)
        return out
    return v if rng.random() < 0.98 else rng.choice([None, True, False, "", v])


def expanded(text):
    """How a number is written without an exponent, all places that its spelling shows kept; as PostgreSQL's numeric."""
    mantissa, _, exponent = text.lower().partition("e")
    fraction = mantissa.partition(".")[2]
    places = max(0, len(fraction) - int(exponent or 0))
    out = format(Decimal(text), "f").lstrip("-")
    whole = out.partition(".")[0].lstrip("0") or "0"
    return (1 if text.startswith("-") and not Decimal(text).is_zero() else 0) + len(whole) + places


def canonical(d):
    if d.is_zero():
        return "0"
    out = format(d, "f")
    if "." in out:
        out = out.rstrip("0").rstrip(".")
    return out


def within(text):
    return text if len(text.replace("-", "").replace(".", "")) <= 400 else "limit"


def numbers_behave_as_exact_decimals(probe, rng, cases):
    for i in range(cases):
        digits = 25 if i % 10 else 300
        x, y = random_number(rng, 450, digits), random_number(rng, 450, digits)
        if rng.random() < 0.3:
            y = respell(rng, x)
        a, b, dx, dy = x.encode(), y.encode(), Decimal(x), Decimal(y)
        check(probe.ask("compare", a, b) == str((dx > dy) - (dx < dy)), x, y)
        fx, fy = Fraction(dx), Fraction(dy)
        check(probe.ask("integer", a) == str(int(fx.denominator == 1)), x)
        fits = fx.denominator == 1 and -2**63 <= fx < 2**63
        check(probe.ask("i64", a) == (str(int(fx)) if fits else "no"), x)
        if fy > 0:
            wanted = int((fx / fy).denominator == 1)
            check(probe.ask("multiple", a, b, 10**9) == str(wanted), x, y)
        check(probe.ask("canonical", a) == within(canonical(dx)), x)
        check(probe.ask("expanded", a) == str(expanded(x)), x)
        places = rng.choice([0, 1, 2, 2, 5, 30])
        rounded = dx.quantize(Decimal(1).scaleb(-places), rounding=decimal.ROUND_HALF_UP)
        check(probe.ask("rounded", a, places) == within(canonical(rounded)), x, places)


def multiples_are_found_whatever_their_size(probe, rng, cases):
    for i in range(cases):
        b = random_number(rng, 40, rng.choice([3, 9, 18, 19, 27, 60, 400])).lstrip("-")
        if Decimal(b).is_zero():
            continue
        k = int(random_digits(rng, rng.choice([3, 20, 500])))
        a = Decimal(b) * k
        if i % 3 == 0:
            a += Decimal(b) / 2 if rng.random() < 0.5 else Decimal(1).scaleb(a.as_tuple().exponent)
        text = str(a)
        wanted = int((Fraction(a) / Fraction(Decimal(b))).denominator == 1)
        check(probe.ask("multiple", text.encode(), b.encode(), 10**9) == str(wanted), text, b)
    for a, b, wanted in [("8.69", "0.01", 1), ("1.11", "0.01", 1), ("143.48", "0.01", 1), ("19.99", "0.01", 1), ("-4.02", "0.01", 1),
                         ("1e308", "0.5", 1), ("1e100000", "7", 0), ("7e100000", "7", 1), ("1e1000000000", "1024", 1),
                         ("1e1000000000", "3e1000000", 0), ("1e-1000000000", "1", 0), ("0e99", "7", 1), ("1e9999999999999", "2e9999999999999", -1),
                         ("35", "7e-99999999999999999999", 1), ("0.0075", "0.0001", 1), ("0.00751", "0.0001", 0)]:
        check(probe.ask("multiple", a.encode(), b.encode(), 10**9) == str(wanted), a, b)
    check(probe.ask("multiple", b"1" * 4000, b"7" * 2000, 100) == "-1")


def huge_exponents_cost_nothing_and_stay_exact(probe, rng, cases):
    for _ in range(cases):
        size = rng.choice([5, 11, 12, 13, 14, 18, 19, 20, 40, 300])
        e, m = int(random_digits(rng, size)), rng.randint(1, 10**rng.randint(1, 8))
        shift = rng.randint(0, 5)
        sign = rng.choice(["", "-"])
        # 0.m with `shift` zeros taken from the exponent
        x = "%de%s%d" % (m, sign, e)
        f = e * (-1 if sign else 1) - shift + rng.choice([-1, 0, 0, 1])
        y = "%d%se%d" % (m, "0" * shift, f)
        difference = e * (-1 if sign else 1) - f - shift
        check(probe.ask("compare", x.encode(), y.encode()) == str((difference > 0) - (difference < 0)), x, y)


COMPARISONS = [texts_round_trip, mutated_texts_are_accepted_alike, equality_follows_the_values, numbers_behave_as_exact_decimals,
               multiples_are_found_whatever_their_size, huge_exponents_cost_nothing_and_stay_exact]


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20260608
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    print("1..%d\n# seed %d" % (len(COMPARISONS), seed))
    probe, failed = Probe(sys.argv[1]), 0
    for number, comparison in enumerate(COMPARISONS, 1):
        try:
            comparison(probe, random.Random(seed + number), cases)
            print("ok %d - %s" % (number, comparison.__name__))
        except (AssertionError, BrokenPipeError, IndexError) as why:
            failed += 1
            print("not ok %d - %s\n# %s" % (number, comparison.__name__, why))
    return 1 if probe.close() != 0 or failed else 0


if __name__ == "__main__":
    sys.exit(main())
