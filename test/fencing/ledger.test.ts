import { describe, expect, it } from 'vitest';
import {
  capLimits,
  capUse,
  type CountedFences,
  type LedgerEntry,
  type LedgerState,
  oldestFirst,
} from '../../fencing/model/cap-use.ts';
import {
  admitReservation,
  concludeEntry,
  finishVanishedFences,
  pruneLedger,
  type ReservationContext,
} from '../../fencing/model/ledger.ts';
import { NOW } from './view-builder.ts';

const MINUTE = 60_000;
const entry = (machine: string, change: Partial<LedgerEntry> = {}): LedgerEntry => ({
  machine,
  boot: 'b',
  begun: NOW - MINUTE,
  finished: true,
  nodes: 9,
  ...change,
});
const claimant = (change: Partial<ReservationContext> = {}): ReservationContext => ({
  machine: 'mine',
  boot: 'b',
  cap: { share: 0.49, atOnce: 0.2 },
  nodes: 9,
  isOverridden: false,
  now: NOW,
  ...change,
});
const finished = (count: number, change: Partial<LedgerEntry> = {}) =>
  Array.from({ length: count }, (_, at) => entry(`m-${at}`, change));
const ledger = (entries: readonly LedgerEntry[], counted: readonly CountedFences[] = []): LedgerState => ({
  entries,
  counted,
});
const EMPTY = ledger([]);
const MY_FENCE = { machine: 'mine', boot: 'b' };
const mine: LedgerEntry = { machine: 'mine', boot: 'b', begun: NOW, finished: false, nodes: 9 };

describe('the limits of the cap', () => {
  it.each([
    [0, 1, 1],
    [1, 1, 1],
    [2, 1, 1],
    [9, 4, 1],
    [10, 4, 2],
    [100, 49, 20],
    [5_000, 2_450, 1_000],
  ])('for %i Nodes are %i fences within the window and %i at once', (nodes, begun, unfinished) => {
    expect(capLimits({ share: 0.49, atOnce: 0.2 }, nodes)).toEqual({ begun, unfinished });
  });
  it('are not too low by one because of rounding', () =>
    expect(capLimits({ share: 0.29, atOnce: 0.07 }, 100)).toEqual({ begun: 29, unfinished: 7 }));
});

