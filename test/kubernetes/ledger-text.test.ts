import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry, LedgerState } from '../../fencing/model/cap-use.ts';
import { admitReservation, concludeEntry } from '../../fencing/model/ledger.ts';
import { type MapData, parseLedger, shortMachine, serializeLedger } from '../../kubernetes/ledger-text.ts';
import { reserveBefore, concludeBefore } from './ledger-before.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const WINDOW = 15 * MINUTE;

const entry = (nth: number, change: Partial<LedgerEntry> = {}): LedgerEntry => ({
  machine: shortMachine(`i-${nth}`),
  boot: 'boot-1',
  begun: NOW - MINUTE,
  finished: true,
  nodes: 900,
  ...change,
});
const entries = (count: number, change: Partial<LedgerEntry> = {}) =>
  Array.from({ length: count }, (_, nth) => entry(nth, change));
const counted = (count: number, begun = NOW - 2 * MINUTE) => ({ begun, count, nodes: 900, names: [] });
const linesOf = (data: MapData, key: string) => (data[key] ?? '').split('\n').filter((line) => line !== '');

describe('the text of the ledger', () => {
  it('contains what was written into it', () => {
    const state: LedgerState = {
      entries: [entry(1), entry(2, { finished: false }), entry(3, { boot: '' })],
      counted: [counted(40), counted(1_000, NOW - 3 * MINUTE)],
    };
    expect(parseLedger(serializeLedger(state))).toEqual(state);
  });
  it('has one line for each entry, and nothing else, while every fence has an entry', () => {
    const begun = NOW / 1_000;
    expect(serializeLedger({ entries: [entry(1, { begun: NOW + 999 })], counted: [] })).toEqual({
      fences: `${shortMachine('i-1')} boot-1 ${begun} f 900`,
      counts: '',
    });
    expect(serializeLedger({ entries: [], counted: [counted(3, NOW)] })).toEqual({
      fences: '0\n1\n2',
      counts: `${begun} 3 900`,
    });
  });
  it('is empty if the ConfigMap has no data', () =>
    expect([parseLedger(), parseLedger({}), parseLedger({ fences: ' \n', counts: '\n ' })]).toEqual(
      [1, 2, 3].map(() => ({ entries: [], counted: [] })),
    ));
  it.each([
    ['fences', 'all your base', 1],
    ['fences', '0\n1\n1', 3],
    ['fences', `0\n1\n${'A'.repeat(400)} - 1 o 9`, 3],
    ['fences', 'x0123456789 boot-1 1 f 9', 1],
    ['fences', '0123456789 boot-1 1 f 9x', 1],
    ['counts', 'all your base', 1],
    ['counts', `1 1234567 9\n1 2`, 2],
    ['counts', `x1 1 1\n1 1 1x`, 2],
  ])('counts each line of %s that it cannot read as a fence that begins now: %j', (key, text, count) => {
    const read = parseLedger({ [key]: text });
    expect([...read.entries, ...read.counted]).toHaveLength(count);
    for (const one of [...read.entries, ...read.counted]) expect(one).toMatchObject({ begun: Infinity, nodes: 0 });
    for (const one of read.entries) expect(one).toMatchObject({ finished: false, boot: '' });
    for (const one of read.counted) expect(one.count).toBe(1);
  });
  it('lists the names of fences that are only counted after their minute, and no more than there are fences', () => {
    const named = { ...counted(3), names: ['mine..b...', 'aA-_09BOOT'] };
    const data = serializeLedger({ entries: [], counted: [named, counted(2)] });
    expect(linesOf(data, 'counts')[0]).toMatch(/^\d+ 3 900 mine\.\.b\.\.\.aA-_09BOOT$/);
    expect(parseLedger(data).counted).toEqual([named, counted(2)]);
    const tooMany = (data['counts'] ?? '').replace(' 3 ', ' 1 ');
    expect(parseLedger({ counts: tooMany }).counted[0]).toMatchObject({ count: 1, names: ['mine..b...'] });
  });
  it.each(['1 3 900 mine', '1 3 900 mine..b...x', '1 3 900 mine..b..+'])('ignores broken names: %j', (counts) => {
    expect(parseLedger({ counts }).counted).toMatchObject([{ begun: Infinity, count: 1, names: [] }]);
  });
  it('reads the last 10,000 lines', () => {
    const text = Array.from({ length: 12_000 }, (_, nth) => `line ${nth}`).join('\n');
    const read = [parseLedger({ fences: text }).entries, parseLedger({ counts: text }).counted];
    expect(read.map(({ length }) => length)).toEqual([10_000, 10_000]);
    expect(parseLedger({ fences: text }).entries[0]?.machine).toBe(shortMachine('line 2000'));
  });
  it('counts at most 10,000 fences without an entry, and at most 999,999 in one line', () => {
    const data = serializeLedger({ entries: [], counted: [counted(5_000_000)] });
    expect(linesOf(data, 'fences')).toHaveLength(10_000);
    expect(parseLedger(data).counted).toEqual([counted(999_999)]);
    expect(parseLedger(data).entries).toEqual([]);
  });
  it('stays short: 1,000 of 5,000 Nodes fenced within a minute, of which 50 are open', () => {
    const fences = [...entries(950), ...entries(1_000, { finished: false }).slice(950)];
    const write = concludeEntry({ entries: fences, counted: [] }, { machine: shortMachine('i-999'), boot: null }, NOW);
    expect(JSON.stringify(serializeLedger(write ?? { entries: [], counted: [] })).length).toBeLessThan(10_000);
  });
});

