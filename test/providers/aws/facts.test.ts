import type { Instance } from '@aws-sdk/client-ec2';
import { describe, expect, it } from 'vitest';
import { knownMachineFacts, missingMachineFacts, unknownMachineFacts } from '../../../providers/aws/power.ts';

/** What Cloudfence reads from an answer of EC2, field by field. */

const id = 'i-0633ac2b0d9769723';
const LAUNCHED = new Date('2026-11-21T08:00:00.000Z');

const factsOf = (instance: Instance) =>
  knownMachineFacts(instance, id, { region: 'eu-west-1', requestId: 'r-1', volumes: null });

const sinceOf = (state: NonNullable<Instance['State']>['Name'], transition?: string) =>
  factsOf({
    State: { Name: state },
    LaunchTime: LAUNCHED,
    ...(transition !== undefined && { StateTransitionReason: transition }),
  }).since;

describe('the facts about an instance that EC2 knows', () => {
  it('are empty for an empty answer', () => {
    expect(factsOf({})).toEqual({
      machine: id,
      incarnation: null,
      power: 'unknown',
      forGood: false,
      generation: null,
      since: null,
      nodeNames: [`${id}.eu-west-1.compute.internal`, id],
      clusters: [],
      zone: null,
      disks: [],
      evidence: {
        state: 'none',
        stateReason: 'none',
        launchTime: 'none',
        transition: 'none',
        requestId: 'r-1',
        readFrom: 'ec2:DescribeInstances',
      },
    });
    expect(factsOf({ State: { Name: 'running' }, StateTransitionReason: '' })).toMatchObject({
      since: null,
      evidence: { transition: 'none' },
    });
  });

  it.each(['running', 'pending'] as const)('give a machine that is %s the time of its launch', (state) => {
    expect(sinceOf(state, 'User initiated (2026-11-20 22:12:11 GMT)')).toBe(LAUNCHED.getTime());
  });

  it.each(['stopping', 'stopped', 'shutting-down', 'terminated'] as const)(
    'give a machine that is %s the time in the text of its transition, and never the time of its launch',
    (state) => {
      const moment = Date.UTC(2026, 10, 21, 22, 12, 11);
      expect(sinceOf(state, 'User initiated (2026-11-21 22:12:11 GMT)')).toBe(moment);
      expect(sinceOf(state, 'Server.SpotInstanceTermination: gone (2026-11-21 22:12:11 UTC)')).toBe(moment);
      expect(sinceOf(state)).toBeNull();
    },
  );

  it('give the time of a transition in UTC, wherever Cloudfence runs', () => {
    const { TZ } = process.env;
    try {
      process.env['TZ'] = 'America/New_York';
      expect(new Date(2026, 10, 21).getTimezoneOffset()).toBe(300);
      expect(sinceOf('stopped', 'User initiated (2026-11-21 22:12:11 GMT)')).toBe(Date.UTC(2026, 10, 21, 22, 12, 11));
    } finally {
      if (TZ === undefined) delete process.env['TZ'];
      else process.env['TZ'] = TZ;
    }
  });

  it.each([
    '',
    'User initiated',
    'User initiated (2026-11-21 22:12:11 CET)',
    'User initiated (2026-11-21 22:12:11 GMT) or not',
    'User initiated (2026-11-21 22:12:11)',
    'User initiated 2026-11-21 22:12:11 GMT',
    'User initiated (x2026-11-21 22:12:11 GMT)',
    'User initiated (12026-11-21 22:12:11 GMT)',
    'User initiated (26-11-21 22:12:11 GMT)',
    'User initiated (2026-1-21 22:12:11 GMT)',
    'User initiated (2026-11-1 22:12:11 GMT)',
    'User initiated (2026-11-21 2:12:11 GMT)',
    'User initiated (2026-11-21 22:1:11 GMT)',
    'User initiated (2026-11-21 22:12:1 GMT)',
    'User initiated (2026-99-21 22:12:11 GMT)',
    'User initiated (yyyy-mm-dd hh:mm:ss GMT)',
  ])('contain no time from another text: %j', (transition) => {
    expect(sinceOf('stopped', transition)).toBeNull();
  });
});

describe('the facts about an id that EC2 does not know', () => {
  it('prove nothing', () => {
    expect(missingMachineFacts(id, null)).toMatchObject({
      machine: id,
      power: 'missing',
      forGood: false,
      generation: null,
      disks: [],
      evidence: { state: 'not found', readFrom: 'ec2:DescribeInstances' },
    });
    expect(unknownMachineFacts(id, 'contradictory')).toMatchObject({
      machine: id,
      power: 'unknown',
      forGood: false,
      generation: null,
      evidence: { state: 'contradictory', readFrom: 'ec2:DescribeInstances' },
    });
  });

  it('name the disks that still name it', () => {
    const volume = { VolumeId: 'vol-1', Attachments: [{ InstanceId: id, State: 'attached' as const }] };
    expect(missingMachineFacts(id, [volume]).disks).toMatchObject([{ disk: 'vol-1', state: 'attached' }]);
  });
});
