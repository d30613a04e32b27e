# SPDX-License-Identifier: Apache-2.0
"""validate_schema.py SCHEMA FILE ...: tells of each JSON file whether it is valid, a line each, with jsonschema."""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        errors = list(validator.iter_errors(json.load(file)))
    print(name, "valid" if not errors else "invalid: " + errors[0].message[:200].replace("\n", " "))
