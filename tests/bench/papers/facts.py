"""The facts of the papers (NAME.json) and what is measured beside them (workloads.json), checked by paper.schema.json and workloads.schema.json."""

import glob
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SUITES = ROOT / "tests" / "bench" / "suites"
PAPERS = ["vortex", "mikpoly", "ftuner", "tscompiler", "dietcode"]  # in the order of the page
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KEYWORDS = {"$comment", "type", "properties", "required", "additionalProperties", "items", "enum", "pattern", "minItems", "minLength", "minimum"}


class BadFacts(Exception):
    pass


class Printed(float):
    """A figure that is shown as the paper prints it: 1.70 stays 1.70."""

    def __new__(cls, text):
        value = super().__new__(cls, text)
        value.text = text
        return value

    def __deepcopy__(self, _):
        return self


def has_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def validate(value, schema, place):
    """Raises BadFacts where `value` is not as `schema` says: the part of JSON Schema that KEYWORDS names, and nothing unknown."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        raise BadFacts(f"{place}: the schema has {', '.join(sorted(unknown))}, which nobody checks")
    names = schema.get("type")
    names = [names] if isinstance(names, str) else names
    if names and not any(has_type(value, name) for name in names):
        raise BadFacts(f"{place}: {json.dumps(value)} is no {' or '.join(names)}")
    if "enum" in schema and value not in schema["enum"]:
        raise BadFacts(f"{place}: {json.dumps(value)} is none of {', '.join(map(json.dumps, schema['enum']))}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            raise BadFacts(f"{place}: says nothing")
        if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
            raise BadFacts(f"{place}: {json.dumps(value)} does not match {schema['pattern']}")
    if has_type(value, "number") and value < schema.get("minimum", value):
        raise BadFacts(f"{place}: {value} is below {schema['minimum']}")
    if isinstance(value, dict):
        validate_object(value, schema, place)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise BadFacts(f"{place}: has {len(value)} items, not {schema['minItems']} or more")
        for index, item in enumerate(value):
            validate(item, schema.get("items", {}), f"{place}[{index}]")


def validate_object(value, schema, place):
    known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name in schema.get("required", []):
        if name not in value:
            raise BadFacts(f"{place}: has no {name}")
    for name, item in value.items():
        if name not in known and other is False:
            raise BadFacts(f"{place}: {name} is unknown; there are {', '.join(known)}")
        validate(item, known.get(name, other), f"{place}.{name}")


def read(name):
    path = HERE / f"{name}.json"
    try:
        return json.loads(path.read_text(), parse_float=Printed)
    except (OSError, ValueError) as error:
        raise BadFacts(f"{path}: {error}") from error


def places_of(pattern):
    """The files and folders of the source that a pattern names: `**` stands for any folders, also none."""
    return sorted(str(pathlib.Path(found).relative_to(ROOT)) for found in glob.glob(str(ROOT / pattern), recursive=True))


def suite_files(workload):
    """The suites of a workload that are there. Only a pattern may find none."""
    files = []
    for name in workload.get("suites", []):
        found = sorted(SUITES.glob(name))
        if not found and not set(name) & set("*?["):
            raise BadFacts(f"workloads.json: there is no suite {name}")
        files += [path for path in found if path not in files]
    return files


def check_unique(ids, place):
    double = sorted({name for name in ids if ids.count(name) > 1})
    if double:
        raise BadFacts(f"{place}: {', '.join(double)} stands there more than once")


def check_workloads(data):
    settings, workloads = data["settings"], data["workloads"]
    for part in ("build", "models"):
        check_unique([item["id"] for item in data[part]], f"workloads.json: {part}")
        for item in data[part]:
            if part == "build" and ("model" in item) == ("text" in item):
                raise BadFacts(f"workloads.json: build {item['id']}: has either a model or text")
            if "model" in item and not (ROOT / "examples" / "models" / item["model"]).exists():
                raise BadFacts(f"workloads.json: {part} {item['id']}: there is no examples/models/{item['model']}")
            for setting in item["settings"]:
                if setting not in settings:
                    raise BadFacts(f"workloads.json: {part} {item['id']}: there is no setting {setting}")
    for name, setting in settings.items():
        if (setting["device"] == "cpu") == ("gpu" in setting):
            raise BadFacts(f"workloads.json: setting {name}: a device 'cuda' has a gpu, and 'cpu' has none")
    for name, workload in workloads.items():
        place = f"workloads.json: workload {name}"
        if ("suites" in workload) == ("types" in workload):
            raise BadFacts(f"{place}: has either suites or types")
        if "types" in workload and not {"op", "dim", "values", "flops"} <= set(workload):
            raise BadFacts(f"{place}: types go with op, dim, values and flops")
        suite_files(workload)
        for setting in workload["settings"] + workload.get("counters", []):
            if setting not in settings:
                raise BadFacts(f"{place}: there is no setting {setting}")
        for setting in workload.get("counters", []):
            if settings[setting]["device"] == "cpu":
                raise BadFacts(f"{place}: the emulator counts for GPUs, not for {setting}")


def check_paper(name, paper, data):
    workloads, models = data["workloads"], [item["id"] for item in data["models"]]
    if paper["policy"] != name:
        raise BadFacts(f"{name}.json: its policy is {paper['policy']}")
    for part in ("claims", "tables", "readings", "method"):
        check_unique([item["id"] for item in paper[part]], f"{name}.json: {part}")
    readings = {item["id"] for item in paper["readings"]}
    for item in paper["claims"] + paper["tables"]:
        if "reading" in item and item["reading"] not in readings:
            raise BadFacts(f"{name}.json: {item['id']}: there is no reading {item['reading']}")
    for table in paper["tables"]:
        for row in table["rows"]:
            if len(row) != len(table["columns"]):
                raise BadFacts(f"{name}.json: table {table['id']}: {row} has {len(row)} cells, not {len(table['columns'])}")
        for workload in table["workloads"]:
            if workload not in workloads:
                raise BadFacts(f"{name}.json: table {table['id']}: there is no workload {workload}")
        for model in table.get("models", []):
            if model not in models:
                raise BadFacts(f"{name}.json: table {table['id']}: there is no model {model}")
    for element in paper["method"]:
        place = f"{name}.json: method {element['id']}"
        if (element["status"] == "as in the paper") == ("departure" in element):
            raise BadFacts(f"{place}: a departure is there where the status is not 'as in the paper', and only there")
        if ("departure" in element) != ("reason" in element):
            raise BadFacts(f"{place}: a departure has a reason")
        if element["status"] != "absent" and not element["dyn"]:
            raise BadFacts(f"{place}: where dyn has it is missing")
        for pattern in element["dyn"]:
            if not places_of(pattern):
                raise BadFacts(f"{place}: there is no {pattern}")


def expand_patterns(papers, data):
    """A workload whose suites are a pattern becomes one for each suite that is there, under the suite's name."""
    expanded, names = {}, {}
    for name, workload in data["workloads"].items():
        files = suite_files(workload)
        is_pattern = any(set(suite) & set("*?[") for suite in workload.get("suites", []))
        if not is_pattern or not files:
            expanded[name], names[name] = workload, [name]
            continue
        for path in files:
            expanded[path.stem] = workload | {"title": f"{workload['title']}: {path.stem}", "suites": [path.name]}
        names[name] = [path.stem for path in files]
    data["workloads"] = expanded
    for paper in papers.values():
        for table in paper["tables"]:
            table["workloads"] = [new for name in table["workloads"] for new in names[name]]


def load():
    """(papers by name, workloads.json), checked; patterns of suites expanded."""
    data = read("workloads")
    validate(data, read("workloads.schema"), "workloads.json")
    check_workloads(data)
    schema = read("paper.schema")
    papers = {}
    for name in PAPERS:
        papers[name] = read(name)
        validate(papers[name], schema, f"{name}.json")
        check_paper(name, papers[name], data)
    expand_patterns(papers, data)
    return papers, data
