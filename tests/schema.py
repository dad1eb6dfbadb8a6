#!/usr/bin/python3
"""Validates records against docs/records.schema.json.

schema.py [--torn] FILE...: every line of the files. Exit 1 and a line for each one that
is not as the schema says, or when there is no record at all. With --torn, lines that are
no JSON are what kill -9 left in the middle of a write: counted, no failure.
"""
import json
import os
import sys

import jsonschema

NO_JSON = "not JSON: "
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/records.schema.json")


def reject(word):
    raise ValueError(word + " is no JSON")


def complaints(validator, line):
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=reject)
    except ValueError as err:
        return ["%s%s" % (NO_JSON, err)]
    found = []
    for error in validator.iter_errors(record):
        at = ".".join(str(part) for part in error.absolute_path)
        found.append("%s: %s" % (at or "record", error.message[:300]))
    return found


def main(paths):
    torn_allowed = paths[:1] == ["--torn"]
    paths = paths[torn_allowed:]
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = bad = torn = 0
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                found = complaints(validator, line)
                if torn_allowed and found and found[0].startswith(NO_JSON):
                    torn += 1
                    continue
                for text in found[:5]:
                    print("%s:%d: %s" % (path, number, text))
                good, bad = good + (not found), bad + bool(found)
    print("%d records as docs/records.schema.json says, %d not%s" % (good, bad, ", %d torn" % torn if torn else ""))
    return 0 if good and not bad else 1


sys.exit(main(sys.argv[1:]))
