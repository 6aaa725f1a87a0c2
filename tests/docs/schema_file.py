"""schema_file.py: what `dmlref info --schema` prints, and what is made of it:

  docs/schema.json                  the print itself
  docs/playground/src/schema.js     the fields of operators, for the page
  tools/kit/files/schema.json       in the JSON schema of models: the definitions of operators

  schema_file.py --command DMLREF --check    fails where a file is stale
  schema_file.py --command DMLREF --write    makes them anew
"""

import argparse
import json
import subprocess
import sys

import pages

FILE = pages.ROOT / "docs/schema.json"
PAGE = pages.ROOT / "docs/playground/src/schema.js"
MODELS = pages.ROOT / "tools/kit/files/schema.json"

MODEL_TYPES = {"input": {"$ref": "#/$defs/tensor"}, "output": {"$ref": "#/$defs/tensor"}, "count": {"$ref": "#/$defs/uint"},
               "uint": {"$ref": "#/$defs/uint"}, "bool": {"type": "boolean"}, "float": {"$ref": "#/$defs/value"},
               "uints": {"$ref": "#/$defs/uints"}, "ints": {"$ref": "#/$defs/ints"},
               "activation": {"$ref": "#/$defs/activation"}}
WIDTH = 120


def page_text(schema: dict) -> str:
    lines = ["// schema.js: made by tests/docs/schema_file.py from docs/schema.json, whose kinds these are.", "",
             "/** The fields of each operator in the order of Microsoft's struct: name, kind, whether it may be absent. */",
             "export const operatorFields = {"]
    for operator in schema["operators"]:
        lines.append(f"  {operator['name']}: [")
        for field in operator["fields"]:
            absent = ", true" if field.get("optional") else ""
            lines.append(f"    ['{field['name']}', '{field['kind']}'{absent}],")
        lines.append("  ],")
    lines += ["};", "", "/** Bytes of an element. */", "export const bytesOf = {"]
    lines += [f"  {row['name']}: {row['bytes']}," for row in schema["data_types"]]
    return "\n".join([*lines, "};", ""])


def text_of(value: object, indent: int, before: int) -> str:
    """JSON on one line where that fits behind `before` characters; else a line per entry."""
    if isinstance(value, dict):
        flat = "{ " + ", ".join(f"{json.dumps(key)}: {text_of(item, 0, -9999)}" for key, item in value.items()) + " }"
    elif isinstance(value, list):
        flat = "[" + ", ".join(text_of(item, 0, -9999) for item in value) + "]"
    else:
        return json.dumps(value)
    if before + len(flat) < WIDTH and (before < 0 or not isinstance(value, dict) or len(value) < 3) or not value:
        return flat
    blanks = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f"{blanks}{json.dumps(key)}: {text_of(item, indent + 2, indent + 6 + len(key))}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    rows = [blanks + text_of(item, indent + 2, indent + 2) for item in value]
    return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"


def models_text(schema: dict) -> str:
    models = json.loads(MODELS.read_text(encoding="utf-8"))
    old = models["$defs"]
    names = [operator["name"] for operator in schema["operators"]]
    definitions = {}
    for operator in schema["operators"]:
        fields = operator["fields"]
        definitions[operator["name"]] = {
            "type": "object", "required": [field["name"] for field in fields if not field.get("optional")],
            "additionalProperties": False, "properties": {field["name"]: MODEL_TYPES[field["kind"]] for field in fields}}
    dispatchable = {**old["dispatchable"], "oneOf": [
        {"properties": {"type": {"pattern": f"^(DML_OPERATOR_)?{name}$"}, "desc": {"$ref": f"#/$defs/{name}"}}}
        for name in names]}
    models["$defs"] = {}
    for name, definition in old.items():
        if name == "dispatchable":
            models["$defs"].update(definitions)
            models["$defs"][name] = dispatchable
        elif not name.isupper():  # an operator of an earlier schema
            models["$defs"][name] = definition
    return text_of(models, 0, 0) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, metavar="DMLREF")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    printed = subprocess.run([arguments.command, "info", "--schema"], capture_output=True, text=True, check=True).stdout
    schema = json.loads(printed)
    for path, text in ((FILE, printed), (PAGE, page_text(schema)), (MODELS, models_text(schema))):
        if arguments.write:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.relative_to(pages.ROOT)} is stale: the target update_pages makes it anew")
    print("schema")


if __name__ == "__main__":
    main()