describe('a reservation', () => {
  const cases: readonly [string, readonly LedgerEntry[], Partial<ReservationContext>, boolean][] = [
    ['is admitted in an empty ledger', [], {}, true],
    ['is admitted below the share', finished(3), {}, true],
    ['is not admitted at the share, which counts finished fences too', finished(4), {}, false],
    [
      'is admitted when one of the fences has left the window',
      [...finished(3), entry('old', { begun: NOW - 15 * MINUTE })],
      {},
      true,
    ],
    ['is not admitted while one fence is unfinished, if only one may be', [entry('a', { finished: false })], {}, false],
    [
      'is admitted while one fence is unfinished, if two may be',
      [entry('a', { finished: false, nodes: 10 })],
      { nodes: 10 },
      true,
    ],
    ['is admitted for the only Node', [], { nodes: 1 }, true],
    [
      'is admitted after a fence deleted its Node, because the share counts the Nodes before that',
      finished(3),
      { nodes: 6 },
      true,
    ],
    ['is admitted if it is already entered, because a message may come twice', [...finished(4), mine], {}, true],
    ['is admitted if it is already entered and finished', [...finished(4), { ...mine, finished: true }], {}, true],
    [
      'is admitted if it is already entered, for a machine whose boot is no longer known',
      [...finished(4), mine],
      { boot: null },
      true,
    ],
    [
      'is admitted for a later boot, because the earlier one of the same machine does not count',
      [...finished(3), { ...mine, boot: 'a' }],
      {},
      true,
    ],
    [
      'is not admitted for a later boot if other machines have used up the share',
      [...finished(4), { ...mine, boot: 'a' }],
      {},
      false,
    ],
    ['is admitted while the cap is overridden', finished(9, { finished: false }), { isOverridden: true }, true],
    [
      'is not admitted beside an entry with a future date, which counts as begun now',
      [entry('a', { begun: NOW + 365 * 86_400_000, finished: false })],
      {},
      false,
    ],
    [
      'is not admitted beside an unreadable entry, which counts as begun now',
      [entry('a', { begun: Infinity, finished: false })],
      {},
      false,
    ],
  ];
  it.each(cases)('%s', (_, read, change, admitted) =>
    expect(admitReservation(ledger(read), claimant(change)).says.admitted).toBe(admitted),
  );

  it('is entered if it is admitted, and old entries are removed', () => {
    expect(
      admitReservation(ledger([entry('old', { begun: NOW - 16 * MINUTE }), entry('young')]), claimant()).write,
    ).toEqual(ledger([entry('young'), mine]));
  });
  it('without a known boot is entered without one', () => {
    expect(admitReservation(EMPTY, claimant({ boot: null })).write?.entries).toEqual([{ ...mine, boot: '' }]);
  });
  it('replaces an earlier entry of the same machine', () =>
    expect(admitReservation(ledger([{ ...mine, boot: 'a' }]), claimant()).write).toEqual(ledger([mine])));
  it('does not change the ledger if it is already entered or is not admitted', () => {
    expect(admitReservation(ledger([mine]), claimant()).write).toBeNull();
    expect(admitReservation(ledger(finished(4)), claimant()).write).toBeNull();
  });
  it('makes the entry of a fence that continues unfinished again, and keeps its time of beginning', () => {
    const over = { ...mine, begun: NOW - 5 * MINUTE, finished: true };
    expect(admitReservation(ledger([...finished(4), over]), claimant()).write).toEqual(
      ledger([...finished(4), { ...over, finished: false }]),
    );
    const left = ledger([{ ...over, begun: NOW - 15 * MINUTE }, ...finished(4)]);
    expect(admitReservation(left, claimant()).says.admitted).toBe(false);
  });
  it('needs a place among the unfinished fences for a fence that continues, but not among those of the window', () => {
    const over = { ...mine, begun: NOW - 5 * MINUTE, finished: true };
    const open = Array.from({ length: 2 }, (_, nth) => entry(`open-${nth}`, { finished: false }));
    const one = { ...claimant(), cap: { share: 0.01, atOnce: 0.01 }, nodes: 100 };
    expect(admitReservation(ledger([...finished(4), over]), one).says).toMatchObject({ admitted: true, opens: null });
    const full = ledger([...finished(4), ...open, over]);
    expect(admitReservation(full, one)).toMatchObject({ says: { admitted: false, opens: null }, write: null });
    expect(admitReservation(full, { ...one, isOverridden: true }).says.admitted).toBe(true);
    const continued = ledger([...finished(4), ...open, { ...over, finished: false }]);
    expect(admitReservation(continued, one).says.admitted).toBe(true);
  });
  it.each([
    [0, 1],
    [1, 0],
  ])('counts the latest entry of a machine, in whatever order the entries are (%i, %i)', (one, other) => {
    const lines = [
      entry('a', { begun: NOW - 5 * MINUTE, boot: 'former', finished: false }),
      entry('a', { begun: NOW - 2 * MINUTE, boot: 'latter' }),
    ];
    const read = ledger([lines[one], lines[other]].flatMap((line) => line ?? []));
    expect(pruneLedger(read, NOW)).toEqual({ ledger: ledger(lines.slice(1)), corrected: false });
  });
  it('counts the last of two entries with the same time', () => {
    const two = [entry('a', { boot: 'one' }), entry('a', { boot: 'two' })];
    expect(pruneLedger(ledger(two), NOW).ledger).toEqual(ledger(two.slice(1)));
  });
  it('corrects the date of an entry that is more than a minute ahead, and leaves other entries as they are', () => {
    const both = (ms: number) => ledger([entry('a', { begun: NOW + ms }), entry('b')]);
    expect(pruneLedger(both(MINUTE), NOW)).toEqual({ ledger: both(MINUTE), corrected: false });
    expect(pruneLedger(both(MINUTE + 1), NOW)).toEqual({ ledger: both(0), corrected: true });
  });
  it('is possible again when enough of the oldest fences have left the window, in any order of entries', () => {
    const five = [4, 2, 1, 3, 5].map((ago) => entry(`m-${ago}`, { begun: NOW - ago * MINUTE }));
    expect(admitReservation(ledger(five), claimant()).says.opens).toBe(NOW + 11 * MINUTE);
  });
  it('counts a machine once, however many entries it has', () =>
    expect(admitReservation(ledger([entry('a'), entry('a'), entry('a')]), claimant()).says.begun).toBe(1));
  it('corrects a future date even if it is not admitted, so that no entry counts forever', () => {
    const { says, write } = admitReservation(
      ledger([entry('a', { begun: Date.UTC(9999, 0), finished: false })]),
      claimant(),
    );
    expect(says.admitted).toBe(false);
    expect(write).toEqual(ledger([entry('a', { begun: NOW, finished: false })]));
    expect(admitReservation(write ?? EMPTY, claimant({ now: NOW + 15 * MINUTE })).says.admitted).toBe(true);
  });
  it('accepts an entry whose clock is a few seconds ahead', () =>
    expect(
      admitReservation(ledger([entry('a', { begun: NOW + 5_000, finished: false })]), claimant()).write,
    ).toBeNull());
  it('says when enough fences have left the window', () => {
    const four = [4, 3, 2, 1].map((ago) => entry(`m-${ago}`, { begun: NOW - ago * MINUTE }));
    expect(admitReservation(ledger(four), claimant()).says).toMatchObject({
      begun: 4,
      limits: { begun: 4, unfinished: 1 },
      nodes: 9,
      opens: NOW + 11 * MINUTE,
    });
    expect(admitReservation(ledger([...four, entry('m-0')]), claimant()).says.opens).toBe(NOW + 12 * MINUTE);
    expect(admitReservation(ledger(four.slice(1)), claimant()).says.opens).toBeNull();
  });
});

