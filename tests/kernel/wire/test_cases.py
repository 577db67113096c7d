"""One table: neutral requests, and the exact bytes that each dialect makes of them.

A cell of None means that the dialect refuses the request, since it has no form for one of its parts.
"""

from dataclasses import dataclass

import pytest

from perdure.kernel.errors import UntranslatableBlock
from perdure.kernel.messages import (
    Block,
    Compaction,
    Document,
    Image,
    Message,
    Provenance,
    RedactedThinking,
    Request,
    Role,
    ServerToolUse,
    Text,
    Thinking,
    Tool,
    ToolReference,
    ToolResult,
    ToolUse,
    Unknown,
)
from perdure.kernel.wire import ANTHROPIC, CHAT, RESPONSES, Codec


@dataclass(frozen=True, kw_only=True)
class Case:
    """A request and its bodies."""

    name: str
    request: Request
    anthropic: bytes | None
    responses: bytes | None
    chat: bytes | None

    def body(self, codec: Codec) -> bytes | None:
        return {"anthropic": self.anthropic, "responses": self.responses, "chat": self.chat}[codec.dialect]


def said(role: Role, *blocks: Block, provenance: Provenance = "user", plain: bool = False) -> Message:
    return Message(id="m0", role=role, content=blocks, provenance=provenance, plain=plain)


def asking(*messages: Message) -> Request:
    return Request(model="m", messages=messages)


CALL = ToolUse(id="call_1", name="read", input={"path": "a.py"})
PICTURE = Image(source={"type": "base64", "media_type": "image/png", "data": "iVBORw0="})

