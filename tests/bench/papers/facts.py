"""The facts of the papers (NAME.json), what is measured beside them (workloads.json) and why dyn's rules missed programs (rules.json), checked by paper.schema.json,
workloads.schema.json and rules.schema.json."""

import glob
import json
import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import paper_models  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SUITES = ROOT / "tests" / "bench" / "suites"
EXAMPLES = ROOT / "examples" / "models"
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


def suite_path(workload):
    return SUITES / workload["suite"]


def written_models():
    """Names of the models that paper_models.py writes."""
    with tempfile.TemporaryDirectory() as folder:
        paper_models.write_all(pathlib.Path(folder))
        return {path.name for path in pathlib.Path(folder).iterdir()}


def check_unique(ids, place):
    double = sorted({name for name in ids if ids.count(name) > 1})
    if double:
        raise BadFacts(f"{place}: {', '.join(double)} stands there more than once")


def check_settings(names, data, place):
    for name in names:
        if name not in data["settings"]:
            raise BadFacts(f"{place}: there is no setting {name}")


def check_models(data):
    examples = {path.name for path in EXAMPLES.glob("*.dyn")}
    known = examples | written_models()
    for part in ("build", "models"):
        check_unique([item["id"] for item in data[part]], f"workloads.json: {part}")
        for item in data[part]:
            place = f"workloads.json: {part} {item['id']}"
            if part == "build" and ("model" in item) == ("text" in item):
                raise BadFacts(f"{place}: has either a model or text")
            if "model" in item and item["model"] not in (known if part == "models" else examples):
                raise BadFacts(f"{place}: there is no examples/models/{item['model']}, and tests/bench/paper_models.py writes none of this name")
            check_settings(item["settings"], data, place)


def check_workloads(data):
    check_models(data)
    for name, setting in data["settings"].items():
        if (setting["device"] == "cpu") == ("gpu" in setting):
            raise BadFacts(f"workloads.json: setting {name}: a device 'cuda' has a gpu, and 'cpu' has none")
    for name, workload in data["workloads"].items():
        place = f"workloads.json: workload {name}"
        if ("suite" in workload) == ("types" in workload):
            raise BadFacts(f"{place}: has either a suite or types")
        if "types" in workload and not {"op", "dim", "values", "flops"} <= set(workload):
            raise BadFacts(f"{place}: types go with op, dim, values and flops")
        if "suite" in workload and not suite_path(workload).exists():
            raise BadFacts(f"{place}: there is no suite {workload['suite']}")
        check_settings(workload["settings"] + workload.get("counters", []), data, place)
        if ("counters" in workload) != ("counted" in workload) or ("counters" in workload and "suite" not in workload):
            raise BadFacts(f"{place}: counters and counted go together, with a suite")
        for setting in workload.get("counters", []):
            if data["settings"][setting]["device"] == "cpu":
                raise BadFacts(f"{place}: the emulator counts for GPUs, not for {setting}")


def check_suites(papers, data):
    """Each suite of a paper is a workload of that paper's tables, and no other paper's."""
    of_tables = {name: {workload for table in paper["tables"] for workload in table["workloads"]} for name, paper in papers.items()}
    for path in sorted((SUITES / "papers").glob("*.txt")):
        paper = path.stem.split("-")[0]
        found = [name for name, workload in data["workloads"].items() if workload.get("suite") == f"papers/{path.name}"]
        if len(found) != 1:
            raise BadFacts(f"workloads.json: {len(found)} workloads have the suite papers/{path.name}, not one")
        if found[0] not in of_tables[paper]:
            raise BadFacts(f"{paper}.json: no table has the workload {found[0]}, a suite of this paper")
    for name, paper in papers.items():
        for workload in of_tables[name]:
            owner = workload.split("-")[0]
            if owner in papers and owner != name:
                raise BadFacts(f"{name}.json: the workload {workload} is {owner}'s")


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
        for workload in table["workloads"] + table.get("cases", []):
            if workload not in workloads:
                raise BadFacts(f"{name}.json: table {table['id']}: there is no workload {workload}")
        for model in table.get("models", []):
            if model not in models:
                raise BadFacts(f"{name}.json: table {table['id']}: there is no model {model}")
    if "variants" in paper:
        if paper["variants"]["workload"] not in workloads:
            raise BadFacts(f"{name}.json: variants: there is no workload {paper['variants']['workload']}")
        check_settings(paper["variants"]["settings"], data, f"{name}.json: variants")
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


def load():
    """(papers by name, workloads.json), checked."""
    data = read("workloads")
    validate(data, read("workloads.schema"), "workloads.json")
    check_workloads(data)
    schema = read("paper.schema")
    papers = {}
    for name in PAPERS:
        papers[name] = read(name)
        validate(papers[name], schema, f"{name}.json")
        check_paper(name, papers[name], data)
    check_suites(papers, data)
    return papers, data


def check_rules(rules, data):
    for index, rule in enumerate(rules):
        place = f"rules.json[{index}]"
        check_settings(rule["match"]["settings"], data, place)
        try:
            re.compile(rule["match"]["problem"])
        except re.error as error:
            raise BadFacts(f"{place}: {rule['match']['problem']} is no regular expression: {error}") from error


def load_rules(data):
    """The entries of rules.json, checked. `data`: workloads.json."""
    rules = read("rules")
    validate(rules, read("rules.schema"), "rules.json")
    check_rules(rules, data)
    return rules
