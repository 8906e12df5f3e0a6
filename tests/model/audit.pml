/* SPDX-License-Identifier: MIT */
/* Audits of one run (contracts/SPEC.md 13 to 16): every interleaving of solver, auditors and deadlines,
 * for SEGS segments (1 or 2) with SEATS seats each (1 or 2).
 *
 * Roles are chosen at random: a cheating solver may compute wrongly, serve nothing, fall silent at any moment; a lazy
 * auditor guesses, copies what is open, says nothing. A deadline passes only when no honest party has a legal move
 * to make before it ("reaching the chain within D blocks of every deadline"). Disputes end as dispute.pml shows:
 * whoever is wrong loses, after any time.
 *
 * Checked: no honest party is slashed, no auditor can copy, a wrong segment that an honest auditor checked is never
 * paid and always costs the stake (assertions), and every run ends (ltl ends). One thing is assumed where the ledger
 * cannot know: when nobody of all who were drawn for a segment says to have been served, one of them was honest.
 *
 * Mutations, each of which must be found:
 *   -DMUT_SEATS_AT_THE_DRAW  seats are held from the draw of the segment on, not from the opening of its start
 *   -DMUT_EARLY_DEADLINE   the deadline of an opening runs before the opening is legal
 *   -DMUT_OPEN_EARLY       a state may be opened while the audit that ends there collects commitments
 *   -DMUT_FORFEIT_STARVED  a run that nobody could audit ends without a slash, and with it its open disputes
 *   -DMUT_END_BESIDE_DISPUTE a run that most of its auditors were silent about ends while a dispute is open
 *   -DMUT_PENALISE_STARVED an auditor that used up its reports is penalised like a silent one
 *   -DMUT_LATE_ANSWERS     the deadline of verdicts runs on while a report waits for its answer
 *   -DMUT_PAY_DISPUTED     a segment is paid while a dispute about it is open
 *   -DMUT_NO_REVEAL_DUE    a solver that does not reveal has no deadline
 */
#ifndef SEGS
#define SEGS 2
#endif
#ifndef SEATS
#define SEATS 1
#endif
#define REPORTS 1
#define SEAT(s, k) ((s) * 2 + (k))

mtype = { uncommitted, undrawn, waiting, opening, drawing, collecting, revealing, verdicts, closed };
mtype = { vacant, drawn, committed, matched, accuser, missed, released };

bool honest_solver;
bool serves = true;              /* whether the solver gives its states away */
bool slashed_solver = false;
bool over = false;               /* the run ended, one way or another */
mtype phase[2];
bool wrong[2], paid[2];
bool opened[3];           /* state j is on the ledger */
byte posted = 0;                 /* states committed to: 0 … posted - 1 */
byte redraws[2];
mtype seat[4];
bool honest[4];
bool says_wrong[4];   /* the verdict differs from the solver's root */
byte reports[4];
bool asked[4];        /* a report waits for its answer */
bool checked[2];              /* an honest auditor committed to a verdict */
bool honest_drawn[2];         /* an honest auditor was drawn at some time */
byte starved[2];              /* auditors that used up their reports … */
byte seated[2];               /* … of all who were drawn */

#define BLIND(s) (phase[s] == uncommitted || phase[s] == undrawn || phase[s] == waiting || phase[s] == opening || \
                  phase[s] == drawing || phase[s] == collecting)
#ifdef MUT_OPEN_EARLY
#define MAY_OPEN(j) (posted > (j))
#else
#define MAY_OPEN(j) (posted > (j) && ((j) == 0 || !BLIND((j) - 1)))
#endif
#define COMMITTED(s) (seat[SEAT(s, 0)] == committed || seat[SEAT(s, 1)] == committed)
/* There is stake for the seats of one audit at a time (14.2). */
#define HOLDS(s) (phase[s] == collecting || phase[s] == revealing || phase[s] == verdicts || \
                  (phase[s] == drawing && COMMITTED(s)))
