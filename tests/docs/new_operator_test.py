"""new_operator_test.py: an operator that docs/adding-an-operator.md adds works in the command and in the fuzz target without
another line.

  new_operator_test.py COMPILER FOLDER    FOLDER is made anew; takes minutes
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import changes_check
import pages

PARTS = ("include", "tools", "tests", "examples", "compiled", "cmake", "CMakeLists.txt", "LICENSE", "docs", "README.md")
SIZES = {"DataType": "UINT8", "Sizes": [2, 2]}
MODEL = {
    "resources": {
        "x": {"initialValuesDataType": "UINT8", "initialValues": [0, 15, 165, 255]},
        "y": {"initialValuesDataType": "UINT8", "initialValues": {"valueCount": 4, "value": 0}},
    },
    "dispatchables": {
        "not": {"type": "DML_OPERATOR_ELEMENT_WISE_BIT_NOT", "desc": {"InputTensor": SIZES, "OutputTensor": SIZES}}
    },
    "commands": [
        {"type": "dispatch", "dispatchable": "not", "bindings": {"InputTensor": "x", "OutputTensor": "y"}},
        {"type": "print", "resource": "y"},
    ],
}


def expect(actual: object, expected: object) -> None:
    if actual != expected:
        raise ValueError(f"is {actual!r}, expected {expected!r}")


def main(compiler: str, folder: Path) -> None:
    changes_check.changed_copy(pages.ROOT / "docs/adding-an-operator.md", folder, PARTS)
    build = folder / "build"
    subprocess.run(["cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
                    "-DCMAKE_BUILD_TYPE=Release", "-DDMLREF_TARGETS=scalar", "-DDMLREF_BUILD_BENCH=OFF"], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "dmlref-command", "replay_operator"], check=True)

    model = folder / "bit_not.json"

    def dmlref(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([build / "tools/dmlref", *words], capture_output=True, text=True)

    model.write_text(json.dumps(MODEL), encoding="utf-8")
    expect(dmlref("run", str(model)).stdout, "Resource 'y': 255, 240, 90, 0\n")
    expect(dmlref("validate", str(model), "--feature-level", "3_0").returncode, 0)
    refused = dmlref("validate", str(model), "--feature-level", "2_1")
    expect((refused.returncode, "[operator_level]" in refused.stdout + refused.stderr), (1, True))
    unexplained = dmlref("explain", str(model), "--element", "0,1")
    expect("ELEMENT_WISE_BIT_NOT: has no explanation yet" in unexplained.stderr, True)
    MODEL["dispatchables"]["not"]["desc"]["OutputTensor"] = {"DataType": "UINT8", "Sizes": [2, 3]}
    model.write_text(json.dumps(MODEL), encoding="utf-8")
    broken = dmlref("validate", str(model))
    expect("[bit_not_output_size]" in broken.stdout + broken.stderr, True)
    schema = json.loads(dmlref("info", "--schema").stdout)
    (row,) = (operator for operator in schema["operators"] if operator["name"] == "ELEMENT_WISE_BIT_NOT")
    expect([field["name"] for field in row["fields"]], ["InputTensor", "OutputTensor"])

    # The target chooses an operator by its first number: each of them and two unknown ones, with other bytes at random.
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    source = random.Random(seed)
    inputs = folder / "inputs"
    inputs.mkdir()
    for number in range(512):
        (inputs / str(number)).write_bytes(bytes([number % 8]) + source.randbytes(400))
    subprocess.run([build / "tests/fuzz/replay_operator", inputs], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except (ValueError, subprocess.CalledProcessError) as fault:
        sys.exit(f"new_operator_test: {fault}")
