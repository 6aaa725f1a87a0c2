"""schema_file.py: docs/schema.json is what `dmlref info --schema` prints.

  schema_file.py --command DMLREF --check    fails where the file is stale
  schema_file.py --command DMLREF --write    makes it anew
"""

import argparse
import subprocess
import sys

import pages

FILE = pages.ROOT / "docs/schema.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, metavar="DMLREF")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    fresh = subprocess.run([arguments.command, "info", "--schema"], capture_output=True, text=True, check=True).stdout
    if arguments.write:
        FILE.write_text(fresh, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != fresh:
        sys.exit("docs/schema.json is stale: the target update_pages makes it anew")
    print("schema")


if __name__ == "__main__":
    main()