describe('the end of a fence whose run died before it could write the end into the ledger', () => {
  const open = entry('a', { begun: NOW - 2 * MINUTE, finished: false });
  const shows = (...machines: readonly string[]) => ({ showing: new Set(machines), readAt: NOW });
  const nothingShows = shows();
  it('is entered once the cluster shows nothing of the fence any more, and still counts for the share', () => {
    const after = finishVanishedFences(ledger([open, mine]), nothingShows, NOW);
    expect(after).toEqual(ledger([{ ...open, finished: true }, mine]));
    expect(admitReservation(after ?? EMPTY, claimant({ machine: 'other' })).says).toMatchObject({
      begun: 2,
      unfinished: 1,
    });
  });
  it.each([
    ['while the cluster shows something of its machine', open, shows('a')],
    ['while it may not show yet', { ...open, begun: NOW - 2 * MINUTE + 1_000 }, nothingShows],
    ['for a line that could not be read', { ...open, begun: Infinity, nodes: 0 }, nothingShows],
    ['for a line that could not be read and that has aged since then', { ...open, nodes: 0 }, nothingShows],
    ['twice', { ...open, finished: true }, nothingShows],
    ['for a fence that has begun since the cluster was read', open, { ...nothingShows, readAt: NOW - 3 * MINUTE }],
  ])('is not entered %s', (_, one, shown) => expect(finishVanishedFences(ledger([one]), shown, NOW)).toBeNull());
});

