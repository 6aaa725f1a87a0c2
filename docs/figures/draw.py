#!/usr/bin/env python3
"""draw.py: the figures of docs/, SVG made of numbers that the library computes.

draw.py --command dmlref --tables print_tables --write    writes the files beside this one
draw.py --command dmlref --tables print_tables --check    exit 1 where one of them differs
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from svg import Canvas

COLOURS = ["a", "b", "c", "d"]


class Library:
    """Runs operators by the command `dmlref`, and reads the tables that print_tables prints."""

    def __init__(self, command: Path, tables: Path) -> None:
        self.command = command
        self.tables = tables

    def run(self, operator: str, desc: dict, data: dict[str, tuple[str, list[float]]], output: str = "OutputTensor",
            fill: tuple[str, list[float]] | None = None) -> list[float]:
        """The output's memory after one operator. `data`: type and values per tensor; `fill`: the output before."""
        assert fill is not None
        resources = {name: {"initialValuesDataType": kind, "initialValues": values}
                     for name, (kind, values) in {**data, output: fill}.items()}
        model = {"resources": resources, "dispatchables": {"op": {"type": operator, "desc": desc}},
                 "commands": [{"type": "dispatch", "dispatchable": "op", "bindings": {name: name for name in resources}},
                              {"type": "print", "resource": output}]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            path.write_text(json.dumps(model), encoding="utf-8")
            done = subprocess.run([self.command, "run", path], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [float(value) for value in done.stdout.partition(": ")[2].split(", ")]

    def table(self, part: str) -> list[list[str]]:
        """The cells of a generated table, without its heading."""
        done = subprocess.run([self.tables, "--print", part], capture_output=True, text=True, check=True)
        rows = [line for line in done.stdout.split("\n") if line.startswith("|")]
        return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def tensor(kind: str, sizes: list[int], strides: list[int] | None = None) -> dict:
    return {"DataType": kind, "Sizes": sizes} | ({"Strides": strides} if strides else {})


def windows(library: Library) -> str:
    """Offsets, sizes and strides of windows, both signs, a ragged tail, and an output that is smaller."""
    canvas = Canvas(760, 338, "Windows of SLICE and SLICE1 on a row of ten elements")
    count, cell, left = 10, 34, 20
    rows = [("offset 2, size 4, stride 1", 2, 4, 1, 4), ("offset 1, size 7, stride 3", 1, 7, 3, 3),
            ("offset 1, size 9, stride 3: a ragged tail", 1, 9, 3, 3), ("offset 1, size 9, stride -3", 1, 9, -3, 3),
            ("offset 1, size 9, stride -3, output of 2", 1, 9, -3, 2)]
    for number, (title, offset, size, stride, length) in enumerate(rows):
        output = library.run("SLICE1", {
            "InputTensor": tensor("INT32", [count]), "OutputTensor": tensor("INT32", [length]), "DimensionCount": 1,
            "InputWindowOffsets": [offset], "InputWindowSizes": [size], "InputWindowStrides": [stride],
        }, {"InputTensor": ("INT32", list(range(count)))}, fill=("INT32", [-1] * length))
        y = 14 + 64 * number
        canvas.text(left, y + 12, title, "small soft")
        for i in range(count):
            canvas.box(left + cell * i, y + 22, cell, 28, "a" if i in output else "cell", i,
                       "" if offset <= i < offset + size else "soft")
        canvas.box(left + cell * offset, y + 20, cell * size, 32, "frame")
        canvas.line(left + cell * count + 18, y + 36, left + cell * count + 68, y + 36, "arrow")
        for k, value in enumerate(output):
            canvas.box(left + cell * (count + 2.6) + cell * k, y + 22, cell, 28, "a", int(value))
        if number == 0:
            canvas.text(left + cell * (count + 2.6) + cell * 5, y + 30, "framed: the window", "small soft")
            canvas.text(left + cell * (count + 2.6) + cell * 5, y + 48, "filled: read, in order", "small soft")
    return canvas.svg()


def strides(library: Library) -> str:
    """One logical tensor in four memories."""
    sizes = [1, 2, 2, 3]
    canvas = Canvas(760, 330, "One tensor {1, 2, 2, 3} as NCHW, NHWC, with padded rows, and broadcast")
    cell, left = 32, 210
    logical = list(range(12))
    canvas.text(20, 26, "Sizes {1, 2, 2, 3}: two channels of two rows of three", "title")
    for c in range(2):
        canvas.text(40 + 180 * c, 52, f"channel {c}", "small soft")
        for i in range(6):
            canvas.box(40 + 180 * c + cell * (i % 3), 60 + 28 * (i // 3), cell, 28, COLOURS[c], 6 * c + i)
    canvas.text(420, 78, "Below: memory, one cell an element.", "small soft")
    canvas.text(420, 96, "Dashed: not an element of the tensor.", "small soft")
    memories = [("NCHW, packed", [12, 6, 3, 1], 12), ("NHWC", [12, 1, 6, 2], 12), ("rows padded to 4", [16, 8, 4, 1], 16)]
    for number, (title, steps, length) in enumerate(memories):
        memory = library.run("SLICE1", {
            "InputTensor": tensor("INT32", sizes), "OutputTensor": tensor("INT32", sizes, steps), "DimensionCount": 4,
            "InputWindowOffsets": [0] * 4, "InputWindowSizes": sizes, "InputWindowStrides": [1] * 4,
        }, {"InputTensor": ("INT32", logical)}, fill=("INT32", [-1] * length))
        y = 140 + 48 * number
        canvas.text(20, y + 13, title)
        canvas.text(20, y + 29, f"Strides {{{', '.join(map(str, steps))}}}", "small soft")
        for i, value in enumerate(memory):
            if value < 0:
                canvas.box(left + cell * i, y, cell, 28, "hole")
            else:
                canvas.box(left + cell * i, y, cell, 28, COLOURS[int(value) // 6], int(value))
    seen = library.run("SLICE1", {
        "InputTensor": tensor("INT32", sizes, [0, 1, 0, 0]), "OutputTensor": tensor("INT32", sizes),
        "DimensionCount": 4, "InputWindowOffsets": [0] * 4, "InputWindowSizes": sizes, "InputWindowStrides": [1] * 4,
    }, {"InputTensor": ("INT32", [7, 9])}, fill=("INT32", [-1] * 12))
    y = 140 + 48 * 3
    canvas.text(20, y + 13, "one value per channel")
    canvas.text(20, y + 29, "Strides {0, 1, 0, 0}", "small soft")
    for i, value in enumerate([7, 9]):
        canvas.box(left + cell * i, y, cell, 28, COLOURS[i], value)
    canvas.line(left + cell * 2 + 12, y + 14, left + cell * 2 + 50, y + 14, "arrow")
    for i, value in enumerate(seen):
        canvas.box(left + cell * 4 + cell * i, y, cell, 28, COLOURS[i // 6], int(value))
    canvas.text(left + cell * 2 + 31, y + 7, "read as", "middle small soft")
    return canvas.svg()


def convolve(library: Library, input_values: list[int], filter_values: list[int]) -> list[int]:
    """A 5 x 5 input, padding 1, a 3 x 3 kernel with dilation 2, stride 2: 2 x 2 sums, unscaled."""
    one = tensor("FLOAT32", [1, 1, 1, 1])
    scale = ("FLOAT32", [1])
    output = library.run("QUANTIZED_LINEAR_CONVOLUTION", {
        "InputTensor": tensor("INT8", [1, 1, 5, 5]), "InputScaleTensor": one, "FilterTensor": tensor("INT8", [1, 1, 3, 3]),
        "FilterScaleTensor": one, "OutputScaleTensor": one, "OutputTensor": tensor("INT8", [1, 1, 2, 2]),
        "DimensionCount": 2, "Strides": [2, 2], "Dilations": [2, 2], "StartPadding": [1, 1], "EndPadding": [1, 1],
        "GroupCount": 1,
    }, {"InputTensor": ("INT8", input_values), "InputScaleTensor": scale, "FilterTensor": ("INT8", filter_values),
        "FilterScaleTensor": scale, "OutputScaleTensor": scale}, fill=("INT8", [0] * 4))
    return [int(value) for value in output]


def convolution(library: Library) -> str:
    """Which elements each of the four outputs reads. Kernels of one 1 on an input of 1 to 25 tell."""
    canvas = Canvas(760, 318, "A convolution with padding 1, dilation 2 and stride 2")
    values = [(3 * y + 2 * x) % 7 for y in range(5) for x in range(5)]
    kernel = [1, 0, -1, 2, 0, -2, 1, 0, -1]
    taps = [convolve(library, list(range(1, 26)), [int(i == tap) for i in range(9)]) for tap in range(9)]
    sums = convolve(library, values, kernel)
    cell, top = 22, 66
    canvas.text(20, 28, "5 x 5 input, padding 1 (dashed), 3 x 3 kernel, dilation 2, stride 2", "title")
    for output in range(4):
        left = 20 + 184 * output
        canvas.text(left, top - 12, f"output ({output // 2}, {output % 2})", "small soft")
        read = {taps[tap][output] - 1: tap for tap in range(9)}
        for y in range(-1, 6):
            for x in range(-1, 6):
                inside = 0 <= y < 5 and 0 <= x < 5
                index = 5 * y + x
                # A tap in the padding reads 0, so its place follows from the stride and the dilation alone.
                tap_y, tap_x = y + 1 - 2 * (output // 2), x + 1 - 2 * (output % 2)
                padded_tap = not inside and 0 <= tap_y <= 4 and 0 <= tap_x <= 4 and tap_y % 2 == tap_x % 2 == 0
                style = "b" if padded_tap else "hole" if not inside else "a" if index in read else "cell"
                text = values[index] if inside else 0 if padded_tap else ""
                canvas.box(left + cell * (x + 1), top + cell * (y + 1), cell, cell, style, text,
                           "small" if padded_tap or (inside and index in read) else "small soft")
    y = top + cell * 7 + 30
    canvas.text(20, y + 14, "kernel", "small soft")
    for i, value in enumerate(kernel):
        canvas.box(72 + 26 * (i % 3), y - 10 + 20 * (i // 3), 26, 20, "a", value, "small")
    canvas.text(204, y + 14, "sums", "small soft")
    for i, value in enumerate(sums):
        canvas.box(248 + 32 * (i % 2), y - 10 + 26 * (i // 2), 32, 26, "c", value)
    canvas.text(340, y + 4, "output size: 1 + (1 + 5 + 1 - (1 + (3 - 1) * 2)) / 2 = 2", "small")
    canvas.text(340, y + 24, "blue: taps in the padding, which add nothing", "small soft")
    return canvas.svg()


def requantization(library: Library) -> str:
    """Sums, their real values on a number line, rounded half to even, shifted by the zero point and clamped."""
    canvas = Canvas(760, 292, "Dequantize, convolve, requantize: ties go to the even neighbour")
    sums = [-1, 3, 4, 5, 9, 10, 11]
    one = tensor("FLOAT32", [1, 1, 1, 1])
    outputs = library.run("QUANTIZED_LINEAR_CONVOLUTION", {
        "InputTensor": tensor("INT8", [1, 1, 1, len(sums)]), "InputScaleTensor": one,
        "FilterTensor": tensor("INT8", [1, 1, 1, 1]), "FilterScaleTensor": one, "OutputScaleTensor": one,
        "OutputZeroPointTensor": tensor("UINT8", [1, 1, 1, 1]), "OutputTensor": tensor("UINT8", [1, 1, 1, len(sums)]),
        "DimensionCount": 2, "Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [0, 0], "EndPadding": [0, 0],
        "GroupCount": 1,
    }, {"InputTensor": ("INT8", sums), "InputScaleTensor": ("FLOAT32", [0.5]), "FilterTensor": ("INT8", [1]),
        "FilterScaleTensor": ("FLOAT32", [0.25]), "OutputScaleTensor": ("FLOAT32", [0.25]),
        "OutputZeroPointTensor": ("UINT8", [10])}, fill=("UINT8", [0] * len(sums)))
    left, step = 190, 74  # of one unit of V
    at = lambda value: left + step * (value + 1)
    canvas.text(20, 28, "V = sum * 0.5 * 0.25 / 0.25, rounded half to even, plus zero point 10", "title")
    sum_y, value_y, output_y = 78, 140, 236
    canvas.text(20, sum_y + 5, "sum, an integer", "small soft")
    canvas.text(20, value_y + 5, "V, a real number", "small soft")
    canvas.text(20, output_y + 5, "output, a UINT8", "small soft")
    canvas.line(at(-1) - 20, value_y, at(6) + 20, value_y)
    canvas.line(at(-1) - 20, output_y, at(6) + 20, output_y)
    for tick in range(-1, 7):
        canvas.line(at(tick), value_y - 5, at(tick), value_y + 5)
        canvas.text(at(tick), value_y + 20, tick, "middle small soft")
        canvas.line(at(tick), output_y - 5, at(tick), output_y + 5)
        canvas.text(at(tick), output_y + 22, tick + 10, "middle")
    for total, output in zip(sums, outputs):
        value = total / 2
        tie = value % 1 != 0
        canvas.text(at(value), sum_y + 5, total, "middle strong" if tie else "middle")
        canvas.line(at(value), sum_y + 12, at(value), value_y - 8, "arrow")
        canvas.dot(at(value), value_y, "tie-dot" if tie else "dot")
        canvas.line(at(value), value_y + (8 if tie else 26), at(output - 10) + (0 if not tie else 6 if value > output - 10
                    else -6), output_y - 8, "tie" if tie else "arrow")
    canvas.text(20, 282, "Orange: ties. Each goes to the even neighbour of V, before the zero point is added.", "small soft")
    return canvas.svg()


def quantization(library: Library) -> str:
    """Real numbers, their quotients on a number line, rounded half to even, shifted and clamped; and the way back."""
    canvas = Canvas(760, 330, "Quantize and dequantize: ties go to the even neighbour, and what lies beyond is clamped")
    values, scale, zero = [-2, -1.1, -0.75, -0.25, 0.25, 0.5, 0.75, 1.25, 2], 0.5, 2
    sizes = [len(values)]
    parameters = {"ScaleTensor": tensor("FLOAT32", sizes, [0]), "ZeroPointTensor": tensor("UINT8", sizes, [0])}
    data = {"ScaleTensor": ("FLOAT32", [scale]), "ZeroPointTensor": ("UINT8", [zero])}
    outputs = library.run("ELEMENT_WISE_QUANTIZE_LINEAR", {
        "InputTensor": tensor("FLOAT32", sizes), "OutputTensor": tensor("UINT8", sizes)} | parameters,
        {"InputTensor": ("FLOAT32", values)} | data, fill=("UINT8", [0] * len(values)))
    restored = library.run("ELEMENT_WISE_DEQUANTIZE_LINEAR", {
        "InputTensor": tensor("UINT8", sizes), "OutputTensor": tensor("FLOAT32", sizes)} | parameters,
        {"InputTensor": ("UINT8", [int(output) for output in outputs])} | data, fill=("FLOAT32", [0] * len(values)))
    left, step = 200, 64  # of one unit of the quotient
    at = lambda value: left + step * (value + 4)
    canvas.text(20, 28, f"quantize: x / {scale} is rounded half to even, plus zero point {zero}, clamped to 0 … 255", "title")
    input_y, value_y, output_y, restored_y = 66, 120, 204, 276
    canvas.text(20, input_y + 5, "x, a real number", "small soft")
    canvas.text(20, value_y + 5, "x / scale", "small soft")
    canvas.text(20, output_y + 5, "output, a UINT8", "small soft")
    canvas.text(20, restored_y + 5, "dequantized", "small soft")
    canvas.line(at(-4) - 20, value_y, at(4) + 20, value_y)
    canvas.line(at(-zero), output_y, at(4) + 20, output_y)
    for tick in range(-4, 5):
        canvas.line(at(tick), value_y - 5, at(tick), value_y + 5)
        canvas.text(at(tick), value_y + 20, tick, "middle small soft")
        if tick >= -zero:
            canvas.line(at(tick), output_y - 5, at(tick), output_y + 5)
            canvas.text(at(tick), output_y + 22, tick + zero, "middle")
    for value, output in zip(values, outputs):
        quotient = value / scale
        tie = quotient % 1 == 0.5
        to = at(output - zero)
        canvas.text(at(quotient), input_y + 5, f"{value:g}", "middle strong" if tie else "middle")
        canvas.line(at(quotient), input_y + 12, at(quotient), value_y - 8, "arrow")
        canvas.dot(at(quotient), value_y, "tie-dot" if tie else "dot")
        canvas.line(at(quotient), value_y + (8 if tie else 26), to + (6 if quotient > output - zero else -6 if tie else 0),
                    output_y - 8, "tie" if tie else "arrow")
    for output, real in sorted(set(zip(outputs, restored))):
        canvas.line(at(output - zero), output_y + 28, at(output - zero), restored_y - 12, "arrow")
        canvas.text(at(output - zero), restored_y + 5, f"{real:g}", "middle")
    canvas.text(20, 318, "Orange: ties. Each goes to the even neighbour, before the zero point is added. -2 / 0.5 + 2 is"
                " below 0, and clamped.", "small soft")
    return canvas.svg()


def product(library: Library) -> str:
    """An integer matrix product with zero points per row of A and per column of B, and how one sum comes about."""
    canvas = Canvas(760, 376, "A matrix product: rows of A, columns of B, a zero point for each")
    a, b = [[11, 7, 3], [10, 6, 2], [9, 5, 1], [8, 4, 0]], [[1, 4], [2, 5], [3, 6]]
    a_zeros, b_zeros, row, column = [12, 0, 1, 2], [0, 1], 1, 1
    flat = lambda matrix: [value for line in matrix for value in line]
    sums = library.run("MATRIX_MULTIPLY_INTEGER", {
        "ATensor": tensor("UINT8", [4, 3]), "AZeroPointTensor": tensor("UINT8", [4, 1]),
        "BTensor": tensor("UINT8", [3, 2]), "BZeroPointTensor": tensor("UINT8", [1, 2]),
        "OutputTensor": tensor("INT32", [4, 2])},
        {"ATensor": ("UINT8", flat(a)), "AZeroPointTensor": ("UINT8", a_zeros), "BTensor": ("UINT8", flat(b)),
         "BZeroPointTensor": ("UINT8", b_zeros)}, fill=("INT32", [0] * 8))
    cell, height, top, a_left, b_left = 48, 32, 196, 190, 360
    zero_left, zero_top = a_left - cell - 22, 34
    b_top = zero_top + height + 14
    canvas.text(20, top + 70, "zero points", "small soft")
    canvas.text(20, top + 86, "per row", "small soft")
    canvas.text(a_left, top - 10, "A {M, K}", "title")
    canvas.text(b_left + 2 * cell + 16, b_top + 54, "B {K, N}", "title")
    canvas.text(b_left + 2 * cell + 16, zero_top + 21, "zero points per column", "small soft")
    canvas.text(b_left + 2 * cell + 16, top + 70, "output {M, N}", "title")
    for m in range(4):
        y = top + height * m
        canvas.box(zero_left, y, cell, height, "a" if m == row else "cell", a_zeros[m])
        for k in range(3):
            canvas.box(a_left + cell * k, y, cell, height, "a" if m == row else "cell", a[m][k])
        for n in range(2):
            canvas.box(b_left + cell * n, y, cell, height, "c" if (m, n) == (row, column) else "cell", int(sums[2 * m + n]))
    for n in range(2):
        canvas.box(b_left + cell * n, zero_top, cell, height, "b" if n == column else "cell", b_zeros[n])
        for k in range(3):
            canvas.box(b_left + cell * n, b_top + height * k, cell, height, "b" if n == column else "cell", b[k][n])
    terms = " + ".join(f"({a[row][k]} - {a_zeros[row]}) * ({b[k][column]} - {b_zeros[column]})" for k in range(3))
    canvas.text(20, 360, f"{terms} = {int(sums[2 * row + column])}", "strong")
    return canvas.svg()


def groups(library: Library) -> str:
    """Elements that share a mean, for four choices of axes. An element less its centred value is its group's mean."""
    canvas = Canvas(760, 300, "Axes of a normalization and the groups that share a mean")
    sizes = [2, 2, 2, 3]
    values = list(range(1, 25))
    choices = [([1, 2, 3], "Axes {1, 2, 3}", "CrossChannel"), ([2, 3], "Axes {2, 3}", "not CrossChannel, instance"),
               ([0, 2, 3], "Axes {0, 2, 3}", "batch statistics"), ([1], "Axes {1}", "each pixel over its channels")]
    cell = 24
    for number, (axes, title, subtitle) in enumerate(choices):
        centred = library.run("MEAN_VARIANCE_NORMALIZATION1", {
            "InputTensor": tensor("FLOAT32", sizes), "OutputTensor": tensor("FLOAT32", sizes), "AxisCount": len(axes),
            "Axes": axes, "NormalizeVariance": False, "Epsilon": 0.00001,
        }, {"InputTensor": ("FLOAT32", values)}, fill=("FLOAT32", [0] * 24))
        means = [value - rest for value, rest in zip(values, centred)]
        order = sorted(set(means))
        left = 20 + 186 * number
        canvas.text(left, 28, title, "title")
        canvas.text(left, 46, subtitle, "small soft")
        for index, mean in enumerate(means):
            n, c, y, x = index // 12, index // 6 % 2, index // 3 % 2, index % 3
            canvas.box(left + c * (3 * cell + 12) + cell * x, 66 + n * (2 * cell + 26) + cell * y, cell, cell,
                       COLOURS[order.index(mean) % 4], values[index], "small")
        for n in range(2):
            for c in range(2):
                canvas.text(left + c * (3 * cell + 12), 66 + n * (2 * cell + 26) + 2 * cell + 14, f"n {n}, c {c}", "small soft")
        many = len(order) > 4
        canvas.text(left, 66 + 2 * (2 * cell + 26) + 22, f"{len(order)} groups of {24 // len(order)}", "small")
        shown = order[:4] if many else order
        canvas.text(left, 66 + 2 * (2 * cell + 26) + 40,
                    "means " + ", ".join(f"{mean:g}" for mean in shown) + (", ..." if many else ""), "small")
    canvas.text(20, 290, "A tensor {2, 2, 2, 3} of 1 to 24. Cells of one colour share a mean and a variance"
                " (colours repeat in the last).", "small soft")
    return canvas.svg()


SHORT = {"QUANTIZED_LINEAR_CONVOLUTION": "QLC", "MEAN_VARIANCE_NORMALIZATION1": "MVN1",
         "MEAN_VARIANCE_NORMALIZATION": "MVN", "MEAN_VARIANCE_NORMALIZATION2": "MVN2",
         "ELEMENT_WISE_QUANTIZE_LINEAR": "QUANTIZE", "ELEMENT_WISE_DEQUANTIZE_LINEAR": "DEQUANTIZE"}
LIFTED = {"normalization_channel_broadcast": "MVN1: any size of scale and bias may be 1",
          "normalization_scale_with_bias": "MVN, MVN1: scale without bias, bias without scale",
          "element_wise_zero_point": "QUANTIZE, DEQUANTIZE: no zero point",
          "activation_steepness": "SOFTPLUS: Steepness below 1"}


def widened(library: Library, operator: str, level: str) -> str:
    """What the operator's tensors accept at `level` that they did not before: dimensions, types."""
    before: dict[str, tuple[str, str]] = {}
    changes: dict[str, list[str]] = {}
    for since, tensors, ranks, types in library.table(f"support {operator}"):
        for name in tensors.split(", "):
            old_ranks, old_types = before.get(name, (ranks, types))
            if since == level:
                if ranks != old_ranks:
                    changes.setdefault(f"{ranks} dimensions", []).append(name)
                added = [kind for kind in types.split(", ") if kind not in old_types.split(", ")]
                if added:
                    changes.setdefault(", ".join(added), []).append(name)
            before[name] = (ranks, types)
    texts = []
    for change, names in changes.items():
        several = f" ({names[0]} and {len(names) - 1} more)" if len(changes) > 1 else ""
        texts.append(f"{names[0]} of {change}" if len(names) == 1 else change + several)
    return f"{SHORT.get(operator, operator)}: " + ", ".join(texts)


def levels(library: Library) -> str:
    """What each feature level adds."""
    rows = library.table("levels")
    lines: list[tuple[str, list[str]]] = []
    for level, operators, tensors, activations, lifted in rows:
        added = []
        if operators:
            added.append("new: " + ", ".join(operators.split(", ")))
        names = activations.split(", ") if activations else []
        if names:
            added.append("activation " + names[0] if len(names) == 1 else f"{len(names)} activations to fuse")
        if tensors:
            texts = [widened(library, operator, level) for operator in tensors.split(", ")]
            operators_of: dict[str, list[str]] = {}
            for text in texts:
                name, _, what = text.partition(": ")
                operators_of.setdefault(what, []).append(name)
            added += [f"{', '.join(names)}: {what}" for what, names in operators_of.items()]
        added += [LIFTED[rule.strip("`")] for rule in lifted.split(", ") if rule]
        lines.append((level, added))
    height = 44 + sum(max(1, len(added)) * 20 + 6 for _, added in lines) + 10
    canvas = Canvas(760, height, "What each feature level adds")
    canvas.text(20, 28, "What a feature level adds to the operators", "title")
    y = 60
    canvas.line(100, 46, 100, height - 18)
    for level, added in lines:
        canvas.text(84, y, level, "end" if added else "end soft")
        canvas.dot(100, y - 5, "tie-dot" if added else "dot")
        for number, text in enumerate(added or ["nothing for these operators"]):
            canvas.text(118, y + 20 * number, text, "small" if added else "small soft")
        y += max(1, len(added)) * 20 + 6
    return canvas.svg()


FIGURES = {"windows": windows, "strides": strides, "convolution": convolution, "requantization": requantization,
           "quantization": quantization, "product": product, "groups": groups, "levels": levels}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True, type=Path, help="dmlref")
    parser.add_argument("--tables", required=True, type=Path, help="print_tables")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--check", action="store_true")
    given = parser.parse_args()
    library = Library(given.command, given.tables)
    status = 0
    for name, draw in FIGURES.items():
        path = Path(__file__).with_name(f"{name}.svg")
        fresh = draw(library)
        if given.write:
            path.write_text(fresh, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != fresh:
            print(f"{path}: is stale; the target update_figures draws it anew")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
