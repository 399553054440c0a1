"""Stage: suites x runners x arms -> plan. Its order, case by case and runner by runner, is that of all reports."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.arm_cases import arms_of_case, case_in_arm
from skillgym_action.model.dependencies import dependency_groups
from skillgym_action.model.errors import Location, Problem, UsageError, suggestion
from skillgym_action.model.execution import Execution, Plan, PlanContents, Unrunnable
from skillgym_action.model.limits import MAX_LISTED_NAMES
from skillgym_action.model.shard_plan import key_of
from skillgym_action.model.suite import BenchmarkCase, Invalid
from skillgym_action.results.run_directory import suite_folders
from skillgym_action.settings.runners import NO_MODEL, needs_model, no_runner, unknown_runner
from skillgym_action.system.files.globs import is_pattern, matches
from skillgym_action.text.escaping import folder_names, path_key
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.arm import Arm
    from skillgym_action.model.execution import Key
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.settings.slices import PlanOptions


NO_SUITE = Problem(
    message="no suite was found", remedy="name a suite file or its folder, or run `skillgym-action init`"
)


def plan(suites: tuple[BenchmarkSuite, ...], runners: tuple[Runner, ...], options: PlanOptions) -> Plan:
    """Every selected case on every selected runner; invalid cases and suites once. A shard gets every N-th entry.

    With a stored plan, which says what a shard gets, it is the plan of all shards.

    Raises UsageError if no runner is configured, or a selector matches none.
    """
    if options.adapt:
        suites = options.adapt(suites)
    check_runner_selectors(suites, runners, options)
    if not runners and any(suite.cases and not _runners(suite, runners, options) for suite in suites):
        raise no_runner()
    numbers, positions = count(), count()  # positions: the arms of a case on a runner have the same
    executions = list[Execution]()
    unrunnable = list[Unrunnable]()
    used: dict[str, Runner] = {}
    names: list[tuple[Key, int | None]] = []  # of all shards
    folders = suite_folders(suite.name for suite in suites)
    shard, shards = (1, 1) if options.of_shards.stored else options.shard
    for suite in suites:
        own = _runners(suite, runners, options)
        used |= {runner.id: runner for runner in own if not runner.problem and runner.id not in used}
        for invalid in (*suite.invalid, *(Invalid(problem=runner.problem) for runner in own if runner.problem)):
            entry = Unrunnable(index=next(numbers), suite=suite, invalid=invalid)
            position = next(positions)
            if _selected(invalid.case_id or "*", (), options):
                names.append(((suite.path, invalid.case_id or "*", "", None), None))
                unrunnable += [entry] if position % shards == shard - 1 else []
        first_position: dict[tuple[str, str], int] = {}  # of a group of cases on a runner
        position_of: dict[tuple[str, str], int] = {}
        groups = dependency_groups(suite.cases)
        of_cases = folder_names(case.id for case in suite.cases)
        for case, runner, arm in _of_arms(suite, _pairs(suite, own, options)):
            execution = _execution(next(numbers), (suite, case, runner, arm), (folders[suite.name], of_cases), options)
            names.append((key_of(execution), execution.repetitions))
            # Cases that depend on each other have to be in the same shard; and the arms of a case belong together.
            pair = case.id, runner.id
            number = position_of.get(pair)
            if number is None:
                number = position_of[pair] = next(positions)
            position = first_position.setdefault((groups[case.id], runner.id), number)
            if position % shards == shard - 1:
                executions.append(execution)
    nothing = nothing_selected(suites, options)
    if options.last_failed and not nothing and not next(numbers):
        raise _none_failed(options.last_failed)
    return Plan(
        suites=suites,
        runners=tuple(used.values()) if suites else runners,
        executions=tuple(executions),
        unrunnable=tuple(unrunnable),
        warnings=() if nothing else _warnings(suites, runners, tuple(used.values()), options),
        nothing_selected=nothing,
        all_shards=PlanContents.of(names) if options.shard[1] > 1 else None,
    )


def _warnings(
    suites: tuple[BenchmarkSuite, ...], runners: Iterable[Runner], used: Iterable[Runner], options: PlanOptions
) -> tuple[Problem, ...]:
    """The warnings about filters and runners. ``used``: the runners that cases are planned on."""
    used = tuple(used)
    by_options = (*filter_warnings(suites, options), *runner_warnings(suites, runners, options))
    configured = dict.fromkeys(chain.from_iterable(runner.warnings for runner in used))
    models = (
        Problem(message=f"{runner.id} uses a plan, and no model is set", remedy=NO_MODEL)
        for runner in used
        if needs_model(runner.agent) and not options.model
    )
    return (*by_options, *configured, *models, *agent_warnings(suites, used))


def _none_failed(last: frozenset[tuple[str, str, str]]) -> UsageError:
    number = counted(len(last), "execution")
    return UsageError(
        f"--last-failed: the last run has {number} to run again, and none is selected now",
        remedy="name the same paths, cases and runners, or leave --last-failed out",
    )


def filter_warnings(suites: Iterable[BenchmarkSuite], options: PlanOptions) -> tuple[Problem, ...]:
    """A warning for each word of ``--case``, ``--match`` and ``--tag`` that matches no case of any suite."""
    if not _filters(options):
        return ()
    ids, tags, cases = _ids_and_tags(suites)
    if not cases:
        return ()
    unmatched = [
        *(("--case", word, ids) for word in options.cases if not _any_matches(ids, word)),
        *(("--tag", word, tags) for word in options.tags if not _any_matches(tags, word)),
    ]
    if options.match and not any(map(options.match.matches, ids)):
        unmatched.append(("--match", options.match.text, ids))
    return tuple(
        Problem(message=_without_match(option, word, cases), remedy=_nearest(word, known))
        for option, word, known in unmatched
    )


def runner_warnings(
    suites: Iterable[BenchmarkSuite], runners: Iterable[Runner], options: PlanOptions
) -> tuple[Problem, ...]:
    """A warning for each list ``runners`` of cases that fits no configured runner: these cases are not run."""
    if options.only is not None:
        return ()
    configured = dict.fromkeys((*options.configured, *(runner.id for runner in runners)))
    found: dict[tuple[str, tuple[str, ...]], Problem] = {}
    for suite in suites:
        known = configured | dict.fromkeys(runner.id for runner in suite.runners)
        for case in suite.cases:
            key = (suite.path, case.runners)
            if (
                known
                and case.runners
                and key not in found
                and not any(_matches_any(id_, case.runners) for id_ in known)
            ):
                message = f"{case.id} is not run: no runner matches its runners {', '.join(case.runners)}"
                remedy = _nearest(case.runners[0], known)
                found[key] = Problem(message=message, location=case.location, remedy=remedy)
    return tuple(found.values())


def agent_warnings(suites: Iterable[BenchmarkSuite], runners: Iterable[Runner]) -> Iterator[Problem]:
    """A warning for each suite and agent that cannot do what cases ask for: load a plugin, limit tools."""
    types = dict.fromkeys(runner.agent.type for runner in runners if not AGENTS[runner.agent.type].replays)
    for suite in suites:
        specs = [case.workspace or suite.workspace for case in suite.cases]
        plugins = dict.fromkeys(one.name for spec in specs for one in spec.skills if one.packaging == "plugin")
        limited = [case for case in suite.cases if case.agent and not case.agent.is_plain]
        for agent in types:
            if plugins and not AGENTS[agent].plugins:
                yield Problem(
                    message=f"{agent} loads no plugins: it gets the skills of {', '.join(plugins)} and nothing else",
                    location=Location(path=suite.path),
                    remedy="run it on claude-code to test commands, agents and hooks, too",
                )
            if limited and not AGENTS[agent].limits_tools:
                yield Problem(
                    message=(
                        f"{agent} limits no tools and takes no addition to its system prompt: "
                        f"these settings of {counted(len(limited), 'case')} have no effect"
                    ),
                    location=limited[0].location,
                    remedy="run them on claude-code",
                )


def nothing_selected(suites: Iterable[BenchmarkSuite], options: PlanOptions) -> Problem | None:
    """That there is no suite, or why the filters of cases leave none and no invalid suite; None: they leave some."""
    suites = tuple(suites)
    if not suites:
        return NO_SUITE
    if not _filters(options) or any(_leaves(suite, options) for suite in suites):
        return None
    if not (cases := _ids_and_tags(suites)[2]):
        return None
    if warnings := filter_warnings(suites, options):
        return warnings[0] if len(warnings) == 1 else Problem(message="; ".join(map(str, warnings)))
    return Problem(message=f"the combination of {' '.join(_filters(options))} {_matches_none(cases)}")


def _filters(options: PlanOptions) -> list[str]:
    """The filters of cases as the user wrote them."""
    words = [f"--case {word}" for word in options.cases]
    words += [f"--match '{options.match.text}'"] if options.match else []
    return words + [f"--tag {word}" for word in options.tags]


def _leaves(suite: BenchmarkSuite, options: PlanOptions) -> bool:
    return any(_selected(invalid.case_id or "*", (), options) for invalid in suite.invalid) or any(
        _selected(case.id, case.tags, options) for case in suite.cases
    )


def _ids_and_tags(suites: Iterable[BenchmarkSuite]) -> tuple[dict[str, None], dict[str, None], int]:
    """All ids, all tags, and the number of cases, those that are invalid included."""
    ids: dict[str, None] = {}
    tags: dict[str, None] = {}
    cases = 0
    for suite in suites:
        own = [*(case.id for case in suite.cases), *(one.case_id for one in suite.invalid if one.case_id)]
        ids |= dict.fromkeys(own)
        tags |= dict.fromkeys(tag for case in suite.cases for tag in case.tags)
        cases += len(own)
    return ids, tags, cases


def _any_matches(names: Iterable[str], pattern: str) -> bool:
    return any(_matches_any(name, (pattern,)) for name in names)


def _without_match(option: str, word: str, cases: int) -> str:
    """The message for a word of a filter: only a name can be unknown, a pattern or an expression matches nothing."""
    if option == "--match" or is_pattern(word):
        return f"{option} {word!r} {_matches_none(cases)}"
    return f"unknown {option.removeprefix('--')} {word!r}"


def _matches_none(cases: int) -> str:
    return "does not match the only case" if cases == 1 else f"matches none of the {cases:,} cases"


def _nearest(word: str, known: Iterable[str]) -> str:
    """The known name that is most like the word; else the first few of all."""
    names = tuple(known)
    if remedy := suggestion(word, names):
        return remedy
    rest = len(names) - MAX_LISTED_NAMES
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"known: {', '.join(names[:MAX_LISTED_NAMES])}{more}" if names else "no case has a tag"


def check_runner_selectors(suites: Iterable[BenchmarkSuite], runners: Iterable[Runner], options: PlanOptions) -> None:
    """Raises UsageError for a selector that matches none of the runners, of those of suites, and of their others."""
    suites = tuple(suites)
    ids = dict.fromkeys(runner.id for runner in (*runners, *(one for suite in suites for one in suite.runners)))
    others = dict.fromkeys(runner.id for suite in suites for runner in suite.other_runners)
    for selector in options.runners:
        if selector not in others and not any(_matches_any(name, (selector,)) for name in ids):
            raise unknown_runner(selector, dict.fromkeys((*options.configured, *ids, *others)))


def with_selected_runners(
    suites: Iterable[BenchmarkSuite], runners: tuple[Runner, ...], options: PlanOptions
) -> tuple[BenchmarkSuite, ...]:
    """The suites with those of their own runners that are selected: problems of the others do not matter."""
    of_run = set(map(id, runners))
    return tuple(
        replace(suite, runners=tuple(one for one in _runners(suite, runners, options) if id(one) not in of_run))
        for suite in suites
    )


def _runners(suite: BenchmarkSuite, runners: tuple[Runner, ...], options: PlanOptions) -> tuple[Runner, ...]:
    """The runners of a suite: its own ones that are selected; if there are none, the selected ones of the run.

    Its other runners are selected by their names only, not by patterns; a configured runner of that name comes first.
    """
    ids = {runner.id for runner in suite.runners}
    if options.only is not None:
        return tuple(runner for runner in runners if not ids or runner.id in ids)
    own = tuple(runner for runner in suite.runners if not options.runners or _matches_any(runner.id, options.runners))
    named = set(options.runners).difference(options.configured)
    others = tuple(runner for runner in suite.other_runners if runner.id in named)
    return (*(own or (runner for runner in runners if not any(runner.id == other.id for other in others))), *others)


def _pairs(
    suite: BenchmarkSuite, runners: tuple[Runner, ...], options: PlanOptions
) -> Iterator[tuple[BenchmarkCase, Runner]]:
    fit = [runner for runner in runners if not runner.problem]
    for case in suite.cases:
        if _selected(case.id, case.tags, options) and (options.only is None or (suite.path, case.id) in options.only):
            for runner in fit:
                fits = not case.runners or _matches_any(runner.id, case.runners)
                if fits and _has_failed(suite.path, case.id, runner.id, options.last_failed):
                    yield case, runner


def _of_arms(
    suite: BenchmarkSuite, pairs: Iterable[tuple[BenchmarkCase, Runner]]
) -> Iterator[tuple[BenchmarkCase, Runner, Arm | None]]:
    """Each pair in each of the arms that the case has, one right after the other; without arms, each pair once."""
    for case, runner in pairs:
        if suite.arms:
            yield from ((case, runner, arm) for arm in arms_of_case(suite, case))
        else:
            yield case, runner, None


def _has_failed(suite: str, case_id: str, runner: str, last: frozenset[tuple[str, str, str]] | None) -> bool:
    """Whether an execution is one of the ``last`` failed; those of an invalid case or suite have ``*`` for the rest."""
    return last is None or not last.isdisjoint(((suite, case_id, runner), (suite, case_id, "*"), (suite, "*", "*")))


def _selected(case_id: str, tags: tuple[str, ...], options: PlanOptions) -> bool:
    """Whether the filters select a case; one of several tags is enough. "*": an invalid suite, always selected."""
    if options.cases and case_id != "*" and not _matches_any(case_id, options.cases):
        return False
    if options.match and case_id != "*" and not options.match.matches(case_id):
        return False
    return not options.tags or any(_matches_any(tag, options.tags) for tag in tags) or case_id == "*"


def _matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns matches the name. A name with ``[`` in it matches itself, too."""
    return any(name == pattern or matches(name, pattern) for pattern in patterns)


def _execution(
    index: int,
    of: tuple[BenchmarkSuite, BenchmarkCase, Runner, Arm | None],
    folders: tuple[str, Mapping[str, str]],
    options: PlanOptions,
) -> Execution:
    """``folders``: that of the suite, and those of its cases by id."""
    suite, case, runner, arm = of
    of_suite, of_cases = folders
    # The arm is part of the case's segment: a runner without recordings of its own gets those of the same arm only.
    of_case = path_key(f"{case.id}\0{arm.name}") if arm else of_cases[case.id]
    return Execution(
        index=index,
        suite=suite,
        case=case_in_arm(case, arm) if arm else case,
        runner=runner,
        directory=f"{of_suite}/{of_case}/{runner.path_key}",
        timeout=(
            options.timeout or case.timeout or runner.agent.timeout or suite.default_timeout or options.default_timeout
        ),
        budget=case.budget if case.budget is not None else runner.agent.budget,
        model=options.model or case.model or runner.agent.model,
        limits=options.limits.tightest((case.workspace or suite.workspace).limits) or None,
        repetitions=options.repetitions.get(
            (suite.path, case.id, runner.id), None if options.repeated else case.repetitions
        ),
        arm=arm,
    )
