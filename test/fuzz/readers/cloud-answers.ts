import { parseJsonOrNull } from '../../../fencing/model/json-text.ts';
import type { Cloud } from '../../../fencing/model/cloud.ts';
import { awsCloud } from '../../../providers/aws/index.ts';
import { ec2Clients } from '../../../providers/aws/client.ts';
import { azureCloud } from '../../../providers/azure/index.ts';
import { azureClients } from '../../../providers/azure/client.ts';
import { gcpCloud } from '../../../providers/gcp/index.ts';
import { computeClients } from '../../../providers/gcp/client.ts';
import { inProcessClient } from '../../../sandbox/azure/in-process-client.ts';
import { addDisk as addAzureDisk, addMachine } from '../../../sandbox/azure/scenario.ts';
import { diskIn } from '../../../sandbox/azure/state.ts';
import { handleEc2 } from '../../../sandbox/ec2/query.ts';
import { addInstance, addVolume } from '../../../sandbox/ec2/scenario.ts';
import { inProcessHandler } from '../../../sandbox/ec2/in-process-handler.ts';
import { wireCall } from '../../../sandbox/gce/in-process-fetch.ts';
import { handleGce } from '../../../sandbox/gce/rest.ts';
import { addDisk, addInstance as addGceInstance } from '../../../sandbox/gce/scenario.ts';
import { azureWorld, prefix, subscription } from '../../sandbox/azure/azure-world.ts';
import { ec2World, region } from '../../sandbox/ec2/ec2-world.ts';
import { gceWorld, requestIds } from '../../sandbox/gce/gce-world.ts';
import { bytesOf, type Damage, damaged, decoded } from '../damage.ts';
import { CANARY, type Reader, type Reading } from '../judge.ts';

/**
 * Answers of a cloud, read by its SDK. The machines run and hold their disks all the time, so no answer may make a
 * machine look off, or a disk look free. A wrong answer in the right form cannot be recognized, so some names are
 * spared.
 */

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** How the answers to one input are damaged. Only one input is played at a time. */
const present: { damage: Damage | null; answers: number; asked: Set<string>; giveUp: AbortController } = {
  damage: null,
  answers: 0,
  asked: new Set(),
  giveUp: new AbortController(),
};

const STATUSES = [201, 202, 203, 204, 206, 302, 400, 404, 405, 407, 410, 451] as const;

/** Where an answer of a cloud says who holds a disk. */
interface Form {
  readonly holder: RegExp;
  /** Keys that the cloud itself omits if nothing holds the disk. */
  readonly spared: readonly string[];
}

const ec2Form: Form = { holder: /<instanceId>[^<]*</g, spared: [] };
const armForm: Form = { holder: /"managedBy(?:Extended)?":(?:"[^"]*"|\[[^\]]*\])/g, spared: [] };
const gceForm: Form = { holder: /"users":\[[^\]]*\]/g, spared: ['users'] };

/** Whether the answer is still in the right form, and names another holder. */
const isFalseInForm = (truth: string, body: string, { holder, spared }: Form): boolean => {
  const holdersIn = (text: string): readonly string[] => [...text.matchAll(holder)].map(([one]) => one);
  const [known, said] = [holdersIn(truth), holdersIn(body)];
  const another = said.some((one) => !known.includes(one));
  return another || (spared.length > 0 && parseJsonOrNull(body) !== null && said.length < known.length);
};

/** Every fourth input has a status other than that of the answer, and every other input damages only one answer. */
const corrupt = (answer: Answer, form: Form): Answer => {
  const { damage, answers } = present;
  present.answers += 1;
  if (!damage) return answer;
  const { turn } = damage;
  if (turn % 2 === 1 && answers !== Math.floor(turn / 2) % 3) return answer;
  const status = turn % 4 === 0 ? (STATUSES[Math.floor(turn / 4) % STATUSES.length] ?? 200) : answer.status;
  const body = answer.body === '' ? '' : damaged([answer.body], damage, form.spared);
  if (isFalseInForm(answer.body, body, form)) return answer;
  return { status, body: status === 204 ? '' : body };
};

/** An SDK repeats the call after a while in real time. The case is only about the first unreadable answer. */
const heard = (question: string): void => {
  if (present.asked.has(question)) present.giveUp.abort();
  present.asked.add(question);
};

const ec2 = ec2World();
const ec2Machine = addInstance(ec2);
const ec2Disk = addVolume(ec2, {}, { instance: ec2Machine });

const awsOver = (): Cloud => {
  const inner = inProcessHandler(ec2);
  const requestHandler: typeof inner = {
    ...inner,
    handle: async ({ body }) => {
      heard(String(body));
      const { status, body: said, requestId } = handleEc2(ec2, new URLSearchParams(String(body)));
      const corrupted = corrupt({ status, body: said }, ec2Form);
      const headers = { 'content-type': 'text/xml;charset=UTF-8', 'x-amzn-requestid': requestId };
      return { response: { statusCode: corrupted.status, headers, body: new Uint8Array(bytesOf(corrupted.body)) } };
    },
  };
  const credentials = { accessKeyId: 'sandbox', secretAccessKey: CANARY };
  const { writes } = ec2Clients({ region, credentials, requestHandler });
  const passage = { check: () => undefined, through: <T>(agent: T) => agent, signal: new AbortController().signal };
  return awsCloud({ clients: { reads: writes(passage), writes }, region });
};

const arm = azureWorld();
const [alone, member] = [addMachine(arm), addMachine(arm, { set: 'Pool' })];
const held = [alone, member].map((machine) => addAzureDisk(arm, {}, { machine }));

