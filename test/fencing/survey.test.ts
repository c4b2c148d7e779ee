import { describe, expect, it } from 'vitest';
import { takeSurvey } from '../../fencing/loop/survey.ts';
import type { Cluster } from '../../fencing/model/cluster.ts';
import { InvalidConfiguration, Unavailable } from '../../fencing/model/errors.ts';
import type { IdentitySource } from '../../fencing/model/machine.ts';
import { begun, clusterThat, portsThat, steppingClock } from './ports.ts';
import { machine, NOW } from './view-builder.ts';

/** Which Nodes name a machine before it may be powered off. Each cluster is asked, whichever one the machine is in. */

const now = { wall: NOW, mono: 1_000 };
const known = begun({ location: { cluster: 'blue', node: 'node-a' } });

/** A cluster with Nodes that carry these sources. */
const withNodes = (name: string, nodes: Record<string, IdentitySource>): Cluster =>
  clusterThat({
    name,
    surveyConnectivity: async (node, staleFor, { machine: id, machineOf }) => ({
      unreachable: node === '' ? [] : [`${node} for ${staleFor}`],
      zone: [],
      nodesNamingMachine: Object.entries(nodes)
        .filter(([, source]) => machineOf(source) === id)
        .map(([name]) => name),
    }),
  });

const named = (value: string): IdentitySource => ({ source: 'providerID', driver: null, value });
const uuid = (value: string): IdentitySource => ({ source: 'systemUUID', driver: null, value });

describe('a survey', () => {
  it('asks its own cluster for silent Nodes, and each other one for Nodes that name the machine', async () => {
    const clusters = [
      withNodes('green', { 'node-g': named('m-1'), 'node-h': named('m-2') }),
      withNodes('blue', { 'node-a': named('m-1') }),
      withNodes('red', {}),
    ];
    expect(await takeSurvey('node-a', known, portsThat({ clusters }))).toEqual({
      unreachable: ['node-a for 60000'],
      zone: [],
      nodesNamingMachine: ['node-a'],
      elsewhere: ['node-g in green'],
      unanswered: [],
    });
  });

  it('names the clusters that did not answer, because one of them may have such a Node', async () => {
    const silent = clusterThat({
      name: 'green',
      surveyConnectivity: () => Promise.reject(new Unavailable('no route')),
    });
    const broken = clusterThat({ name: 'red', surveyConnectivity: () => Promise.reject(new TypeError('x')) });
    const survey = await takeSurvey('node-a', known, portsThat({ clusters: [withNodes('blue', {}), silent, broken] }));
    expect(survey).toMatchObject({
      elsewhere: [],
      unanswered: ['green (no route)', 'red (Cloudfence failed unexpectedly: TypeError: x)'],
    });
  });

  it('waits 20 s for a cluster that does not answer', async () => {
    const hanging = (name: string): Cluster =>
      clusterThat({ name, surveyConnectivity: () => new Promise<never>(() => undefined) });
    const waits: number[] = [];
    const timeout = (ms: number): AbortSignal => {
      waits.push(ms);
      return waits.length % 2 === 0 ? AbortSignal.timeout(0) : new AbortController().signal;
    };
    const clock = { ...steppingClock(), timeout };
    const clusters = [withNodes('blue', {}), hanging('green')];
    expect(await takeSurvey('node-a', known, portsThat({ clock, clusters }))).toMatchObject({
      unanswered: ['green (green did not answer within 20 s)'],
    });
    expect(waits).toEqual([20_000, 20_000]);
    const own = portsThat({ clock: { ...clock, timeout: () => AbortSignal.timeout(0) }, clusters: [hanging('blue')] });
    await expect(takeSurvey('node-a', known, own)).rejects.toMatchObject({
      message: 'blue did not answer within 20 s',
      retry: true,
      cause: { name: 'TimeoutError' },
    });
  });

  it('ends with its run', async () => {
    const ended = new Error('the run ended');
    const clusters = [clusterThat({ name: 'blue', surveyConnectivity: () => new Promise<never>(() => undefined) })];
    const late = { ...steppingClock(), timeout: () => AbortSignal.abort() };
    const ports = portsThat({ clock: late, clusters, signal: AbortSignal.abort(ended) });
    await expect(takeSurvey('node-a', known, ports)).rejects.toBe(ended);
  });

  it('fails if the machine’s own cluster does not answer, or is unknown', async () => {
    const silent = clusterThat({ surveyConnectivity: () => Promise.reject(new Unavailable('no route')) });
    await expect(takeSurvey('node-a', known, portsThat({ clusters: [silent] }))).rejects.toThrow(Unavailable);
    await expect(takeSurvey('node-a', known, portsThat({ clusters: [] }))).rejects.toThrow(InvalidConfiguration);
    await expect(takeSurvey('node-a', known, portsThat({ clusters: [] }))).rejects.toThrow('no cluster is named blue');
    await expect(takeSurvey('node-a', begun(), portsThat())).rejects.toThrow('no cluster is named (none)');
  });

  it('also recognizes the machine by its immutable id, if the cloud has one', async () => {
    const clusters = [withNodes('blue', { new: uuid('id-7'), other: uuid('id-8'), third: uuid('null') })];
    const reading = (incarnation: { id: string; made: null } | null) => ({
      ...known,
      machine: { value: machine({ incarnation }), requestedAt: now, receivedAt: now.mono },
    });
    const naming = async (run: typeof known) =>
      (await takeSurvey('node-a', run, portsThat({ clusters }))).nodesNamingMachine;
    expect(await naming(reading({ id: 'id-7', made: null }))).toEqual(['new']);
    expect(await naming(reading(null))).toEqual([]);
    expect(await naming(known)).toEqual([]);
  });
});
