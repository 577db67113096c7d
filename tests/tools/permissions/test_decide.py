"""Rules that hold for every call, whatever it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from perdure.tools.permissions.commands import effects_of
from perdure.tools.permissions.decide import Mode, Policy, judge
from perdure.tools.permissions.effects import Effect, Reach, Ruinous, Run, Serve, Touch, Unclear, Wish
from perdure.tools.permissions.paths import Ground
from perdure.tools.permissions.rules import Rule, parse_rules
from perdure.tools.permissions.shell import read_script

ROOT, HOME = Path("/h/p"), Path("/h")
GROUND = Ground(root=ROOT, roots=(ROOT,), home=HOME)
WORST = {"allow": 0, "ask": 1, "deny": 2}

WORDS = st.lists(
    st.sampled_from(["rm", "git", "push", "make", "ls", "-r", "-f", "--force", "A=1", "find", "-delete", "x"]),
    min_size=1,
    max_size=4,
).map(tuple)
PATHS = st.sampled_from(["/h/p/a", "/h/p/d/a", "/h/p/d/.env", "/h/x", "/etc/x"]).map(Path)
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(
        Touch,
        path=PATHS,
        way=st.sampled_from(["read", "write", "named"]),
        inside=st.booleans(),
        ward=st.sampled_from(["", "", "why"]),
        changes=st.booleans(),
    ),
    st.builds(Run, words=WORDS, quiet=st.booleans(), hazard=st.sampled_from(["", "", "why"])),
    st.builds(Unclear, why=st.just("why")),
    st.builds(Ruinous, why=st.just("why")),
    st.builds(Reach, host=st.sampled_from(["example.org", "a.example.org", "b.test"])),
    st.builds(Serve, server=st.sampled_from("ab"), tool=st.sampled_from("xy")),
)
WISHES = st.builds(Wish, name=st.sampled_from("nm"), effects=st.lists(EFFECTS, max_size=4).map(tuple))
RULES = st.sampled_from(
    parse_rules(
        ["bash", "bash(rm:*)", "bash(git push)", "bash(find . -delete)", "bash(make:*)", "read", "read(d/**)", "write",
         "write(a)", "write(/h/**)", "read(/etc/**)", "fetch", "fetch(*.example.org)", "mcp(a/x)", "mcp(b)"],
        "here",
    )
)  # fmt: skip
LISTS = st.lists(RULES, max_size=4).map(tuple)
POLICIES = st.builds(
    Policy,
    mode=st.sampled_from(get_args(Mode)),
    ground=st.just(GROUND),
    allow=LISTS,
    ask=LISTS,
    deny=LISTS,
    session=st.frozensets(st.sampled_from("nm")),
    stored=st.frozensets(st.sampled_from("nm")),
)


@given(WISHES, POLICIES, RULES)
def test_one_more_rule_that_denies_or_asks_never_lets_more_go(wish: Wish, policy: Policy, rule: Rule) -> None:
    before = WORST[judge(wish, policy).decision]

    denying = WORST[judge(wish, replace(policy, deny=(*policy.deny, rule))).decision]
    asking = WORST[judge(wish, replace(policy, ask=(*policy.ask, rule))).decision]

    assert denying >= before
    assert asking >= before


@given(WISHES, POLICIES, EFFECTS)
def test_one_more_effect_never_lets_a_call_go(wish: Wish, policy: Policy, effect: Effect) -> None:
    more = replace(wish, effects=(*wish.effects, effect))

    assert WORST[judge(more, policy).decision] >= WORST[judge(wish, policy).decision]


@given(WISHES, POLICIES)
def test_plan_mode_changes_nothing_whatever_is_allowed(wish: Wish, policy: Policy) -> None:
    changing = [
        effect
        for effect in wish.effects
        if (isinstance(effect, Run) and not effect.quiet)
        or (isinstance(effect, Touch) and (effect.way == "write" or effect.changes))
        or isinstance(effect, Unclear | Serve)
    ]

    verdict = judge(wish, replace(policy, mode="plan"))

    assert not changing or verdict.decision == "deny"


@given(WISHES, POLICIES)
def test_what_is_ruinous_goes_under_no_setting_and_a_ward_only_by_this_sessions_word(
    wish: Wish, policy: Policy
) -> None:
    verdict = judge(wish, policy)

    warded = any(isinstance(effect, Touch) and effect.ward for effect in wish.effects)
    if any(isinstance(effect, Ruinous) for effect in wish.effects):
        assert verdict.decision == "deny"
    elif warded and wish.name not in policy.session:
        assert verdict.decision != "allow"


@given(WISHES, POLICIES)
def test_a_question_always_has_a_reason_and_leaves_a_no(wish: Wish, policy: Policy) -> None:
    verdict = judge(wish, policy)

    assert verdict.decision != "ask" or (bool(verdict.why) and verdict.choices[0] == "once" and "no" in verdict.choices)


PIECES = st.lists(
    st.sampled_from(
        ["rm", "x", "$(", ")", "`", "'", '"', "<<E", "\n", "E", "{", "}", "((", "))", "[[", "]]", "-f", ";", "|", "&",
         ">", "<(", "$X", "${", "\\", "~", "*", "if", "then", "fi", "for", "do", "done", "case", "esac", "=", "env",
         "find", "-exec", "sudo", "sh", "-c", "\0", "\u202e", "\ud800"]
    ),
    max_size=25,
)  # fmt: skip


@given(PIECES)
def test_no_heap_of_shell_words_makes_the_reading_raise(pieces: list[str]) -> None:
    text = " ".join(pieces)

    assert read_script(text) == read_script(text)
    assert effects_of(text, ROOT, GROUND) == effects_of(text, ROOT, GROUND)
