import { describe, expect, it } from 'vitest';
import { type FenceRecord, parseRecord } from '../../fencing/model/record.ts';
import { FENCED_LABEL, RECORD_ANNOTATION, SEAL_LABEL } from '../../kubernetes/names.ts';
import { nodeFacts } from '../../kubernetes/node-facts.ts';
import { isForged } from '../../fencing/model/cluster-facts.ts';
import { brokenSeal, isSealed, sealLabel, unmatchedSeal } from '../../kubernetes/record-seal.ts';
import { ago, attachedAtMark as volumes, record } from '../fencing/view-builder.ts';

const sealed = (labels: Readonly<Record<string, string>> = sealLabel(record())) => ({ metadata: { labels } });
const textWith = (change: object) => JSON.stringify({ ...record(), ...change });
const recordWith = (change: object) => parseRecord(textWith(change));
const forged = (change: object) => unmatchedSeal(sealed(), recordWith(change)) !== null;

describe('a record that a kubelet has changed', () => {
  it.each<[string, Partial<FenceRecord>]>([
    ['phase', { phase: 'releasing' }],
    ['machine', { machine: 'm-2' }],
    ['generation', { generation: null }],
    ['generationDrifts', { generationDrifts: true }],
    ['nodeUid', { nodeUid: 'another' }],
    ['bootID', { bootID: 'boot-b' }],
    ['outOfService', { outOfService: 'foreign' }],
    ['released', { released: ago(1_000) }],
    ['vouched', { vouched: 'the kubelet' }],
    ['volumes', { volumes }],
    ['pods', { pods: [] }],
    ['recurring', { recurring: ['pod'] }],
    ['fence', { fence: 'run.2' }],
  ])('does not match its seal: %s', (_, change) => expect(forged(change)).toBe(true));

  it('does not match its seal if it cannot be read', () => {
    expect(unmatchedSeal(sealed(), null)).toBe(sealLabel(record())[SEAL_LABEL]);
  });
});

describe('a record that Cloudfence wrote', () => {
  it('matches its seal, whatever only delays or reports something', () => {
    expect([forged({}), forged({ begun: ago(9_000), lease: ago(9_000), evidence: { a: 'b' } })]).toEqual([
      false,
      false,
    ]);
    const released = record({ released: ago(5_000) });
    expect(isSealed(sealed(sealLabel(released)), record({ released: ago(1_000) }))).toBe(true);
  });

  it('matches its seal, whatever the order of its fields was when it was written', () => {
    const written = record({ volumes });
    const shuffled = record({ volumes: volumes.map(({ driver, ...rest }) => ({ ...rest, driver })) });
    expect(JSON.stringify(shuffled)).not.toBe(JSON.stringify(written));
    expect(unmatchedSeal(sealed(sealLabel(shuffled)), parseRecord(JSON.stringify(shuffled)))).toBeNull();
    expect(isSealed(sealed(sealLabel(written)), shuffled)).toBe(true);
  });

  it('matches no broken seal', () => {
    expect(unmatchedSeal(sealed(brokenSeal), record())).toBe('broken');
    expect(brokenSeal).toEqual({ [SEAL_LABEL]: 'broken' });
  });

  // If the digest of the same record changes, each record that an earlier version has sealed counts as changed.
  it('has the same seal in every version', () => {
    expect([sealLabel(record()), sealLabel(record({ released: ago(5_000) }))]).toEqual([
      { [SEAL_LABEL]: 'dbfb2c9bff040c6040a25c75cfd01d7c1eb27751' },
      { [SEAL_LABEL]: 'e0db95b22f784b37e4515e33ca75e31b6a41affd' },
    ]);
  });

  it('has no seal if an earlier version wrote it', () => {
    expect([unmatchedSeal({}, null), unmatchedSeal(sealed({}), recordWith({ phase: 'releasing' }))]).toEqual([
      null,
      null,
    ]);
  });

  it('has a seal that can be the value of a label', () => {
    expect(sealLabel(record())[SEAL_LABEL]).toMatch(/^[0-9a-f]{40}$/);
  });
});

it('a Node with a changed record has the facts of a Node without one, and keeps its text for the next patch', () => {
  const factsOf = (text: string) =>
    nodeFacts(
      {
        metadata: {
          labels: { [FENCED_LABEL]: 'run.1', ...sealLabel(record()) },
          annotations: { [RECORD_ANNOTATION]: text },
        },
      },
      [],
    );
  const text = textWith({ generation: null });
  const seal = sealLabel(record())[SEAL_LABEL];
  const facts = [factsOf(text), factsOf(textWith({})), nodeFacts(sealed(), [])];
  expect(facts).toMatchObject([
    { record: null, recordText: text, unmatchedSeal: seal, label: 'run.1' },
    { record: { generation: 'boot-1' }, unmatchedSeal: null },
    { record: null, recordText: null, unmatchedSeal: seal },
  ]);
  expect(facts.map(isForged)).toEqual([true, false, false]);
});
