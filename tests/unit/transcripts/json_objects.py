"""Any JSON object at all, and more of those that look like a row."""

from hypothesis import strategies as st

KEYS = st.sampled_from(
    "type message role content text id name input arguments tool_use_id toolCallId is_error"
    " isError model stopReason errorMessage isMeta isCompactSummary isApiErrorMessage subtype"
    " uuid timestamp sessionId cwd isSidechain parentUuid summary provenance kind __openclaw"
    " senderIsOwner turnTainted todos plan status taskId subject file_path command".split()
)
WORDS = st.sampled_from(
    "user assistant system session message compaction branch_summary custom_message reset text"
    " tool_use tool_result toolCall toolResult bashExecution compact_boundary error aborted"
    " <synthetic> HEARTBEAT_OK inter_session internal_system Bash Edit TodoWrite TaskUpdate"
    " completed <command-name> <<<SWAPCACHE".split()
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
LIKELY = st.fixed_dictionaries(
    {"type": WORDS},
    optional={"message": INNER | VALUES, "uuid": VALUES, "timestamp": VALUES, "isMeta": VALUES},
)
OBJECTS = LIKELY | st.dictionaries(KEYS | st.text(max_size=4), VALUES, max_size=6)
