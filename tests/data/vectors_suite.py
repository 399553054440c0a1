"""Makes a case of each vector in assertion-vectors.json; vectors-suite.ts is the same in TypeScript."""

import json
import re
from functools import reduce
from pathlib import Path

from skillgym_action import Case, command_matcher, expect

VECTORS = json.loads(Path(__file__).with_name("assertion-vectors.json").read_text(encoding="utf-8"))["vectors"]
FLAGS = {"i": re.IGNORECASE}


def snake(name):
    return name if name.startswith("-") else re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def value(told):
    match told:
        case list():
            return [value(each) for each in told]
        case dict():
            return next((made(told) for name, made in MADE.items() if name in told), None) or plain(told)
    return told


def plain(told):
    return {snake(name): value(each) for name, each in told.get("plain", told).items()}


def regex(told):
    return re.compile(told["regex"], FLAGS.get(told.get("flags"), 0))


def matcher(told):
    built = command_matcher(value(told["matcher"]))
    return reduce(lambda one, step: getattr(one, snake(step[0]))(*value(step[1:])), told["then"], built)


def tool_call(told):
    ((name, wanted),) = told["where"].items()

    def where(args, event):
        return args is not None and args.get(name) == wanted

    return ({"tool": value(told["tool"])} if "tool" in told else {}) | {"where": where}


def raises(told):
    def where(args, event):
        raise ValueError("raised by where")

    return {"where": where}


def returns(told):
    def question(context):
        return told["returns"]

    return question


def tells(context):
    assert context.report.events is not None
    one, other = (json.dumps(each, separators=(",", ":")) for each in (context.expected, context.actual))
    return f"expected {one}, actual {other}, observed {len(context.observed)}"


MADE = {
    "regex": regex,
    "matcher": matcher,
    "raises": raises,
    "returns": returns,
    "tells": lambda _: tells,
    "where": tool_call,
}


def perform(step, report):
    if "classify" in step:
        with expect.classify(step["classify"]):
            for each in step["calls"]:
                perform(each, report)
        return
    given = value(step.get("with", []))
    if step["call"] == "crash":
        raise TypeError(given[0])
    names = [snake(name) for name in step["call"].split(".")]
    is_grouped = len([name for name in names if name != "soft"]) > 1
    method = reduce(getattr, names, expect)
    method(*([report] if is_grouped else []), *given, **value(step.get("options", {})))


def case(index, vector):
    def check(report, ctx):
        reads = {"call": "commands.notIncludes", "with": [{}]}
        for step in vector.get("calls", [reads if "reads" in vector else vector]):
            perform(step, report)

    return Case(str(index), prompt="p", check=check)


suite = [case(index, vector) for index, vector in enumerate(VECTORS)]