#ifdef MUT_SEATS_AT_THE_DRAW
#define FREE(s) (!(HOLDS(1 - s) || phase[1 - s] == waiting || phase[1 - s] == opening || phase[1 - s] == drawing))
#else
#define FREE(s) (!HOLDS(1 - s))
#endif
#define DRAWN(s, k) (phase[s] == collecting && seat[SEAT(s, k)] == drawn)
#define STARVED(s, k) (seat[SEAT(s, k)] == drawn && reports[SEAT(s, k)] == REPORTS && !asked[SEAT(s, k)])
/* An honest auditor in its seat has a move to make. */
#define BUSY(s, k) (DRAWN(s, k) && honest[SEAT(s, k)] && \
                    (serves || (reports[SEAT(s, k)] < REPORTS && !asked[SEAT(s, k)])))
#ifdef MUT_LATE_ANSWERS
#define WAITS(s, k) false
#else
#define WAITS(s, k) asked[SEAT(s, k)]
#endif
#define OPEN_DISPUTE(s) (seat[SEAT(s, 0)] == accuser || seat[SEAT(s, 1)] == accuser)
#ifdef MUT_PAY_DISPUTED
#define SETTLED(s) true
#else
#define SETTLED(s) (!OPEN_DISPUTE(s))
#endif
#define UNREVEALED(s, k) (phase[s] == verdicts && seat[SEAT(s, k)] == committed)

inline end_run() {
    assert(slashed_solver || !((wrong[0] && checked[0]) || (wrong[1] && checked[1])));
    over = true                  /* bonds return, open disputes are withdrawn */
}
inline slash_solver() {
    assert(!honest_solver);
    slashed_solver = true;
    end_run()
}
inline slash_seat(s, k) {
    assert(!honest[SEAT(s, k)]);
    seat[SEAT(s, k)] = missed
}
inline draw_seat(s, k) {
    seat[SEAT(s, k)] = drawn;
    seated[s]++;
    reports[SEAT(s, k)] = 0;
    if
    :: honest[SEAT(s, k)] = true; honest_drawn[s] = true
    :: honest[SEAT(s, k)] = false
    fi
}
inline after_opening(j) {
    if
    :: j < SEGS && (phase[j] == opening || phase[j] == waiting) -> phase[j] = drawing
    :: else -> skip
    fi;
    if
    :: j > 0 && phase[j - 1] == revealing -> phase[j - 1] = verdicts
    :: else -> skip
    fi
}
inline enter_revealing(s) {
    if
    :: opened[s + 1] -> phase[s] = verdicts
    :: else -> phase[s] = revealing
    fi
}

inline close_when_all_spoke(s) {
    if
    :: seat[SEAT(s, 0)] != committed && seat[SEAT(s, 1)] != committed -> phase[s] = closed
    :: else -> skip
    fi
}

proctype solver() {
    byte j;
    do
    :: atomic { !over && posted <= SEGS ->
        if
        :: posted > 0 ->
            phase[posted - 1] = undrawn;
            if
            :: wrong[posted - 1] = false
            :: !honest_solver -> wrong[posted - 1] = true
            fi
        :: else -> skip
        fi;
        posted++ }
    :: atomic { !over && phase[0] == opening && !opened[0] && MAY_OPEN(0) -> opened[0] = true; after_opening(0) }
    :: atomic { !over && phase[1] == opening && !opened[1] && MAY_OPEN(1) -> opened[1] = true; after_opening(1) }
    :: atomic { !over && phase[0] == revealing && !opened[1] && MAY_OPEN(1) -> opened[1] = true; after_opening(1) }
    :: atomic { !over && phase[1] == revealing && !opened[2] && MAY_OPEN(2) -> opened[2] = true; after_opening(2) }
    /* openRoots of what was not drawn */
    :: atomic { !over && phase[0] == closed && !opened[0] && MAY_OPEN(0) -> opened[0] = true; after_opening(0) }
    :: atomic { !over && phase[0] == closed && !opened[1] && MAY_OPEN(1) -> opened[1] = true; after_opening(1) }
    :: atomic { !over && phase[1] == closed && !opened[2] && MAY_OPEN(2) -> opened[2] = true; after_opening(2) }
    :: atomic { !over && asked[0] -> asked[0] = false }
    :: atomic { !over && asked[1] -> asked[1] = false }
    :: atomic { !over && asked[2] -> asked[2] = false }
    :: atomic { !over && asked[3] -> asked[3] = false }
    :: atomic { !over && !honest_solver && serves -> serves = false }
    :: atomic { !honest_solver -> break }    /* falls silent for good */
    :: over -> break
    od
}

