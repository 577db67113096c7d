"""The rules of the Messages API as one table, in the order in which they are checked.

It knows which rules there are and what the documentation says about each. It must never hold a rule's code.
"""

from __future__ import annotations

from perdure.testing.doubles.anthropic import compaction, editing, limits, marks, schema, thinking, tools, turns
from perdure.testing.doubles.anthropic.asked import Rule

RULES: tuple[Rule, ...] = (
    Rule(name="fields are known, present and of their kind", topic="errors", check=schema.check_shape),
    Rule(name="at most 100,000 messages", topic="errors: hard limits", check=turns.check_count),
    Rule(name="not too many images", topic="errors: hard limits", check=limits.check_media),
    Rule(name="the output limit is legal", topic="errors: max_tokens", check=limits.check_max_tokens),
    Rule(name="warming the cache samples nothing", topic="prompt caching: pre-warm", check=limits.check_warming),
    Rule(name="no sampling parameters on newer models", topic="errors", check=limits.check_sampling),
    Rule(name="the effort is known", topic="thinking", check=limits.check_effort),
    Rule(name="the model takes this form of thinking", topic="thinking: forms", check=thinking.check_form),
    Rule(name="the mismatch behaviour is known", topic="preserved thinking", check=thinking.check_binding_setting),
    Rule(name="edits are legal and in order", topic="context editing", check=editing.check_edits),
    Rule(name="thinking is cleared where there is some", topic="context editing", check=editing.check_thinking_edit),
    Rule(name="on-demand compaction stands alone", topic="on-demand compaction", check=compaction.check_request),
    Rule(name="there is something to summarise", topic="on-demand compaction", check=compaction.check_something),
    Rule(name="a signed block is first, alone, unchanged", topic="on-demand compaction", check=compaction.check_signed),
    Rule(name="a threshold block is declared", topic="threshold compaction", check=compaction.check_threshold),
    Rule(name="names of tools are unique", topic="tools", check=tools.check_names),
    Rule(name="not all tools are deferred", topic="tool search", check=tools.check_deferred),
    Rule(name="references are declared", topic="tool search", check=tools.check_references),
    Rule(name="changed tools are defined", topic="mid-conversation tool changes", check=tools.check_changes),
    Rule(name="a tool is forced only where allowed", topic="tool choice", check=tools.check_choice),
    Rule(name="system messages stand behind a user turn", topic="system messages", check=turns.check_system_messages),
    Rule(name="no empty text", topic="errors", check=turns.check_content),
    Rule(name="the first message is the user's", topic="errors", check=turns.check_start),
    Rule(name="the conversation ends with the user", topic="thinking: prefill", check=turns.check_prefill),
    Rule(name="calls and results pair up", topic="tool use", check=turns.check_pairs),
    Rule(name="automatic caching agrees with the last mark", topic="prompt caching", check=marks.check_automatic),
    Rule(name="at most four marks", topic="prompt caching", check=marks.check_count),
    Rule(name="one hour before five minutes", topic="prompt caching", check=marks.check_order),
    Rule(name="no mark on a deferred tool", topic="tool search", check=marks.check_deferred),
    Rule(name="thinking of the open turn is whole", topic="thinking with tools", check=thinking.check_open_turn),
    Rule(name="signatures are ours", topic="preserved thinking", check=thinking.check_signatures),
)