describe('the end of a fence', () => {
  it('is entered for its fence, which still counts for the share', () => {
    const after = concludeEntry(ledger([entry('a'), mine]), MY_FENCE, NOW + MINUTE);
    expect(after).toEqual(ledger([entry('a'), { ...mine, finished: true }]));
    expect(admitReservation(after ?? EMPTY, claimant({ machine: 'other', now: NOW + MINUTE })).says).toMatchObject({
      begun: 2,
      unfinished: 0,
    });
  });
  it('does not end the fence of another machine', () => {
    const open = entry('a', { finished: false });
    expect(concludeEntry(ledger([open, mine]), MY_FENCE, NOW)).toEqual(ledger([open, { ...mine, finished: true }]));
    expect(concludeEntry(ledger([open]), MY_FENCE, NOW)).toBeNull();
  });
  it('does not end the fence of a later boot', () => {
    expect(concludeEntry(ledger([mine]), { machine: 'mine', boot: 'earlier' }, NOW)).toBeNull();
  });
  it.each([
    ['it is not known which boot was fenced', { machine: 'mine', boot: null }, mine],
    ['the ledger does not name the boot', MY_FENCE, { ...mine, boot: '' }],
  ])('is entered if %s', (_, ended, one) => {
    expect(concludeEntry(ledger([one]), ended, NOW)).toEqual(ledger([{ ...one, finished: true }]));
  });
  it('needs no write if no fence of the machine is unfinished', () => {
    expect(concludeEntry(ledger([entry('a')]), MY_FENCE, NOW)).toBeNull();
    expect(concludeEntry(ledger([{ ...mine, finished: true }]), MY_FENCE, NOW)).toBeNull();
  });
});

