import { expect } from 'vitest';
import { z } from 'zod';
import { answerSchema, type AnswerJson } from '../../../diagnosis/answer.ts';
import type { Testbed } from '../../testbed/testbed.ts';
import { until } from '../../testbed/until.ts';
import { runAtHand } from '../entry-points/programs.ts';
import type { Scene } from '../scenes/scene.ts';

/** The result of a diagnosis, and how to know when a scene is ready for it. */

export interface Diagnosed extends AnswerJson {
  readonly code: number;
}

/** The built CLI with the credentials of a person who may read everything. */
export const diagnose = async ({ access }: Testbed, target: string): Promise<Diagnosed> => {
  const kubeconfigs = { ...access.kubeconfigs, cloudfence: access.kubeconfigs.admin };
  const { code, stdout, stderr } = await runAtHand({ ...access, kubeconfigs }, ['diagnose', target, '--json']);
  if (stdout === '') throw new Error(`diagnose ended with ${code} and said nothing but: ${stderr}`);
  return { code, ...answerSchema.parse(JSON.parse(stdout)) };
};

export const kindsOf = ({ findings }: AnswerJson): readonly string[] => findings.map(({ cause }) => cause.kind);

export const byPerson = (kind: string) => ({ code: 4, kinds: [kind], unread: [] });

export const causeOf = async ({ testbed, namespace }: Scene, pod: string) => {
  const answer = await diagnose(testbed, `pod/${namespace}/${pod}`);
  return { code: answer.code, kinds: kindsOf(answer), unread: answer.unread };
};

/** The causes for the pod, who waits for what, the next commands, and what could not be read. */
export const answered = async ({ testbed, namespace }: Scene, pod: string) => {
  const { code, findings, unread } = await diagnose(testbed, `pod/${namespace}/${pod}`);
  const [finding] = findings;
  return {
    code,
    kinds: findings.map(({ cause }) => cause.kind),
    waits: finding?.cause.waits,
    next: finding?.cause.next.join('\n'),
    unread,
  };
};

/** The answer of an expert: one cause. The exit code is 3 if a fence ends the wait, and 4 if a person has to act. */
export const expert = ({
  kind,
  code = 4,
  waits,
  next,
}: {
  readonly kind: string;
  readonly code?: 3 | 4;
  readonly waits: RegExp;
  readonly next: RegExp;
}) => ({
  code,
  kinds: [kind],
  waits: expect.stringMatching(waits),
  next: expect.stringMatching(next),
  unread: [],
});

/** Resolves once an Event of the scene, from Kubernetes or a driver, says so. */
export const waitForEvent = ({ testbed, namespace }: Scene, words: RegExp): Promise<unknown> =>
  until(`an event says ${words.source}`, async () =>
    words.test(JSON.stringify(await testbed.admin.get(`/api/v1/namespaces/${namespace}/events`))),
  );

export const notReady = ({ kubelets }: Testbed, name: string) =>
  until(
    `${name} is not Ready`,
    async () =>
      kubelets.nodes.get(name)?.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown'),
    90_000,
  );

const csiNode = z.object({ spec: z.object({ drivers: z.array(z.looseObject({ name: z.string() })) }) });

export const driversOn = async ({ admin }: Testbed, node: string) =>
  csiNode.parse(await admin.get(`/apis/storage.k8s.io/v1/csinodes/${node}`)).spec.drivers;

export const setDrivers = ({ admin }: Testbed, node: string, drivers: readonly object[]) =>
  admin.write('PATCH', `/apis/storage.k8s.io/v1/csinodes/${node}`, { spec: { drivers } });
