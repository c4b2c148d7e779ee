import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import { defaultPolicy } from '../../../fencing/model/policy.ts';
import { onEvent } from '../../../functions/aws/on-event.ts';
import { sweep } from '../../../functions/sweep.ts';
import { bodyText } from '../../../functions/messages.ts';
import { openConnection } from '../../../kubernetes/cluster.ts';
import { type CapStatus, createCapControl } from '../../../kubernetes/ledger.ts';
import { CAP_OVERRIDE, LEDGER, PAUSE_KEY, SETTINGS } from '../../../kubernetes/names.ts';
import { type AwsWorld, apiOf, createAwsSandbox } from '../../../sandbox/aws-sandbox.ts';
import { writerAs } from '../../../sandbox/cluster/controllers/object-writer.ts';
import { getObject } from '../../../sandbox/cluster/get-objects.ts';
import { databaseOnTwoNodes } from '../../../sandbox/scenes/ec2-database.ts';
import { batchOf, installOver, stateChange } from '../../functions/install.ts';
import { clusterIn, never } from '../../sandbox/in-process.ts';
import { stopMachine } from '../../simulation/incidents.ts';
import { type Damage, damaged, decoded } from '../damage.ts';
import type { Reader, Reading } from '../judge.ts';
import { violationsIn } from './violations.ts';
import { deliverTo, type Stage } from './stage.ts';

/** The two ConfigMaps: the ledger, which runs write, and the settings, which people write. */

const off = createAwsSandbox({ seed: 8, now: Date.UTC(2026, 0, 1) });
const scene = databaseOnTwoNodes(off);
stopMachine(off, scene.holder);
off.advance(60_000);

const second = Math.floor(off.now() / 1_000);
const line = (name: string, age: number, state: string): string => `${name} bootbt ${second - age} ${state} 9`;
const samples = [
  {
    ledger: [line('machine-01', 100, 'o'), line('machine-02', 800, 'f'), line('machine-03', 4_000, 'f')].join('\n'),
    settings: { [PAUSE_KEY]: 'until the migration is over' },
  },
  {
    ledger: line('machine-01', 2_000, 'f'),
    settings: {
      [CAP_OVERRIDE.until]: new Date(off.now() + 1_800_000).toISOString(),
      [CAP_OVERRIDE.reason]: 'the zone is lost',
      [PAUSE_KEY]: 'false',
    },
  },
].map((one) => JSON.stringify(one));

/** The API server accepts only texts, and a ConfigMap of at most a megabyte. */
const LONGEST = 1_000_000;
const textOf = (value: unknown): string => bodyText(value).slice(0, LONGEST);

const textsOf = (value: unknown): Record<string, string> =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .slice(0, 50)
          .map(([key, one]) => [key, textOf(one)]),
      )
    : { [PAUSE_KEY]: textOf(value) };

const write = (
  world: AwsWorld,
  { namespace, name }: typeof SETTINGS | typeof LEDGER,
  data: Record<string, string>,
): void => {
  const writer = writerAs(world, 'admin');
  const map = getObject(world, 'configmaps', name, namespace);
  if (map) writer.change('configmaps', map, (draft) => Object.assign(draft, { data }));
  else writer.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data });
};

const open = (text: string) => {
  const world = off.fork();
  const read = parseJsonOrNull(text);
  const { ledger, settings } = {
    ledger: text,
    settings: {},
    ...(typeof read === 'object' && !Array.isArray(read) ? read : {}),
  };
  write(world, LEDGER, { [LEDGER.fences]: textOf(ledger) });
  write(world, SETTINGS, textsOf(settings));
  const { lines, dead, sentAgain, dependencies, context } = installOver(world);
  const stage: Stage = {
    world,
    done: () => [],
    take: () => ({
      lines: lines.splice(0),
      dead: dead.splice(0),
      sent: sentAgain.splice(0).map(({ message }) => JSON.stringify(message)),
    }),
  };
  return { world, stage, dependencies, context };
};

const isMoment = (ms: number | null): boolean => ms === null || Number.isFinite(new Date(ms).getTime());

const impossible = ({ fences, opens, override, limits }: CapStatus): readonly string[] => [
  ...(fences.every(({ begun }) => isMoment(begun)) ? [] : ['a fence began at no time']),
  ...(isMoment(opens) ? [] : ['the cap opens at no time']),
  ...(isMoment(override?.until ?? null) ? [] : ['the lift ends at no time']),
  ...(Object.values(limits).every((limit) => limit >= 1) ? [] : ['the cap is below one']),
];

/** What `cloudfence cap` prints. */
const shown = async (world: AwsWorld): Promise<Reading> => {
  const status = await createCapControl(openConnection(clusterIn(world, apiOf(world)))).status(
    defaultPolicy.cap,
    never(),
  );
  return {
    outcome: status?.override ? 'override' : 'shown',
    said: [status?.override?.reason ?? ''],
    wrong: status ? impossible(status) : ['finds no ledger'],
  };
};

/** An API server would not store a longer text (characters). */
const writtenIn = (world: AwsWorld): readonly string[] => {
  const text = getObject(world, 'configmaps', LEDGER.name, LEDGER.namespace)?.data?.[LEDGER.fences] ?? '';
  return text.length > LONGEST ? [`the ledger has ${text.length} characters`] : [];
};

const delivered = async (text: string, byEvent: boolean): Promise<Reading> => {
  const { world, stage, dependencies, context } = open(text);
  const get = async () => dependencies;
  const reading = await deliverTo(stage, async () => ({
    body: null,
    answer: byEvent
      ? await onEvent(get)(batchOf(stateChange(scene.holder)), context())
      : await sweep(get)(null, context()),
    again: false,
  }));
  return { ...reading, wrong: [...(reading.wrong ?? []), ...violationsIn(world, scene), ...writtenIn(world)] };
};

export const controlMapReaders: readonly Reader[] = [
  {
    name: 'ledger and settings',
    share: 60,
    takes: 'json',
    turns: [0, 1, 2],
    read: async (damage: Damage) => {
      const text = decoded(damaged(samples, damage));
      return damage.turn % 3 === 2 ? shown(open(text).world) : delivered(text, damage.turn % 3 === 0);
    },
  },
];
