#!/usr/bin/env python3
"""Draws picture.png, the picture that picture_pipeline.json works on: a hazy evening at a lake.

Needs nothing but Python. Usage: examples/make_picture.py [picture.png]
"""
import math
import struct
import sys
import zlib

WIDTH, HEIGHT, SAMPLES = 240, 160, 3
HORIZON = 98.0
SUN = (172.0, 62.0, 13.0)


def mix(a, b, t):
    t = min(max(t, 0.0), 1.0)
    return tuple(x + (y - x) * t for x, y in zip(a, b))


def ridge(x, base, height, frequency, phase):
    wave = math.sin(x * frequency + phase) + 0.5 * math.sin(x * frequency * 2.3 + 1.7 * phase)
    return base - height * (0.6 + 0.4 * wave) - 1.2 * math.sin(x * 0.9 + phase) * math.sin(x * 0.37)


RIDGES = [  # far to near: base line, height, frequency, phase, colour
    (HORIZON - 14, 22, 0.031, 0.4, (0.78, 0.60, 0.56)),
    (HORIZON - 6, 18, 0.047, 2.1, (0.66, 0.48, 0.47)),
    (HORIZON, 11, 0.071, 4.4, (0.50, 0.37, 0.39)),
]


def in_triangle(x, y, a, b, c):
    def side(p, q):
        return (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])
    s = (side(a, b), side(b, c), side(c, a))
    return min(s) >= 0 or max(s) <= 0


def landscape(x, y):
    """Everything above the water."""
    sky = mix((0.60, 0.56, 0.66), (0.97, 0.76, 0.55), (y / HORIZON) ** 1.3)
    distance = math.hypot(x - SUN[0], y - SUN[1])
    colour = mix(sky, (1.0, 0.86, 0.62), math.exp(-distance / 30.0) * 0.8)
    if distance < SUN[2]:
        colour = (1.0, 0.93, 0.76)
    for i in range(3):  # streaks of cloud
        band = 20 + 13 * i + 3 * math.sin(x * 0.03 + i * 2)
        thick = 2.0 + 1.5 * math.sin(x * 0.021 + i * 1.3)
        if thick > 0:
            colour = mix(colour, (0.95, 0.82, 0.78), 0.55 * math.exp(-(((y - band) / thick) ** 2)))
    for base, height, frequency, phase, shade in RIDGES:
        if y > ridge(x, base, height, frequency, phase):
            colour = mix(shade, (0.90, 0.68, 0.54), 0.35 * (y - base + height) / (height + 14))
    return colour


def scene(x, y):
    if y < HORIZON:
        colour = landscape(x, y)
    else:
        depth = (y - HORIZON) / (HEIGHT - HORIZON)
        ripple = math.sin(y * 2.1 + 3 * math.sin(x * 0.05)) * (0.6 + 3.0 * depth)
        mirrored = HORIZON - (y - HORIZON) * 1.35 + ripple * 0.5
        colour = mix(landscape(x + ripple, max(mirrored, 0.0)), (0.44, 0.40, 0.47), 0.25 + 0.35 * depth)
        if abs(x - SUN[0] + ripple * 2.2) < 4.5 + 5 * depth and math.sin(y * 1.9 + 0.08 * x) > -0.25:
            colour = mix(colour, (1.0, 0.88, 0.66), 0.65 - 0.3 * depth)
    # A sailing boat: hull, mast, two sails, and its shadow on the water.
    if 124 <= y <= 131 and 62 + (y - 124) * 0.9 <= x <= 100 - (y - 124) * 1.3:
        colour = (0.36, 0.22, 0.22)
    if 131 < y < 140 and 66 + (y - 131) <= x <= 92 - (y - 131) and math.sin(y * 2.4) > -0.4:
        colour = mix(colour, (0.36, 0.26, 0.29), 0.5)
    if 79.2 <= x <= 80.6 and 72 <= y <= 124:
        colour = (0.38, 0.27, 0.26)
    if in_triangle(x, y, (82, 75), (82, 121), (104, 121)):
        colour = mix((0.98, 0.92, 0.84), (0.90, 0.70, 0.58), (x - 82) / 26)
    if in_triangle(x, y, (78, 80), (78, 121), (62, 121)):
        colour = mix((0.86, 0.52, 0.42), (0.93, 0.62, 0.48), (78 - x) / 16)
    # Reeds on the near shore, on the right side only.
    for i in range(26):
        root = 196 + i * 1.9 + 2 * math.sin(i * 2.7)
        tip = 112 + 14 * abs(math.sin(i * 1.9)) + i * 0.3
        lean = (HEIGHT - y) * 0.12 * math.sin(i * 1.3)
        if y > tip and abs(x - root - lean) < 0.75 * (0.4 + (y - tip) / (HEIGHT - tip)):
            colour = (0.34, 0.27, 0.27)
        if tip - 1 < y < tip + 8 and i % 3 == 0 and abs(x - root - lean) < 1.5:
            colour = (0.42, 0.28, 0.23)
    return mix(colour, (0.80, 0.66, 0.58), 0.30)  # the haze


def main():
    rows = bytearray()
    for y in range(HEIGHT):
        rows.append(0)
        for x in range(WIDTH):
            total = [0.0, 0.0, 0.0]
            for j in range(SAMPLES):
                for i in range(SAMPLES):
                    colour = scene(x + (i + 0.5) / SAMPLES, y + (j + 0.5) / SAMPLES)
                    total = [t + c for t, c in zip(total, colour)]
            rows.extend(min(255, max(0, round(255 * t / SAMPLES**2))) for t in total)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b"")
    with open(sys.argv[1] if len(sys.argv) > 1 else "picture.png", "wb") as file:
        file.write(png)


if __name__ == "__main__":
    main()
