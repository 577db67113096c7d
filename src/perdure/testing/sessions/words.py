"""What people and models say in a generated session: requests, demands, plans, reports; in English and in Chinese.

It knows sentences. It must never know when they are said.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from perdure.kernel.value import value
from perdure.testing.sessions.session import StatementKind

Language: TypeAlias = Literal["english", "chinese"]


@value
class Demand:
    """A sentence with which a user demands something. `$value` stands for what has to be remembered."""

    kind: StatementKind
    topic: str
    english: str
    chinese: str
    values: tuple[str, ...]
    """What `$value` may be; `$path`, `$entity` and `$package` in it come from the project."""


DEMANDS: tuple[Demand, ...] = (
    Demand(
        kind="rule",
        topic="forbidden folder",
        english="Never edit anything under $value, another team owns it.",
        chinese="绝对不要修改 $value 下面的任何文件，那是别的团队负责的。",
        values=(
            "gateway/internal/$entity/",
            "db/migrations/",
            "services/$package/$entity/export.py",
            "config/$entity.yaml",
        ),
    ),
    Demand(
        kind="rule",
        topic="tests first",
        english="Run $value after every change, and don't tell me it works before it passes.",
        chinese="每次修改后都要运行 $value，通过之前不要说已经完成。",
        values=("make check-$entity", "pytest tests/unit/test_$entity.py", "pytest -m $entity tests/integration"),
    ),
    Demand(
        kind="rule",
        topic="dependencies",
        english="Do not add a new dependency; if you need one, ask me, except for $value which is approved.",
        chinese="不要新增依赖，需要的话先问我，只有 $value 已经批准。",
        values=("tidelock", "reedclock", "hazelmap", "plainmail"),
    ),
    Demand(
        kind="limit",
        topic="latency",
        english="No request may take longer than $value at the 99th percentile.",
        chinese="所有请求的 99 分位延迟不得超过 $value。",
        values=("180 ms", "240 ms", "320 ms", "450 ms"),
    ),
    Demand(
        kind="limit",
        topic="file size",
        english="Keep every module under $value lines, split it otherwise.",
        chinese="每个模块不要超过 $value 行，否则就拆分。",
        values=("250", "320", "400", "480"),
    ),
    Demand(
        kind="preference",
        topic="naming",
        english="I prefer the prefix $value for every new function in this module.",
        chinese="我希望这个模块里新函数都用 $value 作前缀。",
        values=("qm_", "plan_", "do_", "apply_"),
    ),
    Demand(
        kind="preference",
        topic="commits",
        english="Commit messages start with $value and stay under 60 characters.",
        chinese="提交信息以 $value 开头，并且不超过 60 个字符。",
        values=("[$entity]", "$package:", "core/$entity:", "svc:"),
    ),
    Demand(
        kind="value",
        topic="staging host",
        english="The staging database is $value, use that one for every check.",
        chinese="测试库的地址是 $value，所有检查都用它。",
        values=(
            "db-stage-3.internal:6543",
            "db-stage-7.internal:6545",
            "pg-blue.internal:5499",
            "pg-green.internal:5498",
        ),
    ),
    Demand(
        kind="value",
        topic="retry budget",
        english="The retry budget for the importer is $value attempts.",
        chinese="导入任务的重试次数定为 $value 次。",
        values=("4", "6", "9", "11"),
    ),
    Demand(
        kind="value",
        topic="ticket",
        english="All of this belongs to ticket $value, mention it in the changelog.",
        chinese="这些都属于工单 $value，请写进变更日志。",
        values=("HB-2291", "HB-3107", "OPS-884", "OPS-1312"),
    ),
    Demand(
        kind="value",
        topic="feature flag",
        english="Hide the new path behind the flag $value until Thursday.",
        chinese="新逻辑在周四之前放在开关 $value 后面。",
        values=("${entity}_v2", "new_${entity}_flow", "use_${entity}_ledger", "strict_${entity}"),
    ),
    Demand(
        kind="value",
        topic="rounding",
        english="Amounts are rounded to $value cents, always upwards.",
        chinese="金额一律向上取整到 $value 分。",
        values=("5", "10", "25", "50"),
    ),
)

CORRECTIONS: dict[Language, tuple[str, ...]] = {
    "english": (
        "Correction on the $topic: it is $value, not $old.",
        "I was wrong about the $topic, please use $value instead of $old from now on.",
        "Change of plan for the $topic: $value. Forget $old.",
    ),
    "chinese": (
        "更正一下 $topic：应该是 $value，不是 $old。",
        "关于 $topic 我改主意了，以后用 $value，不要再用 $old。",
    ),
}

WITHDRAWALS: dict[Language, tuple[str, ...]] = {
    "english": (
        "Drop what I said about the $topic, $old no longer applies.",
        "You can ignore the $topic from before ($old); it was decided otherwise.",
    ),
    "chinese": ("之前关于 $topic 的要求（$old）作废，不用管了。",),
}

TASKS: dict[Language, tuple[str, ...]] = {
    "english": (
        "Please $verb the $quality ${entities} in the nightly job; right now they pile up until somebody "
        "restarts the worker.",
        "The ${entity} page shows a wrong $field since the last release. Find out why and fix it properly, with "
        "a test.",
        "We need an export of every $quality $entity with its $field, as CSV, callable from the gateway.",
        "Move the $word handling out of the ${entity} service into its own module, behaviour must stay the same.",
        "Customers report that $quality ${entities} are charged twice. I pasted what I have below, please look "
        "into it.",
        "Add a $word to the ${entity} importer so that a broken file doesn't block the others.",
        "The tests of ${entity} have been flaky since Monday. Make them deterministic, and don't just raise timeouts.",
        "Review how the $field of a $entity travels from the gateway to the database and simplify it where you can.",
    ),
    "chinese": (
        "夜间任务里状态为 $quality 的 $entity 越积越多，请找出原因并修复，补上测试。",
        "$entity 页面上的 $field 显示不对，上次发布之后才出现的，请查清楚再改。",
        "需要一个导出功能，把所有 $quality 的 $entity 连同 $field 导成 CSV，由网关调用。",
        "把 $entity 服务里处理 $word 的代码拆成单独的模块，行为不能变。",
    ),
}

FOLLOW_UPS: dict[Language, tuple[str, ...]] = {
    "english": (
        "Good. Next, do the same for $entity and its $field.",
        "That is not what I meant: only the $quality ones, leave the others alone.",
        "Looks fine so far, but the $word still behaves oddly on $host. Check the logs again.",
        "ok continue",
        "Thanks. While you are there, also $verb the ${entities} that lost their $field.",
        "Wait, before you go on: why is $field kept twice? Explain, then remove one of them.",
    ),
    "chinese": (
        "好的，接下来对 $entity 的 $field 做同样的处理。",
        "我不是这个意思，只处理 $quality 的那些，其他的不要动。",
        "继续。顺便检查一下 $host 上的 $word 是否还有问题。",
    ),
}

THOUGHTS: tuple[str, ...] = (
    "So the $word is read once at start and never again. That explains why a restart helps for a while.",
    "I should not trust the comment here. It says that $quality ${entities} cannot reach this point, but $seen "
    "shows one.",
    "If I change the signature, the gateway and two tests have to follow. A second function beside it is less of "
    "a risk.",
    "The difference between the two runs is the order of $host and the $word, and nothing in the code promises "
    "an order.",
    "The $field may be empty for ${entities} from before the migration. Whatever I do has to hold for those as well.",
    "What would the user want here? A clear refusal, I think, since a silent default for $field would be charged for.",
    "That is the third place that compares $field by hand. One function in $path would do, but that is another change.",
    "I expected $seen to be gone by now. Either my change is not reached, or there is a second caller.",
    "The $field of a $entity is written in two places. If the $word runs between them, the second write wins and "
    "the code "
    "$seen appears. I should read both before I change anything.",
    "The output shows $seen. That is the same one as before, so the $word is not the cause. What is left is the "
    "order in "
    "which the $quality ${entities} are loaded.",
    "Two options: guard the $verb in the service, or let the database refuse it with a constraint. The second "
    "cannot be "
    "forgotten by a new caller, but it needs a migration, and the user may not want that. I'll start with the guard.",
    "Let me be careful here: the user asked about $quality ${entities} only. Changing $field for all of them "
    "would be wrong.",
    "The test expects the old $word. Before I touch the test I need to know whether the expectation or the code "
    "is right; "
    "$seen suggests that it is the code.",
    "I have enough to make the change in $path. It is small: the $field has to be compared after the $word, not "
    "before.",
)

NARRATIONS: dict[str, tuple[str, ...]] = {
    "survey": (
        "I'll start by looking at how ${entities} are organised.",
        "Let me find everything that touches $field.",
    ),
    "read": ("Reading $path.", "Now the files that decide about the $word.", "Let me read these together."),
    "search": ("Where else does $seen occur?", "Searching for $seen.", "Let me see who uses $seen."),
    "edit": (
        "Changing $path so that the $word is checked first.",
        "Here is the fix in $path.",
        "Now the same in $path.",
    ),
    "write": ("I'll put this into a file of its own: $path.",),
    "test": ("Running the tests.", "Let me check that this holds.", "Tests again, after the change."),
    "inspect": ("Let me look at what really happens, around $seen.", "Checking the state of the $quality ${entities}."),
    "build": ("Building the whole thing.", "A full build, to be sure."),
    "fetch": ("The documentation should say what the default is.",),
    "look": ("Let me look at the page itself.",),
}

REPORTS: dict[Language, tuple[str, ...]] = {
    "english": (
        "Done. The cause was the $word: a $quality $entity got its $field before the check in $path. I moved the "
        "check, added "
        "a test for it, and the suite passes. The code $seen does not appear any more.\n\nWhat I left alone: the "
        "export still "
        "reads $field directly. Say the word and I'll change that as well.",
        "The change is in $path. In short:\n\n- `$field` is compared after the $word\n- $quality ${entities} are "
        "skipped and "
        "counted\n- $seen is now logged with the request\n\nI have not touched the migrations.",
        "I found the reason, but I'd like a decision first. $seen comes from $path, where the $word is applied "
        "twice. Removing "
        "the first one changes what the gateway returns for $quality ${entities}. Shall I go ahead?",
    ),
    "chinese": (
        "已经完成。原因在于 $word 的处理顺序：$path 里先写了 $field，后做检查。我调整了顺序并补上了测试，$seen "
        "不再出现。\n\n"
        "没有改动迁移脚本；导出功能仍然直接读取 $field，需要的话我再改。",
        "改动在 $path。简单说：`$field` 在 $word 之后再比较，$quality 的 $entity 会跳过并计数，$seen 会写进日志。",
    ),
}
