"""Any JSON object at all, and more of those that look like a row."""

from hypothesis import strategies as st

KEYS = st.sampled_from(
    "type message role content text id name input arguments tool_use_id toolCallId is_error"
    " isError model stopReason errorMessage isMeta isCompactSummary isApiErrorMessage subtype"
    " uuid timestamp sessionId cwd isSidechain parentUuid summary provenance kind __openclaw"
    " senderIsOwner turnTainted todos plan status taskId subject file_path command payload ordinal"
    " output call_id action num_turns history_base thread_id end_ordinal_exclusive namespace"
    " content_item_kinds internal_chat_message_metadata_passthrough metadata parts functionCall"
    " functionResponse response args toolCalls result $set $rewindTo messages displayContent"
    " displayText systemPayload toolCallResult uiEvent compressedHistory record_type".split()
)
WORDS = st.sampled_from(
    "user assistant system session message compaction branch_summary custom_message reset text"
    " tool_use tool_result toolCall toolResult bashExecution compact_boundary error aborted"
    " <synthetic> HEARTBEAT_OK inter_session internal_system Bash Edit TodoWrite TaskUpdate"
    " completed <command-name> <<<SWAPCACHE response_item event_msg session_meta compacted"
    " function_call function_call_output custom_tool_call web_search_call thread_rolled_back"
    " turn_aborted user.text input_text gemini info <hook_context> <state_snapshot> real_user"
    " chat_compression ui_telemetry tool_call run_shell_command".split()
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=12,
)
BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"type": WORDS},
        optional={
            "id": VALUES,
            "name": WORDS | VALUES,
            "input": VALUES,
            "arguments": VALUES,
            "text": VALUES,
            "content": VALUES,
            "tool_use_id": VALUES,
        },
    ),
    max_size=3,
)
INNER = st.fixed_dictionaries(
    {"role": WORDS},
    optional={
        "content": BLOCKS | VALUES,
        "model": WORDS,
        "stopReason": WORDS,
        "provenance": VALUES,
    },
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "text": VALUES | WORDS,
            "thought": VALUES,
            "functionCall": VALUES,
            "functionResponse": st.fixed_dictionaries(
                {}, optional={"response": VALUES, "id": WORDS}
            )
            | VALUES,
        },
    ),
    max_size=3,
)
ITEM = st.fixed_dictionaries(
    {"type": WORDS},
    optional={
        "role": WORDS,
        "content": BLOCKS | VALUES,
        "call_id": VALUES,
        "output": VALUES | WORDS,
        "arguments": VALUES,
        "action": VALUES,
        "history_base": VALUES,
        "internal_chat_message_metadata_passthrough": VALUES,
    },
)
OTHERS = st.fixed_dictionaries(
    {"type": WORDS},
    optional={
        "payload": ITEM | VALUES,
        "ordinal": VALUES,
        "message": st.fixed_dictionaries({"parts": PARTS | VALUES}),
        "content": PARTS | VALUES,
        "toolCalls": PARTS | VALUES,
        "systemPayload": VALUES,
        "subtype": WORDS,
        "id": VALUES,
        "uuid": VALUES,
        "parentUuid": VALUES,
    },
) | st.fixed_dictionaries({"$set": st.fixed_dictionaries({"messages": st.lists(ITEM) | VALUES})})
LIKELY = st.fixed_dictionaries(
    {"type": WORDS},
    optional={"message": INNER | VALUES, "uuid": VALUES, "timestamp": VALUES, "isMeta": VALUES},
)
OBJECTS = LIKELY | OTHERS | st.dictionaries(KEYS | st.text(max_size=4), VALUES, max_size=6)