const azureOver = (): Cloud => {
  const inner = inProcessClient(arm);
  return azureCloud(
    azureClients({
      subscription,
      credential: { getToken: async () => ({ token: CANARY, expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) },
      polling: { everyMs: 0, times: 3 },
      httpClient: {
        sendRequest: async (request) => {
          heard(`${request.method} ${request.url}`);
          const answer = await inner.sendRequest(request);
          const { status, body } = corrupt({ status: answer.status, body: answer.bodyAsText }, armForm);
          return { ...answer, status, bodyAsText: decoded(body) };
        },
      },
    }),
  );
};

const gce = gceWorld();
const gceMachine = addGceInstance(gce);
const zonal = addDisk(gce, {}, { instance: gceMachine });

const gcpOver = (): Cloud =>
  gcpCloud(
    computeClients({
      newRequestId: requestIds(),
      endpoint: 'http://sandbox.invalid',
      fetch: async (input, init) => {
        init?.signal?.throwIfAborted();
        const call = wireCall(input, init);
        heard(`${call.method} ${call.url}`);
        const { status, body } = handleGce(gce, call);
        const corrupted = corrupt({ status, body }, gceForm);
        return new Response(corrupted.status === 204 ? null : bytesOf(corrupted.body), {
          status: corrupted.status,
          headers: { 'content-type': 'application/json; charset=UTF-8' },
        });
      },
    }),
  );

interface Asked {
  readonly cloud: Cloud;
  readonly machines: readonly string[];
  readonly disks: readonly string[];
  /** Names that do not exist. */
  readonly nobody: { readonly machine: string; readonly disk: string };
  readonly volumes: readonly { readonly driver: string; readonly handle: string }[];
}

type Ask = (asked: Asked, signal: AbortSignal) => Promise<Reading>;

const looked = (facts: Awaited<ReturnType<Cloud['look']>>, allowed: readonly string[]): Reading => ({
  outcome: facts.map(({ power }) => power).join(', ') || 'nothing',
  said: facts.flatMap(({ evidence }) => evidence['requestId'] ?? []),
  wrong: facts.filter(({ power }) => !allowed.includes(power)).map(({ machine, power }) => `makes ${machine} ${power}`),
});

const asks: readonly Ask[] = [
  async ({ cloud, machines }, signal) =>
    looked(await cloud.look(machines, { disks: true }, signal), ['running', 'unknown']),
  async ({ cloud, nobody }, signal) =>
    looked(await cloud.look([nobody.machine], { disks: true }, signal), ['missing', 'unknown']),
  async ({ cloud, machines, disks }, signal) => {
    const says = await cloud.witness(machines[0] ?? '', disks.slice(0, 1), signal);
    return {
      outcome: `witness ${says}`,
      said: [],
      wrong: ['held', 'none'].includes(says) ? [] : [`the witness says ${says}`],
    };
  },
  async ({ cloud, nobody }, signal) => {
    const says = await cloud.witness(nobody.machine, [nobody.disk], signal);
    return {
      outcome: `witness ${says}`,
      said: [],
      wrong: ['held', 'none'].includes(says) ? [] : [`the witness says ${says}`],
    };
  },
  async ({ cloud, volumes }, signal) => {
    const holdings = (await cloud.holders?.(volumes, signal)) ?? [];
    const free = holdings.filter(({ by }) => by.length === 0);
    return { outcome: 'holders', said: [], wrong: free.map(() => 'a held disk has no holder') };
  },
];

/** The first number of a question for which every answer is damaged, with its own status or with another one. */
const inAskOf = (ask: number, own: number): number =>
  Array.from({ length: 140 }, (_, turn) => turn).find(
    (turn) => Math.floor(turn / 7) % asks.length === ask && turn % 4 === (own === 0 ? 2 : 0),
  ) ?? 0;

/** Each question, with all of its answers damaged, with their own status and with another one. */
const TURNS = asks.flatMap((_, at) => [0, 1].map((own) => inAskOf(at, own)));

const reader = (name: string, share: number, takes: Reader['takes'], asked: () => Asked): Reader => {
  let made: Asked | null = null;
  return {
    name,
    share,
    takes,
    turns: TURNS,
    read: async (damage) => {
      made ??= asked();
      Object.assign(present, { damage, answers: 0, asked: new Set(), giveUp: new AbortController() });
      const ask = asks[Math.floor(damage.turn / 7) % asks.length];
      return ask ? ask(made, present.giveUp.signal) : { outcome: 'nothing', said: [] };
    },
  };
};

export const cloudAnswerReaders: readonly Reader[] = [
  reader('answer of EC2', 150, 'xml', () => ({
    cloud: awsOver(),
    machines: [ec2Machine],
    disks: [ec2Disk],
    nobody: { machine: 'i-0ffffffffffffffff', disk: 'vol-0ffffffffffffffff' },
    volumes: [],
  })),
  reader('answer of ARM', 300, 'json', () => ({
    cloud: azureOver(),
    machines: [alone, member],
    disks: held,
    nobody: { machine: `${alone}0`, disk: `${prefix}/disks/nobodys` },
    volumes: held.map((disk) => ({ driver: 'disk.csi.azure.com', handle: diskIn(arm, disk)?.armId ?? disk })),
  })),
  reader('answer of Compute Engine', 60, 'json', () => ({
    cloud: gcpOver(),
    machines: [gceMachine],
    disks: [zonal],
    nobody: { machine: `${gceMachine}0`, disk: zonal.replace(/[^/]+$/, 'nobodys') },
    volumes: [],
  })),
];