describe('a fence that is only counted, next to a function of an older version', () => {
  const cap = { share: 0.49, atOnce: 0.2 };
  const wanted = { machine: 'i-new', now: NOW, nodes: 900, cap };

  it('is a line that the older version counts as an unfinished fence that begins now', () => {
    const data = serializeLedger({ entries: [], counted: [counted(179)] });
    expect(reserveBefore(data['fences'] ?? '', wanted).admitted).toBe(true);
    const full = serializeLedger({ entries: [], counted: [counted(180)] });
    expect(reserveBefore(full['fences'] ?? '', wanted).admitted).toBe(false);
  });
  it('stays the same, although the older version writes it as an entry', () => {
    const before = { entries: [entry(1)], counted: [counted(300)] };
    const data = serializeLedger(before);
    const after = { ...data, fences: reserveBefore(data['fences'] ?? '', wanted).text };
    expect(linesOf(after, 'fences')).toHaveLength(301);
    expect(parseLedger(after)).toEqual(before);
  });
  it('counts as a fence that begins now if somebody has removed the count', () => {
    const { fences = '' } = serializeLedger({ entries: [], counted: [counted(300)] });
    expect(parseLedger({ fences }).entries).toHaveLength(300);
    const rewritten = reserveBefore(fences, wanted).text;
    expect(parseLedger({ fences: rewritten }).entries).toHaveLength(300);
  });
});

/** A world in which both versions run. Some machine gets a reservation or an end from one of them, or time passes. */
const move = fc.record({
  does: fc.constantFrom('reserve', 'reserve', 'reserve', 'conclude', 'conclude', 'wait'),
  version: fc.constantFrom('old', 'new', 'new'),
  machine: fc.nat({ max: 400 }),
  times: fc.integer({ min: 1, max: 60 }),
});

describe('both versions side by side', () => {
  const NODES = 300;
  const cap = { share: 0.4, atOnce: 0.3 };

  it('never admit more fences than the cap allows, and admit fences again after a window', () => {
    fc.assert(
      fc.property(fc.array(move, { minLength: 20, maxLength: 60 }), (moves) => {
        let now = NOW;
        let data: MapData = {};
        const begun = new Map<string, number>();
        const reserves = (version: string, machine: string): boolean => {
          if (version === 'old') {
            const { admitted, text } = reserveBefore(data['fences'] ?? '', { machine, now, nodes: NODES, cap });
            data = { ...data, fences: text };
            return admitted;
          }
          const asked = { machine: shortMachine(machine), boot: 'boot-1', cap, nodes: NODES, isOverridden: false, now };
          const { says, write } = admitReservation(parseLedger(data), asked);
          if (write) data = serializeLedger(write);
          return says.admitted;
        };
        const concludes = (version: string, machine: string): void => {
          if (version === 'old') data = { ...data, fences: concludeBefore(data['fences'] ?? '', machine, now) };
          else {
            const write = concludeEntry(parseLedger(data), { machine: shortMachine(machine), boot: 'boot-1' }, now);
            if (write) data = serializeLedger(write);
          }
        };
        for (const { does, version, machine, times } of moves)
          for (let nth = 0; nth < times; nth += 1) {
            const name = `i-${(machine + nth) % 400}`;
            if (does === 'wait') now += 1_000;
            else if (does === 'conclude') concludes(version, name);
            else if (reserves(version, name)) {
              if (now - (begun.get(name) ?? -Infinity) >= WINDOW) begun.set(name, now);
              const recent = [...begun.values()].filter((at) => now - at < WINDOW - 1_000);
              expect(recent.length).toBeLessThanOrEqual(cap.share * NODES);
            }
          }
        now += WINDOW + MINUTE;
        expect(reserves('new', 'i-later')).toBe(true);
      }),
      { numRuns: 25, seed: 11, endOnFailure: true },
    );
  });
});
