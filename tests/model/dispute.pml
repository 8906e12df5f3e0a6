/* SPDX-License-Identifier: MIT */
/* The dispute game (verifier/SPEC.md 2) between two sides, of which at most one is honest.
 *
 * A claim is TRUE_ (what an honest computation gives), FALSE_ (something else, with something that hashes to it)
 * or GARBAGE (32 bytes that nothing hashes to). Levels: a search over steps, the trace of one step, a search over
 * links, one element. Each move takes time from its side's clock. A cheater may make any legal move, and may let
 * its clock run out; an honest party answers within DELAY.
 *
 * Checked over all plays: an honest side never loses (assertions), and every dispute is decided (ltl ends).
 *
 * Mutations, each of which must be found:
 *   -DMUT_UNBOUND_INPUTS  the challenger's inputs are not proved to be the accepted ones
 *   -DMUT_NO_OPENING      a hash that nothing opens counts as opened
 *   -DMUT_SHORT_CLOCK     the clock is shorter than moves times delay
 *   -DMUT_ANY_CHILD       naming a child does not accept the ones before it
 */
#define STEPS 4
#define OPS 3
#define LINKS 3
#define DELAY 2
#define SOLVER_MOVES 8
#ifdef MUT_SHORT_CLOCK
#define CLOCK (SOLVER_MOVES)
#else
#define CLOCK (SOLVER_MOVES * DELAY)
#endif
#define TRUE_ 0
#define FALSE_ 1
#define GARBAGE 2
#define SOLVER 0
#define CHALLENGER 1

bool honest[2];
byte clock[2];
bool decided = false;
byte loser;

byte low, high;           /* positions of a search */
byte low_claim, high_claim;
byte mid_claim;           /* posted between them */
byte outputs[OPS];        /* the trace, as claimed */
byte op;                  /* the disputed one */
bool inputs_true;         /* whether what the op reads is the truth, as far as it was accepted */
byte result, i;

inline lose(side) {
    loser = side;
    decided = true;
    assert(!honest[side]);
}

/* A move of `side`, or the end of its clock. */
inline take_turn(side) {
    if
    :: clock[side] >= 1 -> clock[side] = clock[side] - 1
    :: clock[side] >= DELAY -> clock[side] = clock[side] - DELAY
    :: honest[side] && clock[side] < 1 -> lose(side)
    :: !honest[side] -> lose(side)                       /* falls silent */
    fi
}

/* Any claim of a cheater, the truth of an honest solver. */
inline claim(where) {
    if
    :: honest[SOLVER] -> where = TRUE_
    :: !honest[SOLVER] -> where = TRUE_
    :: !honest[SOLVER] -> where = FALSE_
    :: !honest[SOLVER] -> where = GARBAGE
    fi
}

/* Halves (low, high] until one position is left: low agreed, high disputed. */
inline search(size) {
    low = 0;
    high = size;
    do
    :: decided || high - low == 1 -> break
    :: !decided && high - low > 1 ->
        take_turn(SOLVER);
        claim(mid_claim);
        if
        :: decided -> skip
        :: else ->
            take_turn(CHALLENGER);
            if
            :: decided -> skip
            :: !decided && (mid_claim != TRUE_ || !honest[CHALLENGER]) ->   /* disputes what was posted */
                high = low + (high - low) / 2;
                high_claim = mid_claim
            :: !decided && (mid_claim == TRUE_ || !honest[CHALLENGER]) ->   /* agrees to it */
                low = low + (high - low) / 2;
                low_claim = mid_claim
            fi
        fi
    od
}

/* The solver opens what is behind a hash; it cannot where nothing is. */
inline open(what) {
    take_turn(SOLVER);
    if
#ifdef MUT_NO_OPENING
    :: !decided && what == GARBAGE -> what = TRUE_
#else
    :: !decided && what == GARBAGE -> lose(SOLVER)
#endif
    :: else -> skip
    fi
}

inline play_trace() {
    /* The last output is bound to the disputed state by proof; the others are the solver's to claim. Children that
     * do not hash to the node cannot be posted, so a trace is either FALSE_ or TRUE_ in each place. */
    i = 0;
    do
    :: i == OPS - 1 -> outputs[i] = high_claim; break
    :: i < OPS - 1 && (honest[SOLVER] || !honest[SOLVER]) -> outputs[i] = TRUE_; i++
    :: i < OPS - 1 && !honest[SOLVER] -> outputs[i] = FALSE_; i++
    od;
    take_turn(SOLVER);
    if
    :: decided -> skip
    :: else ->
        take_turn(CHALLENGER);
        op = 0;
        do
        :: decided -> break
        :: !decided && honest[CHALLENGER] && outputs[op] == TRUE_ && op < OPS - 1 -> op++
        :: !decided && honest[CHALLENGER] && (outputs[op] != TRUE_ || op == OPS - 1) -> break
        :: !decided && !honest[CHALLENGER] && op < OPS - 1 -> op++
        :: !decided && !honest[CHALLENGER] -> break
        od;
        inputs_true = (low_claim == TRUE_);
        i = 0;
        do
        :: i == op -> break
        :: i < op -> inputs_true = inputs_true && outputs[i] == TRUE_; i++
        od;
#ifdef MUT_ANY_CHILD
        if                                   /* the solver may prove its own outputs in place of accepted ones */
        :: !honest[SOLVER] -> inputs_true = false
        :: else -> skip
        fi;
#endif
        high_claim = outputs[op];
        low_claim = TRUE_                    /* nothing was summed before the first link */
    fi
}

inline referee() {
    take_turn(CHALLENGER);
#ifdef MUT_UNBOUND_INPUTS
    if
    :: !honest[CHALLENGER] -> inputs_true = false
    :: else -> skip
    fi;
#endif
    if
    :: decided -> skip
    :: !decided && inputs_true && low_claim == TRUE_ -> result = TRUE_
    /* Of other inputs nobody knows what they give, and it may even look like the truth. */
    :: !decided && !(inputs_true && low_claim == TRUE_) -> result = TRUE_
    :: !decided && !(inputs_true && low_claim == TRUE_) -> result = FALSE_
    fi;
    if
    :: decided -> skip
    :: !decided && result == high_claim -> lose(CHALLENGER)
    :: !decided && result != high_claim -> lose(SOLVER)
    fi
}

active proctype dispute() {
    if                                       /* two honest parties have no dispute */
    :: honest[SOLVER] = true
    :: honest[CHALLENGER] = true
    :: skip
    fi;
    clock[SOLVER] = CLOCK;
    clock[CHALLENGER] = CLOCK;
    low_claim = TRUE_;                       /* the start of the segment is agreed */
    if
    :: honest[SOLVER] -> high_claim = TRUE_
    :: !honest[SOLVER] -> high_claim = FALSE_
    :: !honest[SOLVER] -> high_claim = GARBAGE
    :: !honest[SOLVER] && !honest[CHALLENGER] -> high_claim = TRUE_
    fi;
    search(STEPS);
    if
    :: decided -> skip
    :: else -> open(high_claim)
    fi;
    if
    :: decided -> skip
    :: else -> play_trace()
    fi;
    if
    :: decided -> skip
    :: else -> search(LINKS)
    fi;
    if
    :: decided -> skip
    :: else -> open(high_claim)
    fi;
    if
    :: decided -> skip
    :: else -> referee()
    fi
}

ltl ends { <> decided }