CASES = [
    Case(
        name="bare text",
        request=asking(said("user", Text(text="hi"), plain=True)),
        anthropic=b'{"model":"m","messages":[{"role":"user","content":"hi"}]}',
        responses=b'{"model":"m","input":[{"type":"message","role":"user","content":"hi"}]}',
        chat=b'{"model":"m","messages":[{"role":"user","content":"hi"}]}',
    ),
    Case(
        name="text in a block",
        request=asking(said("user", Text(text='你好 \u2028 "quoted" \\ \x7f'))),
        anthropic=(
            '{"model":"m","messages":[{"role":"user","content":'
            '[{"type":"text","text":"你好 \u2028 \\"quoted\\" \\\\ \x7f"}]}]}'
        ).encode(),
        responses=(
            '{"model":"m","input":[{"type":"message","role":"user","content":'
            '[{"type":"input_text","text":"你好 \u2028 \\"quoted\\" \\\\ \x7f"}]}]}'
        ).encode(),
        chat=(
            '{"model":"m","messages":[{"role":"user","content":'
            '[{"type":"text","text":"你好 \u2028 \\"quoted\\" \\\\ \x7f"}]}]}'
        ).encode(),
    ),
    Case(
        name="system, tools and parameters",
        request=Request(
            model="m",
            system=(Text(text="You help."),),
            system_plain=True,
            tools=(Tool(name="read", description="Reads.", schema={"type": "object"}),),
            messages=(said("user", Text(text="hi"), plain=True),),
            params={"stream": True},
        ),
        anthropic=(
            b'{"model":"m","tools":[{"name":"read","description":"Reads.","input_schema":{"type":"object"}}],'
            b'"system":"You help.","messages":[{"role":"user","content":"hi"}],"stream":true}'
        ),
        responses=(
            b'{"model":"m","instructions":"You help.","tools":[{"type":"function","name":"read",'
            b'"description":"Reads.","parameters":{"type":"object"}}],"input":[{"type":"message",'
            b'"role":"user","content":"hi"}],"stream":true}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"system","content":"You help."},{"role":"user",'
            b'"content":"hi"}],"tools":[{"type":"function","function":{"name":"read",'
            b'"description":"Reads.","parameters":{"type":"object"}}}],"stream":true}'
        ),
    ),
    Case(
        name="a call and its result",
        request=asking(
            said("assistant", Text(text="I look."), CALL, provenance="assistant"),
            said("user", ToolResult(tool_use_id="call_1", content="x = 1", is_error=False), provenance="tool"),
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":[{"type":"text","text":"I look."},'
            b'{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a.py"}}]},'
            b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"x = 1",'
            b'"is_error":false}]}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"message","role":"assistant",'
            b'"content":[{"type":"output_text","text":"I look."}]},{"type":"function_call",'
            b'"call_id":"call_1","name":"read","arguments":"{\\"path\\":\\"a.py\\"}"},'
            b'{"type":"function_call_output","call_id":"call_1","output":"x = 1"}]}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"assistant","content":"I look.",'
            b'"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read",'
            b'"arguments":"{\\"path\\":\\"a.py\\"}"}}]},{"role":"tool","tool_call_id":"call_1",'
            b'"content":"x = 1"}]}'
        ),
    ),
    Case(
        name="a picture in a result",
        request=asking(
            said("assistant", CALL, provenance="assistant"),
            said("user", ToolResult(tool_use_id="call_1", content=(Text(text="seen"), PICTURE)), provenance="tool"),
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":'
            b'[{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a.py"}}]},'
            b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":['
            b'{"type":"text","text":"seen"},'
            b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="}}]}]}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"function_call","call_id":"call_1","name":"read",'
            b'"arguments":"{\\"path\\":\\"a.py\\"}"},{"type":"function_call_output","call_id":"call_1",'
            b'"output":[{"type":"input_text","text":"seen"},{"type":"input_image",'
            b'"image_url":"data:image/png;base64,iVBORw0="}]}]}'
        ),
        chat=None,
    ),
    Case(
        name="a picture of the user's",
        request=asking(said("user", PICTURE, Text(text="what is it?"))),
        anthropic=(
            b'{"model":"m","messages":[{"role":"user","content":['
            b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="}},'
            b'{"type":"text","text":"what is it?"}]}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_image",'
            b'"image_url":"data:image/png;base64,iVBORw0="},{"type":"input_text",'
            b'"text":"what is it?"}]}]}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"image_url",'
            b'"image_url":{"url":"data:image/png;base64,iVBORw0="}},{"type":"text",'
            b'"text":"what is it?"}]}]}'
        ),
    ),
    Case(
        name="a document",
        request=asking(
            said("user", Document(source={"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}))
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":'
            b'{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_file",'
            b'"file_data":"data:application/pdf;base64,JVBERi0=","filename":"document.pdf"}]}]}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"file",'
            b'"file":{"filename":"document.pdf",'
            b'"file_data":"data:application/pdf;base64,JVBERi0="}}]}]}'
        ),
    ),
    Case(
        name="arguments as text",
        request=asking(
            said(
                "assistant",
                ToolUse(id="call_1", name="read", input={}, raw_input='{"path": "a.py"}'),
                provenance="assistant",
            )
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":'
            b'[{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a.py"}}]}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"function_call","call_id":"call_1","name":"read",'
            b'"arguments":"{\\"path\\": \\"a.py\\"}"}]}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"assistant","content":null,'
            b'"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read",'
            b'"arguments":"{\\"path\\": \\"a.py\\"}"}}]}]}'
        ),
    ),
    Case(
        name="arguments that were cut off",
        request=asking(
            said(
                "assistant",
                ToolUse(id="call_1", name="read", input={}, raw_input='{"path": "a'),
                provenance="assistant",
            )
        ),
        anthropic=None,
        responses=(
            b'{"model":"m","input":[{"type":"function_call","call_id":"call_1","name":"read",'
            b'"arguments":"{\\"path\\": \\"a"}]}'
        ),
        chat=(
            b'{"model":"m","messages":[{"role":"assistant","content":null,'
            b'"tool_calls":[{"id":"call_1","type":"function","function":{"name":"read",'
            b'"arguments":"{\\"path\\": \\"a"}}]}]}'
        ),
    ),
    Case(
        name="an overlay of the harness",
        request=asking(
            said("user", Text(text="hi"), plain=True),
            said("system", Text(text="Plan first."), provenance="harness", plain=True),
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"system","content":"Plan first."}]}'
        ),
        responses=(
            b'{"model":"m","input":[{"type":"message","role":"user","content":"hi"},'
            b'{"type":"message","role":"system","content":"Plan first."}]}'
        ),
        chat=(b'{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"system","content":"Plan first."}]}'),
    ),
    Case(
        name="a developer",
        request=asking(said("developer", Text(text="Plan first."), provenance="harness", plain=True)),
        anthropic=None,
        responses=b'{"model":"m","input":[{"type":"message","role":"developer","content":"Plan first."}]}',
        chat=b'{"model":"m","messages":[{"role":"developer","content":"Plan first."}]}',
    ),
    Case(
        name="signed thinking",
        request=asking(said("assistant", Thinking(thinking="hm", signature="s=="), provenance="assistant")),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":'
            b'[{"type":"thinking","thinking":"hm","signature":"s=="}]}]}'
        ),
        responses=None,
        chat=None,
    ),
    Case(
        name="redacted thinking",
        request=asking(said("assistant", RedactedThinking(data="d=="), provenance="assistant")),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"d=="}]}]}'
        ),
        responses=None,
        chat=None,
    ),
    Case(
        name="thinking without a signature",
        request=asking(said("assistant", Thinking(thinking="hm"), provenance="assistant")),
        anthropic=None,
        responses=None,
        chat=None,
    ),
    Case(
        name="a readable compaction",
        request=asking(said("assistant", Compaction(content="S", signature="s=="), provenance="assistant")),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":'
            b'[{"type":"compaction","content":"S","signature":"s=="}]}]}'
        ),
        responses=None,
        chat=None,
    ),
    Case(
        name="an encrypted compaction",
        request=asking(said("assistant", Compaction(encrypted_content="e=="), provenance="assistant")),
        anthropic=None,
        responses=b'{"model":"m","input":[{"type":"compaction","encrypted_content":"e=="}]}',
        chat=None,
    ),
    Case(
        name="a search of the provider's",
        request=asking(
            said(
                "assistant",
                ServerToolUse(kind="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"}),
                provenance="assistant",
            )
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"assistant","content":[{"type":"server_tool_use",'
            b'"id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}]}]}'
        ),
        responses=None,
        chat=None,
    ),
    Case(
        name="a deferred tool that was found",
        request=asking(
            said(
                "user", ToolResult(tool_use_id="call_1", content=(ToolReference(tool_name="grep"),)), provenance="tool"
            )
        ),
        anthropic=(
            b'{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1",'
            b'"content":[{"type":"tool_reference","tool_name":"grep"}]}]}]}'
        ),
        responses=None,
        chat=None,
    ),
    Case(
        name="a block that only Anthropic knows",
        request=asking(said("user", Unknown(dialect="anthropic", raw={"type": "container_upload", "file_id": "f"}))),
        anthropic=(b'{"model":"m","messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]}'),
        responses=None,
        chat=None,
    ),
]


@pytest.mark.parametrize("codec", [ANTHROPIC, RESPONSES, CHAT], ids=lambda codec: codec.dialect)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_request_has_exactly_these_bytes_in_each_dialect(case: Case, codec: Codec) -> None:
    body = case.body(codec)
    if body is None:
        with pytest.raises(UntranslatableBlock):
            codec.encode_request(case.request)
    else:
        assert body == codec.encode_request(case.request)
