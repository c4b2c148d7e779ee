import { describe, expect, it } from 'vitest';
import {
  admitClaim,
  concludeEntry,
  finishVanishedFences,
  pruneEntries,
  capLimits,
  type CapClaimContext,
  type LedgerEntry,
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
const claimant = (change: Partial<CapClaimContext> = {}): CapClaimContext => ({
  machine: 'mine',
  boot: 'b',
  cap: { share: 0.49, atOnce: 0.2 },
  nodes: 9,
  lifted: false,
  now: NOW,
  ...change,
});
const finished = (count: number, change: Partial<LedgerEntry> = {}) =>
  Array.from({ length: count }, (_, at) => entry(`m-${at}`, change));
const mine: LedgerEntry = { machine: 'mine', boot: 'b', begun: NOW, finished: false, nodes: 9 };

describe('the limits', () => {
  it.each([
    [0, 1, 1],
    [1, 1, 1],
    [2, 1, 1],
    [9, 4, 1],
    [10, 4, 2],
    [100, 49, 20],
    [5_000, 2_450, 1_000],
  ])('for %i Nodes are %i within the window and %i at once', (nodes, begun, unfinished) => {
    expect(capLimits({ share: 0.49, atOnce: 0.2 }, nodes)).toEqual({ begun, unfinished });
  });
  it('lose no Node to rounding', () =>
    expect(capLimits({ share: 0.29, atOnce: 0.07 }, 100)).toEqual({ begun: 29, unfinished: 7 }));
});

describe('a claim', () => {
  const cases: readonly [string, readonly LedgerEntry[], Partial<CapClaimContext>, boolean][] = [
    ['in an empty ledger', [], {}, true],
    ['below the share', finished(3), {}, true],
    ['at the share: finished ones count', finished(4), {}, false],
    ['when one of them has left the window', [...finished(3), entry('old', { begun: NOW - 15 * MINUTE })], {}, true],
    ['while one is unfinished and no more may be', [entry('a', { finished: false })], {}, false],
    ['while one is unfinished and two may be', [entry('a', { finished: false, nodes: 10 })], { nodes: 10 }, true],
    ['for the only Node', [], { nodes: 1 }, true],
    ['after the Node of a fence was deleted: the share is that of the cluster before', finished(3), { nodes: 6 }, true],
    ['that is already entered, because a message may come twice', [...finished(4), mine], {}, true],
    ['that is already entered and finished', [...finished(4), { ...mine, finished: true }], {}, true],
    [
      'that is already entered, for a machine whose boot is no longer known',
      [...finished(4), mine],
      { boot: null },
      true,
    ],
    ['for a later boot, which counts only against the others', [...finished(3), { ...mine, boot: 'a' }], {}, true],
    ['for a later boot if the others have used up the share', [...finished(4), { ...mine, boot: 'a' }], {}, false],
    ['while the cap is lifted', finished(9, { finished: false }), { lifted: true }, true],
    [
      'next to a line dated ahead, which counts as begun now',
      [entry('a', { begun: NOW + 365 * 86_400_000, finished: false })],
      {},
      false,
    ],
    [
      'next to an unreadable line, which counts as begun now',
      [entry('a', { begun: Infinity, finished: false })],
      {},
      false,
    ],
  ];
  it.each(cases)('%s', (_, read, change, admitted) =>
    expect(admitClaim(read, claimant(change)).says.admitted).toBe(admitted),
  );

  it('is entered when it is admitted, and old lines are dropped', () => {
    expect(admitClaim([entry('old', { begun: NOW - 16 * MINUTE }), entry('young')], claimant()).write).toEqual([
      entry('young'),
      mine,
    ]);
  });
  it('replaces an older claim of the same machine', () =>
    expect(admitClaim([{ ...mine, boot: 'a' }], claimant()).write).toEqual([mine]));
  it('leaves the ledger unchanged if it is already entered or is refused', () => {
    expect(admitClaim([mine], claimant()).write).toBeNull();
    expect(admitClaim(finished(4), claimant()).write).toBeNull();
  });
  it('opens the line of a fence that continues, and keeps its time of beginning', () => {
    const over = { ...mine, begun: NOW - 5 * MINUTE, finished: true };
    expect(admitClaim([...finished(4), over], claimant()).write).toEqual([
      ...finished(4),
      { ...over, finished: false },
    ]);
    expect(admitClaim([{ ...over, begun: NOW - 15 * MINUTE }, ...finished(4)], claimant()).says.admitted).toBe(false);
  });
  it.each([
    [0, 1],
    [1, 0],
  ])('counts the latest line of a machine, in whatever order they stand (%i, %i)', (one, other) => {
    const lines = [
      entry('a', { begun: NOW - 5 * MINUTE, boot: 'former', finished: false }),
      entry('a', { begun: NOW - 2 * MINUTE, boot: 'latter' }),
    ];
    const { entries, corrected } = pruneEntries(
      [lines[one], lines[other]].flatMap((line) => line ?? []),
      NOW,
    );
    expect(entries).toEqual([lines[1]]);
    expect(corrected).toBe(false);
  });
  it('counts the last of two lines of one moment', () => {
    const two = [entry('a', { boot: 'one' }), entry('a', { boot: 'two' })];
    expect(pruneEntries(two, NOW).entries).toEqual([two[1]]);
  });
  it('mends a line that is more than a minute ahead, and leaves those beside it as they are', () => {
    const ahead = (ms: number) => pruneEntries([entry('a', { begun: NOW + ms }), entry('b')], NOW);
    expect(ahead(MINUTE)).toEqual({ entries: [entry('a', { begun: NOW + MINUTE }), entry('b')], corrected: false });
    expect(ahead(MINUTE + 1)).toEqual({ entries: [entry('a', { begun: NOW }), entry('b')], corrected: true });
  });
  it('opens when enough of the oldest have left, in whatever order they stand', () => {
    const five = [4, 2, 1, 3, 5].map((ago) => entry(`m-${ago}`, { begun: NOW - ago * MINUTE }));
    expect(admitClaim(five, claimant()).says.opens).toBe(NOW + 11 * MINUTE);
  });
  it('counts a machine once, however many lines it has', () =>
    expect(admitClaim([entry('a'), entry('a'), entry('a'), entry('a')], claimant()).says.begun).toBe(1));
  it('ages a line that is dated ahead from now on, even if it is refused: no line holds a place forever', () => {
    const { says, write } = admitClaim([entry('a', { begun: Date.UTC(9999, 0), finished: false })], claimant());
    expect(says.admitted).toBe(false);
    expect(write).toEqual([entry('a', { begun: NOW, finished: false })]);
    expect(admitClaim(write ?? [], claimant({ now: NOW + 15 * MINUTE })).says.admitted).toBe(true);
  });
  it('accepts a clock that is a few seconds ahead', () =>
    expect(admitClaim([entry('a', { begun: NOW + 5_000, finished: false })], claimant()).write).toBeNull());
  it('says when the window has moved on far enough', () => {
    const four = [4, 3, 2, 1].map((ago) => entry(`m-${ago}`, { begun: NOW - ago * MINUTE }));
    expect(admitClaim(four, claimant()).says).toMatchObject({
      begun: 4,
      limits: { begun: 4, unfinished: 1 },
      nodes: 9,
      opens: NOW + 11 * MINUTE,
    });
    expect(admitClaim([...four, entry('m-0')], claimant()).says.opens).toBe(NOW + 12 * MINUTE);
    expect(admitClaim(four.slice(1), claimant()).says.opens).toBeNull();
  });
});

describe('the end of a fence whose run died before it could enter the end', () => {
  const open = entry('a', { begun: NOW - 2 * MINUTE, finished: false });
  const nothingShows = new Set<string>();
  it('is entered once the cluster shows nothing of the fence any more, and still counts for the share', () => {
    const after = finishVanishedFences([open, mine], nothingShows, NOW);
    expect(after).toEqual([{ ...open, finished: true }, mine]);
    expect(admitClaim(after ?? [], claimant({ machine: 'other' })).says).toMatchObject({ begun: 2, unfinished: 1 });
  });
  it.each([
    ['while the cluster shows something of its machine', open, new Set(['a'])],
    ['while it may not show yet', { ...open, begun: NOW - 2 * MINUTE + 1_000 }, nothingShows],
    ['for a line that could not be read', { ...open, begun: Infinity, nodes: 0 }, nothingShows],
    ['... which has aged since', { ...open, nodes: 0 }, nothingShows],
    ['twice', { ...open, finished: true }, nothingShows],
  ])('is not entered %s', (_, one, showing) => expect(finishVanishedFences([one], showing, NOW)).toBeNull());
});

describe('the end of a fence', () => {
  it('is entered for its fence and still counts for the share', () => {
    const after = concludeEntry([entry('a'), mine], 'mine', NOW + MINUTE);
    expect(after).toEqual([entry('a'), { ...mine, finished: true }]);
    expect(admitClaim(after ?? [], claimant({ machine: 'other', now: NOW + MINUTE })).says).toMatchObject({
      begun: 2,
      unfinished: 0,
    });
  });
  it('ends no other machine’s fence', () => {
    const open = entry('a', { finished: false });
    expect(concludeEntry([open, mine], 'mine', NOW)).toEqual([open, { ...mine, finished: true }]);
    expect(concludeEntry([open], 'mine', NOW)).toBeNull();
  });
  it('needs no write if there is nothing to end', () => {
    expect(concludeEntry([entry('a')], 'mine', NOW)).toBeNull();
    expect(concludeEntry([{ ...mine, finished: true }], 'mine', NOW)).toBeNull();
  });
});
