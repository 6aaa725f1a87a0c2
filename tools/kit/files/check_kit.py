#!/usr/bin/env python3
"""Compares the results of any device with a conformance kit, as `dmlref check-kit` does.

    check_kit.py DIR RESULTS [--feature-level 6_4] [--strict] [--documented-only]

Needs NumPy alone. Exit status: 0 all passed; 1 some failed or are missing; 2 the kit or a file cannot be used.
"""
import argparse
import ast
import itertools
import json
import math
import os
import sys

try:
    import numpy as np
except ImportError:
    print("check_kit: needs NumPy, which this Python has not: pip install numpy, or Debian's python3-numpy",
          file=sys.stderr)
    sys.exit(2)

LEVELS = ["1_0", "2_0", "2_1", "3_0", "3_1", "4_0", "4_1", "5_0", "5_1", "5_2", "6_0", "6_1", "6_2", "6_3", "6_4"]
TYPES = {"FLOAT32": "<f4", "FLOAT16": "<f2", "FLOAT64": "<f8", "UINT8": "|u1", "UINT16": "<u2", "UINT32": "<u4",
         "UINT64": "<u8", "INT8": "|i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"}
NAMES = {np.dtype(code): name for name, code in TYPES.items()} | {np.dtype("|b1"): "UINT8"}


class Unusable(Exception):
    """Where, and what is wrong."""


