"""The documented list of reasons, each with the sentence that people read (see docs/reasons.md)."""

from enum import StrEnum


class Reason(StrEnum):
    """Machine-readable reason of a decision, of a job left alone, or of an action."""

    ROOM_IS_FREE = "room_is_free"
    LOWER_USER = "lower_user"
    LOWER_TASK = "lower_task"
    LOWER_USER_AND_TASK = "lower_user_and_task"
    LOWER_TASK_AND_USER = "lower_task_and_user"
    ROOM_IS_COMING = "room_is_coming"
    SHRINKS = "shrinks"
    GROWS = "grows"
    GROWS_LATER = "grows_later"
    GETS_PART = "gets_part"
    NOTHING_LOWER_RUNS = "nothing_lower_runs"
    NOT_ENOUGH_EVEN_SO = "not_enough_even_so"
    DOES_NOT_FIT_EVER = "does_not_fit_ever"
    PAUSED = "paused"
    TOO_SOON = "too_soon"
    COOL_DOWN = "cool_down"
    CRASHES = "crashes"
    HOURLY_LIMIT = "hourly_limit"
    NO_LASTING_ROOM = "no_lasting_room"
    BLOCKED = "blocked"
    OVER_QUOTA_HELD = "over_quota_held"
    OVER_QUOTA_REJECTED = "over_quota_rejected"
    SWAPS_A_NODE = "swaps_a_node"
    NEAREST_SET = "nearest_set"
    NO_EVEN_SET = "no_even_set"
    NOT_MEASURED = "not_measured"
    STARTS_SOON = "starts_soon"
    EARLIEST_START = "earliest_start"
    NEXT_PLAN = "next_plan"
    PLAN_RUNNING = "plan_running"
    PLAN_REJECTED = "plan_rejected"
    NOT_DECIDED = "not_decided"
    # Why a running job was passed over
    EQUAL_OR_HIGHER = "equal_or_higher"
    SAME_BAND = "same_band"
    PROTECTED = "protected"
    EXEMPT = "exempt"
    RESTING = "resting"
    JOB_LIMIT = "job_limit"
    ENDING = "ending"
    OTHER_PLACE = "other_place"
    HELD_BACK = "held_back"
    USER_LIMIT = "user_limit"
    COMES_BACK = "comes_back"
    CHAIN = "chain"
    EXCHANGED = "exchanged"
    AWAITED = "awaited"
    NOT_NEEDED = "not_needed"
    NOT_ENOUGH = "not_enough"


SENTENCES: dict[Reason, str] = {
    Reason.ROOM_IS_FREE: "There is free room for it.",
    Reason.LOWER_USER: "Jobs of lower users make room.",
    Reason.LOWER_TASK: "Jobs of lower task level make room.",
    Reason.LOWER_USER_AND_TASK: "Jobs of lower users, and lower tasks of equal users, make room.",
    Reason.LOWER_TASK_AND_USER: "Jobs of lower task level, and equal tasks of lower users, make room.",
    Reason.ROOM_IS_COMING: "Jobs that are ending already make enough room.",
    Reason.SHRINKS: "Elastic jobs of lower rank give up workers and go on; nobody is stopped.",
    Reason.GROWS: "There is free room for workers that it lacks.",
    Reason.GROWS_LATER: "A worker beyond its elastic job's minimum waits for free room; nobody is stopped for it.",
    Reason.GETS_PART: "There is room for a part of its units; the rest goes on waiting.",
    Reason.NOTHING_LOWER_RUNS: "Nobody who runs here makes room for it.",
    Reason.NOT_ENOUGH_EVEN_SO: "Stopping every lower job would still not make enough room.",
    Reason.DOES_NOT_FIT_EVER: "No nodes of the partition can ever give what it asks for.",
    Reason.PAUSED: "Nobody may be stopped just now.",
    Reason.TOO_SOON: "It has not waited long enough for others to be stopped.",
    Reason.COOL_DOWN: "It was stopped itself a moment ago; others are not stopped for it yet.",
    Reason.CRASHES: "It ended badly at once too often; nobody is stopped for it until it has run well.",
    Reason.HOURLY_LIMIT: "More jobs would be stopped than may be within an hour.",
    Reason.NO_LASTING_ROOM: "Those it could stop would come back ranked above it.",
    Reason.BLOCKED: "It may not start yet, whatever room there is.",
    Reason.OVER_QUOTA_HELD: "It is over quota; it is held until a job of the same level ends.",
    Reason.OVER_QUOTA_REJECTED: "It is over quota; the partition refuses such jobs.",
    Reason.SWAPS_A_NODE: "A young running job exchanges a node with it, so that both have even sets.",
    Reason.NEAREST_SET: "No set of nodes is even enough; it gets the nearest one.",
    Reason.NO_EVEN_SET: "There is room, but on nodes of too different compute power.",
    Reason.NOT_MEASURED: "Too few of the nodes that it may use have been measured.",
    Reason.STARTS_SOON: "It is predicted to start by itself soon enough; nobody is stopped.",
    Reason.EARLIEST_START: "Nodes are kept for it until it can start there.",
    Reason.NEXT_PLAN: "A node on which another job starts has room for it too; it is its turn in the next plan.",
    Reason.PLAN_RUNNING: "Room is being made for it.",
    Reason.PLAN_REJECTED: "An administrator rejected the plan that would have made room for it.",
    Reason.NOT_DECIDED: "Giveway could not decide on it; nobody is stopped until it can.",
    Reason.EQUAL_OR_HIGHER: "Equal or higher rank.",
    Reason.SAME_BAND: "Same band.",
    Reason.PROTECTED: "Protected.",
    Reason.EXEMPT: "Has run for less than the exempt time.",
    Reason.RESTING: "Has come back from a stop and rests for a while.",
    Reason.JOB_LIMIT: "Was stopped as often as one job may be within an hour.",
    Reason.ENDING: "Is ending already.",
    Reason.OTHER_PLACE: "Stopping it would not help: its room is elsewhere.",
    Reason.HELD_BACK: "It would have been stopped, but a limit forbids that for now.",
    Reason.USER_LIMIT: "Its user's jobs were stopped as often as may be within an hour.",
    Reason.COMES_BACK: "Stopped, it would come back ranked above the job that it makes room for.",
    Reason.CHAIN: "Stopped, it would be the next to have others stopped for it.",
    Reason.EXCHANGED: "It exchanges a node for another one already.",
    Reason.AWAITED: "A job of higher rank counts on the room that it leaves when it ends by itself.",
    Reason.NOT_NEEDED: "Not needed.",
    Reason.NOT_ENOUGH: "Stopping it, even with all the others, would not make enough room.",
}