/* Whoever sits in a seat. */
proctype auditor(byte s; byte k) {
    do
    :: atomic { !over && DRAWN(s, k) && serves ->                      /* the start is there: replay */
        if
        :: honest[SEAT(s, k)] -> says_wrong[SEAT(s, k)] = wrong[s]; checked[s] = true
        :: !honest[SEAT(s, k)] -> says_wrong[SEAT(s, k)] = false
        :: !honest[SEAT(s, k)] -> says_wrong[SEAT(s, k)] = true
        fi;
        assert(!opened[s + 1]);                                        /* there is nothing to copy */
        seat[SEAT(s, k)] = committed;
        if
        :: seat[SEAT(s, 0)] != drawn && seat[SEAT(s, 1)] != drawn -> enter_revealing(s)
        :: else -> skip
        fi }
    :: atomic { !over && DRAWN(s, k) && !asked[SEAT(s, k)] && reports[SEAT(s, k)] < REPORTS &&
                (!serves || !honest[SEAT(s, k)]) ->                    /* reportUnavailable */
        reports[SEAT(s, k)]++;
        asked[SEAT(s, k)] = true }
    :: atomic { !over && UNREVEALED(s, k) ->
        if
        :: says_wrong[SEAT(s, k)] -> seat[SEAT(s, k)] = accuser        /* a dispute opens by itself */
        :: else -> seat[SEAT(s, k)] = matched
        fi;
        close_when_all_spoke(s) }
    /* The dispute ends: the referee is exact. */
    :: atomic { !over && seat[SEAT(s, k)] == accuser && wrong[s] -> slash_solver() }
    :: atomic { !over && seat[SEAT(s, k)] == accuser && !wrong[s] -> slash_seat(s, k) }
    :: over || paid[s] -> break
    od
}

inline miss(s, k) {
    if
    :: seat[SEAT(s, k)] == drawn ->
#ifndef MUT_PENALISE_STARVED
        if
        :: STARVED(s, k) -> seat[SEAT(s, k)] = released; starved[s]++
        :: else -> slash_seat(s, k)
        fi
#else
        slash_seat(s, k)
#endif
    :: else -> skip
    fi
}

