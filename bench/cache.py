"""Microseconds of processor time to plan the marks of a request and to price it, in a session of thousands of messages.

`python bench/cache.py`. The cost must not grow with the length of the session.
"""

from time import process_time

from perdure.kernel.cache import EMPTY, Head, PrefixChain, plan_marks, price, rolling_mark
from perdure.kernel.messages import Message, Text, ToolResult, ToolUse
from perdure.kernel.models import lookup

HEAD = Head(
    profile=lookup("claude-opus-5-5"), system=(Text(text="You work on code. " * 500), Text(text="You lead. " * 500))
)
ROUNDS = 4_000
PART = 1_000


def round_of(number: int) -> tuple[Message, Message]:
    use = ToolUse(id=f"t{number}", name="read", input={"path": f"src/{number}.py"})
    result = ToolResult(tool_use_id=use.id, content=f"line of {number}\n" * 200)
    return (
        Message(id=f"a{number}", role="assistant", content=(Text(text="I read it."), use), provenance="assistant"),
        Message(id=f"r{number}", role="user", content=(result,), provenance="tool"),
    )


def main() -> None:
    rounds = [round_of(number) for number in range(ROUNDS)]
    chain, cache, previous = PrefixChain(HEAD), EMPTY, None
    for start in range(0, ROUNDS, PART):
        begun = process_time()
        for number in range(start, start + PART):
            chain = chain.then(rounds[number])
            marks = plan_marks(chain, (True, True), frontier=number, previous=previous)
            previous = rolling_mark(marks)
            _, cache = price(cache, chain, marks, 20.0 * number)
        each = (process_time() - begun) / PART
        print(f"requests {start + 1:5} to {start + PART:5}: {1e6 * each:6.0f} us each, {chain.messages:,} messages")


if __name__ == "__main__":
    main()