describe('finished fences in the ledger', () => {
  /** The oldest fence comes first. */
  const many = (count: number, ago = (nth: number) => (count - nth) * 1_000, change: Partial<LedgerEntry> = {}) =>
    Array.from({ length: count }, (_, nth) => entry(`m-${nth}`, { begun: NOW - ago(nth), nodes: 900, ...change }));
  const claims = (read: LedgerState, change: Partial<ReservationContext> = {}) =>
    admitReservation(read, claimant({ nodes: 900, ...change }));
  const isMinute = (minute: number) => (at: number) => Math.floor(at / MINUTE) === minute;

  it('keep their entries if there are at most 64', () => {
    expect(claims(ledger(many(64))).write?.counted).toEqual([]);
    expect(claims(ledger(many(65))).write?.entries).toHaveLength(65);
    expect(claims(ledger(many(65))).write?.counted).toEqual([
      { begun: NOW - 65_000, count: 1, nodes: 900, names: ['m-0...b...'] },
    ]);
  });
  it('beyond the latest 64 are counted by the minute of their begin, until the last of it leaves the window', () => {
    const read = ledger(many(264, (nth) => (264 - nth) * 1_000));
    const counted = (claims(read).write?.counted ?? []).toSorted((a, b) => a.begun - b.begun);
    const begins = read.entries.slice(0, 200).map(({ begun }) => begun);
    const minutes = [...new Set(begins.map((at) => Math.floor(at / MINUTE)))];
    expect(counted).toEqual(
      minutes.map((minute) => {
        const together = begins.filter(isMinute(minute));
        const names: unknown = expect.any(Array);
        return { begun: Math.max(...together), count: together.length, nodes: 900, names };
      }),
    );
    const last = counted.at(-1)?.begun ?? NaN;
    const after = ledger([], counted);
    expect(pruneLedger(after, last + 15 * MINUTE - 1).ledger.counted).toHaveLength(1);
    expect(pruneLedger(after, last + 15 * MINUTE).ledger.counted).toEqual([]);
  });
  it('are added to those of their minute that are already counted', () => {
    const begun = Math.floor(NOW / MINUTE) * MINUTE;
    const counted = { begun, count: 7, nodes: 800, names: [] };
    const after = admitReservation(
      ledger(
        many(65, () => 0, { begun: begun + 5_000 }),
        [counted],
      ),
      claimant({ nodes: 900, now: begun + 6_000 }),
    );
    expect(after.write?.counted).toEqual([{ begun: begun + 5_000, count: 8, nodes: 800, names: ['m-64..b...'] }]);
  });
  it('are listed with all others, the oldest first', () => {
    const counted = { begun: NOW - 2 * MINUTE, count: 7, nodes: 900, names: [] };
    expect(oldestFirst(ledger([mine, entry('a')], [counted]))).toEqual([
      { begun: NOW - 2 * MINUTE, count: 7, finished: true },
      { begun: NOW - MINUTE, count: 1, finished: true },
      { begun: NOW, count: 1, finished: false },
    ]);
  });
  it('count for the share, but not for the fences at once', () => {
    const read = ledger(
      [entry('a', { finished: false })],
      [{ begun: NOW - MINUTE, count: 440, nodes: 900, names: [] }],
    );
    expect(claims(read).says).toMatchObject({ admitted: false, begun: 441, unfinished: 1, limits: { begun: 441 } });
    const less = ledger([], [{ begun: NOW - MINUTE, count: 440, nodes: 900, names: [] }]);
    expect(claims(less).says).toMatchObject({ admitted: true, begun: 440, unfinished: 0 });
  });
  it('count with the size of the cluster at that time, so that a deleted Node does not lower the limit', () =>
    expect(claims(ledger([], [{ begun: NOW, count: 1, nodes: 2_000, names: [] }]), { nodes: 900 }).says.nodes).toBe(
      2_000,
    ));
  it('of one minute count with the smallest size, so that no limit is too high', () => {
    const sizes = many(66, () => MINUTE).map((one, nth) => ({ ...one, nodes: 900 + nth }));
    const kept = claims(ledger(sizes)).write;
    expect(kept?.counted).toMatchObject([{ begun: NOW - MINUTE, count: 2, nodes: 964 }]);
  });
  it('leave room for another fence when enough of them have left the window', () => {
    const read = ledger(
      [entry('a', { begun: NOW - 2 * MINUTE })],
      [
        { begun: NOW - MINUTE, count: 300, nodes: 900, names: [] },
        { begun: NOW - 3 * MINUTE, count: 200, nodes: 900, names: [] },
      ],
    );
    expect(claims(read).says.opens).toBe(NOW + 12 * MINUTE);
    expect(capUse(read, { share: 0.3, atOnce: 1 }, 900).opens).toBe(NOW + 14 * MINUTE);
    expect(capUse(read, { share: 501 / 900, atOnce: 1 }, 900).opens).toBe(NOW + 12 * MINUTE);
    expect(capUse(read, { share: 502 / 900, atOnce: 1 }, 900).opens).toBeNull();
  });
  it('begin now if their time is ahead or unreadable, and age from then on', () => {
    const { says, write } = claims(ledger([], [{ begun: Infinity, count: 441, nodes: 0, names: [] }]));
    expect([says.admitted, write?.counted]).toEqual([false, [{ begun: NOW, count: 441, nodes: 0, names: [] }]]);
    expect(claims(write ?? EMPTY, { now: NOW + 15 * MINUTE }).says.admitted).toBe(true);
  });
  it('are the only ones that lose their entries: unfinished ones keep them, however old they are', () => {
    const open = many(80, (nth) => (100 - nth) * 1_000, { finished: false });
    const after = concludeEntry(
      ledger([...open, ...many(70).map((one) => ({ ...one, machine: `f${one.machine}` }))]),
      { machine: 'm-3', boot: null },
      NOW,
    );
    expect(after?.entries.filter(({ finished }) => !finished)).toHaveLength(79);
    expect(after?.entries).toHaveLength(79 + 64);
    expect(after?.counted.reduce((sum, { count }) => sum + count, 0)).toBe(7);
  });
});