inline starve_or_go_on(s) {
    miss(s, 0);
    miss(s, 1);
    if
    :: redraws[s] < 1 -> redraws[s]++; phase[s] = drawing
    :: redraws[s] == 1 ->
        if
        :: seat[SEAT(s, 0)] == committed || seat[SEAT(s, 1)] == committed -> enter_revealing(s)
        :: seat[SEAT(s, 0)] != committed && seat[SEAT(s, 1)] != committed && starved[s] == 0 -> phase[s] = closed
        /* Most were silent: the run ends unpaid, but no dispute with it. */
        :: seat[SEAT(s, 0)] != committed && seat[SEAT(s, 1)] != committed && starved[s] > 0 &&
           2 * starved[s] <= seated[s] ->
            if
#ifdef MUT_END_BESIDE_DISPUTE
            :: end_run()
#endif
            :: !OPEN_DISPUTE(1 - s) -> end_run()       /* who is drawn meanwhile changes nothing */
            :: over -> skip
            fi
        :: seat[SEAT(s, 0)] != committed && seat[SEAT(s, 1)] != committed && 2 * starved[s] > seated[s] ->
#ifdef MUT_FORFEIT_STARVED
            end_run()
#else
            assert(!honest_solver || !honest_drawn[s]);                /* the assumption */
            slashed_solver = true;
            end_run()
#endif
        fi
    fi
}
inline redraw(s, k) {
    if
    :: k < SEATS && seat[SEAT(s, k)] != committed -> draw_seat(s, k)
    :: else -> skip
    fi
}
/* What happens to segment s by itself: its draw, deadlines, payment. */
proctype chain(byte s) {
    do
    :: atomic { !over && phase[s] == undrawn ->                        /* the beacon decides */
        if
        :: opened[s] -> phase[s] = drawing
        :: !opened[s] -> phase[s] = waiting
        :: phase[s] = closed
        fi }
    :: atomic { !over && phase[s] == waiting && opened[s] -> phase[s] = drawing }
    :: atomic { !over && phase[s] == waiting && !opened[s] && MAY_OPEN(s) -> phase[s] = opening }
    /* Deadlines. */
    :: atomic { !over && phase[s] == opening && !(honest_solver && MAY_OPEN(s)) -> slash_solver() }
#ifdef MUT_EARLY_DEADLINE
    :: atomic { !over && phase[s] == waiting && !opened[s] && !(honest_solver && MAY_OPEN(s)) -> slash_solver() }
#endif
#ifndef MUT_NO_REVEAL_DUE
    :: atomic { !over && phase[s] == revealing && MAY_OPEN(s + 1) && !honest_solver -> slash_solver() }
#endif
    :: atomic { !over && phase[s] == closed && (!opened[s + 1] || !opened[0]) && MAY_OPEN(s + 1) &&
                !honest_solver -> slash_solver() }
    :: atomic { !over && (asked[SEAT(s, 0)] || asked[SEAT(s, 1)]) && !honest_solver -> slash_solver() }
    :: atomic { !over && posted <= SEGS && !honest_solver -> slash_solver() }      /* no checkpoint in time */
    :: atomic { !over && phase[s] == collecting && !BUSY(s, 0) && !BUSY(s, 1) && !WAITS(s, 0) && !WAITS(s, 1) &&
                (seat[SEAT(s, 0)] == drawn || seat[SEAT(s, 1)] == drawn) ->
        starve_or_go_on(s) }
    /* Later beacons draw. Who has no seat waits for the busy; who has commitments goes on without them in the end. */
    :: atomic { !over && phase[s] == drawing && FREE(s) -> redraw(s, 0); redraw(s, 1); phase[s] = collecting }
    :: atomic { !over && phase[s] == drawing && !FREE(s) && COMMITTED(s) -> starve_or_go_on(s) }
    :: atomic { !over && UNREVEALED(s, 0) && !honest[SEAT(s, 0)] && !(UNREVEALED(s, 1) && honest[SEAT(s, 1)]) ->
        slash_seat(s, 0);                                              /* it hid its verdict */
        close_when_all_spoke(s) }
    :: atomic { !over && UNREVEALED(s, 1) && !honest[SEAT(s, 1)] && !(UNREVEALED(s, 0) && honest[SEAT(s, 0)]) ->
        slash_seat(s, 1);
        close_when_all_spoke(s) }
    /* Payment, in order. */
    :: atomic { !over && phase[s] == closed && opened[s] && opened[s + 1] && !paid[s] && (s == 0 || paid[0]) &&
                SETTLED(s) ->
        assert(!(wrong[s] && checked[s]));
        paid[s] = true;
        if
        :: s == SEGS - 1 -> end_run()
        :: else -> skip
        fi }
    :: over -> break
    od
}

init {
    atomic {
        phase[0] = uncommitted;
        phase[1] = uncommitted;
        seat[0] = vacant;
        seat[1] = vacant;
        seat[2] = vacant;
        seat[3] = vacant;
        if
        :: honest_solver = true
        :: honest_solver = false
        fi;
        run solver();
        run auditor(0, 0);
        run chain(0);
#if SEATS == 2
        run auditor(0, 1);
#endif
#if SEGS == 2
        run auditor(1, 0);
        run chain(1);
#if SEATS == 2
        run auditor(1, 1);
#endif
#endif
        skip
    }
}

ltl ends { <> over }