def read_npy(path):
    """A file's elements as one dimension. Data may be padded to a multiple of four bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unusable(f"{path}: cannot be read: {error.strerror}") from None
    if data[:6] != b"\x93NUMPY" or len(data) < 12 or data[6] not in (1, 2, 3):
        raise Unusable(f"{path}: is no .npy file of version 1, 2 or 3")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    try:
        header = ast.literal_eval(data[start:start + length].decode("latin1").strip())
        dtype = np.dtype(header["descr"])
        name = NAMES[dtype.newbyteorder("<")]
        shape = tuple(header["shape"])
        count = math.prod(shape)
        c_order = not header["fortran_order"] or sum(extent > 1 for extent in shape) <= 1
        good = len(data) >= start + length and c_order and all(
            isinstance(extent, int) and extent > 0 for extent in shape)
    except Exception:  # whatever a malformed header causes
        good = False
    if not good:
        raise Unusable(f"{path}: has a broken .npy header, expected a known type, C order, extents from 1")
    needed = count * dtype.itemsize
    given = len(data) - start - length
    if given not in (needed, (needed + 3) // 4 * 4):
        raise Unusable(f"{path}: has {given} bytes of elements, expected {needed} for shape {shape} of {name}")
    return np.frombuffer(data, dtype, count, start + length).astype(TYPES[name])


class Case:
    def __init__(self, folder):
        path = os.path.join(folder, "case.json")

        def expect(condition, place, what):
            if not condition:
                raise Unusable(f"{path}: $.{place}: expected {what}")

        def natural(value, least=0):
            return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**32

        try:
            with open(path, "rb") as file:
                case = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise Unusable(f"{path}: cannot be read as JSON: {error}") from None
        expect(isinstance(case, dict), "", "an object")
        self.name = case.get("name")
        expect(self.name == os.path.basename(folder), "name", "the folder's name")
        for key in ("operator", "fault_kind"):
            expect(isinstance(case.get(key), str), key, "a text")
        self.operator = case["operator"]
        self.kind = case["fault_kind"]
        self.source_kind = case.get("source_kind")
        expect(self.source_kind in ("documented", "reading"), "source_kind", '"documented" or "reading"')
        self.file = case.get("file")
        expect(self.file == "output.npy", "file", '"output.npy"')
        self.rules = case.get("rules", [])
        expect(isinstance(self.rules, list) and all(isinstance(rule, str) for rule in self.rules), "rules", "texts")
        self.accepted_from = None
        expect(case.get("expect") in ("output", "refused"), "expect", '"output" or "refused"')
        if case["expect"] == "refused":
            return
        self.accepted_from = case.get("feature_level")
        expect(self.accepted_from in LEVELS, "feature_level", "one of " + ", ".join(LEVELS))
        self.type = case.get("data_type")
        expect(self.type in TYPES, "data_type", "one of " + ", ".join(TYPES))
        self.sizes = case.get("sizes")
        expect(isinstance(self.sizes, list) and 1 <= len(self.sizes) <= 8 and
               all(natural(size, 1) for size in self.sizes), "sizes", "1 to 8 integers from 1")
        packed = [math.prod(self.sizes[d + 1:]) for d in range(len(self.sizes))]
        self.strides = case.get("strides", packed)
        expect(isinstance(self.strides, list) and len(self.strides) == len(self.sizes) and
               all(natural(stride) for stride in self.strides), "strides", "an integer for each of sizes")
        self.spanned = 1 + sum((size - 1) * stride for size, stride in zip(self.sizes, self.strides))
        expect(max(self.spanned, math.prod(self.sizes)) < 2**32, "sizes", "fewer than 2^32 elements")
        tolerance = case.get("tolerance")
        expect(isinstance(tolerance, dict), "tolerance", "an object")
        self.bits, self.absolute, self.ulp = (tolerance.get(key) for key in ("bits", "absolute", "ulp"))
        expect(isinstance(self.bits, bool), "tolerance.bits", "true or false")
        expect(isinstance(self.absolute, (int, float)) and self.absolute >= 0, "tolerance.absolute", "a number from 0")
        expect(natural(self.ulp), "tolerance.ulp", "an unsigned integer")


def place(value):
    """The place of a number among all numbers of its type; both zeros are 0."""
    bits = int(value.view(f"i{value.itemsize}"))
    return bits if bits >= 0 else -(1 << (8 * value.itemsize - 1)) - bits


def near_enough(result, expected, absolute, ulp):
    if result.dtype.kind != "f":
        return abs(int(result) - int(expected)) <= ulp
    a, b = float(result), float(expected)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= absolute or abs(place(result) - place(expected)) <= ulp


def text(value, bits):
    if bits:
        return f"0x{int(value.view(f'u{value.itemsize}')):0{2 * value.itemsize}x}"
    if value.dtype.kind != "f":
        return str(int(value))
    return "nan" if math.isnan(value) else f"{float(value):.{17 if value.itemsize == 8 else 9}g}"


def difference(case, result, expected, strict):
    """None where the elements agree, else how they do not. Memory between elements is not compared."""
    absolute, ulp = (0, min(case.ulp, 1)) if strict else (case.absolute, case.ulp)
    unlike, first = 0, ""
    for at in itertools.product(*map(range, case.sizes)):
        index = sum(c * stride for c, stride in zip(at, case.strides))
        a, b = result[index], expected[index]
        equal = a.tobytes() == b.tobytes() if case.bits else near_enough(a, b, absolute, ulp)
        if not equal:
            if unlike == 0:
                coordinates = ", ".join(map(str, at))
                first = f"first at [{coordinates}]: {text(a, case.bits)} instead of {text(b, case.bits)}"
            unlike += 1
    return f"{unlike} of {math.prod(case.sizes)} elements differ, {first}" if unlike else None


def check(kit, results, case, level, strict):
    """("pass" | "fail" | "missing", reason)"""
    file = os.path.join(results, case.name, case.file)
    given = os.path.exists(file)
    refused = os.path.exists(os.path.join(results, case.name, "refused"))
    if case.accepted_from is not None:
        path = os.path.join(kit, case.name, "expected", case.file)
        expected = read_npy(path)
        if NAMES[expected.dtype] != case.type or expected.size < case.spanned:
            raise Unusable(f"{path}: holds {expected.size} elements of {NAMES[expected.dtype]}, expected "
                           f"{case.spanned} of {case.type} as case.json says")
    if given:
        result = read_npy(file)
    if given and refused:
        return "fail", "has both a result and a refusal"
    if not given and not refused:
        return "missing", None
    if case.accepted_from is None or LEVELS.index(case.accepted_from) > LEVELS.index(level):
        return ("pass", None) if refused else ("fail", "has a result, expected a refusal: " + ", ".join(case.rules))
    if refused:
        return "fail", f"refused, expected a result from feature level {case.accepted_from} on"
    if NAMES[result.dtype] != case.type:
        return "fail", f"{case.file} holds {NAMES[result.dtype]}, expected {case.type}"
    if result.size != expected.size:
        return "fail", f"{case.file} has {result.size} elements, expected {expected.size}"
    unlike = difference(case, result, expected, strict)
    return ("fail", unlike) if unlike else ("pass", None)


def table(rows):
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return "".join("  ".join(cell.ljust(width) if c < 2 else cell.rjust(width)
                             for c, (cell, width) in enumerate(zip(row, widths))) + "\n" for row in rows)


def report(cases, outcomes, level, left_out):
    lines, counts = [], {}
    words = ["pass", "fail", "missing"]
    for case, (state, reason) in zip(cases, outcomes):
        lines.append(f"{state} {case.name}" + (f": {reason}" if reason else "") + "\n")
        counts.setdefault((case.operator, case.kind), [0, 0, 0])[words.index(state)] += 1
    rows = [["operator", "fault kind", "cases", "passed", "failed", "missing"]]
    for key in sorted(counts):
        rows.append([*key, *map(str, [sum(counts[key]), *counts[key]])])
    passed, failed, missing = map(sum, zip(*counts.values()))
    return ("".join(lines) + "\n" + table(rows) +
            f"\n{len(cases)} cases at feature level {level}: {passed} passed, {failed} failed, {missing} missing\n" +
            ("" if left_out is None else f"{left_out} cases left out: their source is a reading\n"))


def main():
    parser = argparse.ArgumentParser(description="Compares the results of any device with a conformance kit.")
    parser.add_argument("kit", metavar="DIR", help="the kit")
    parser.add_argument("results", metavar="RESULTS", help="a folder CASE for each case, with output.npy or refused")
    parser.add_argument("--feature-level", metavar="LEVEL", choices=LEVELS, default="6_4",
                        help="the device's level: cases above it must be refused; 6_4 if not given")
    parser.add_argument("--strict", action="store_true",
                        help="results within one unit in the last place, whatever a case tolerates")
    parser.add_argument("--documented-only", action="store_true",
                        help="leave out cases whose source is a reading of dmlref, where the documents are silent")
    options = parser.parse_args()
    try:
        for folder in (options.kit, options.results):
            if not os.path.isdir(folder):
                raise Unusable(f"{folder}: is no folder, expected a kit or its results")
        folders = [os.path.join(options.kit, name) for name in sorted(os.listdir(options.kit))]
        cases = [Case(folder) for folder in folders if os.path.exists(os.path.join(folder, "case.json"))]
        if not cases:
            raise Unusable(f"{options.kit}: has no folder with a case.json, expected a kit")
        left_out = None
        if options.documented_only:
            left_out = sum(case.source_kind == "reading" for case in cases)
            cases = [case for case in cases if case.source_kind == "documented"]
            if not cases:
                raise Unusable(f"{options.kit}: has no case whose source is a document, --documented-only")
        outcomes = [check(options.kit, options.results, case, options.feature_level, options.strict) for case in cases]
    except Unusable as error:
        print("check_kit: " + " ".join(str(error).split()), file=sys.stderr)
        return 2
    sys.stdout.write(report(cases, outcomes, options.feature_level, left_out))
    return 0 if all(state == "pass" for state, _ in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