describe('a finished fence that is only counted, without an entry', () => {
  const MINE = 'mine..b...';
  /** The cap is reached: 441 of 441. */
  const full = (names: readonly string[], begun = NOW - 2 * MINUTE) =>
    ledger([], [{ begun, count: 441, nodes: 900, names }]);
  const claims = (read: LedgerState, change: Partial<ReservationContext> = {}) =>
    admitReservation(read, claimant({ nodes: 900, ...change }));

  it('counts once if work returns to it, and then has an entry again, with its time', () => {
    const { says, write } = claims(full(['other.b...', MINE]));
    expect(says).toMatchObject({ admitted: true, begun: 440 });
    expect(write).toEqual({
      entries: [{ ...mine, begun: NOW - 2 * MINUTE, nodes: 900 }],
      counted: [{ begun: NOW - 2 * MINUTE, count: 440, nodes: 900, names: ['other.b...'] }],
    });
  });
  it('is found by its machine alone if the boot is not known any more', () => {
    const { says, write } = claims(full([MINE]), { boot: null });
    expect([says.admitted, write?.entries[0]]).toEqual([
      true,
      { ...mine, boot: '', begun: NOW - 2 * MINUTE, nodes: 900 },
    ]);
  });
  it('leaves room for one fence of a later boot of its machine', () => {
    const { says, write } = claims(full([MINE]), { boot: 'c' });
    expect(says).toMatchObject({ admitted: true, begun: 440 });
    expect(write?.entries).toEqual([{ ...mine, boot: 'c', nodes: 900 }]);
    const over = ledger([entry('a', { nodes: 900 })], full([MINE]).counted);
    expect(claims(over, { boot: 'c' }).says).toMatchObject({ admitted: false, begun: 441 });
    expect(claims(over).says).toMatchObject({ admitted: true, begun: 441 });
  });
  it('is not the same fence if its machine has had another entry since', () => {
    const since = ledger([entry('a', { nodes: 900 }), entry('mine', { boot: 'c' })], full([MINE]).counted);
    expect(claims(since).says).toMatchObject({ admitted: false, begun: 441 });
  });
  it('is not the same fence once its minute may have left the window', () => {
    const minute = Math.floor(NOW / MINUTE) * MINUTE;
    const after = (ms: number) =>
      claims(ledger([entry('a', { nodes: 900, begun: minute + 59_000 })], full([MINE], minute + 59_000).counted), {
        now: minute + ms,
      }).says;
    expect(after(15 * MINUTE - 1)).toMatchObject({ admitted: true });
    expect(after(15 * MINUTE)).toMatchObject({ admitted: false });
  });
  it('is not found under the name of another machine, and its minute goes if it was the last', () => {
    expect(claims(full(['other.b...'])).says).toMatchObject({ admitted: false, begun: 441 });
    expect(claims(full(['mine-2b...'])).says).toMatchObject({ admitted: false, begun: 441 });
    expect(claims(ledger([], [{ begun: NOW, count: 1, nodes: 900, names: [MINE] }])).write?.counted).toEqual([]);
  });
  it.each([
    ['latest', (all: readonly LedgerEntry[]) => all],
    ['oldest', (all: readonly LedgerEntry[]) => all.toReversed()],
  ])('keeps its name if it is one of the latest 192, if the %s comes first', (_, inOrder) => {
    const many = Array.from({ length: 400 }, (__, nth) =>
      entry(`${nth}`.padStart(6, '0'), { begun: NOW - nth * 1_000 }),
    );
    const names = (claims(ledger(inOrder(many))).write?.counted ?? []).flatMap((one) => one.names);
    expect(names.toSorted()).toEqual(Array.from({ length: 192 }, (_, nth) => `${`${nth + 64}`.padStart(6, '0')}b...`));
  });
  it('has a name of ten characters, even if a person wrote longer names into the ledger', () => {
    const long = ledger([entry('a-long-name', { boot: 'a-long-boot' }), mine]);
    expect(concludeEntry(long, MY_FENCE, NOW, 0)?.counted.flatMap(({ names }) => names)).toContain('a-longa-lo');
  });
  it('has its name even if no finished fence keeps its entry', () => {
    const few = ledger([entry('a'), entry('b'), mine]);
    expect(
      concludeEntry(few, MY_FENCE, NOW, 0)
        ?.counted.flatMap(({ names }) => names)
        .toSorted(),
    ).toEqual(['a.....b...', 'b.....b...', MINE]);
    expect(finishVanishedFences(few, { showing: new Set(['mine']), readAt: NOW }, NOW, 0)).toBeNull();
  });
});
