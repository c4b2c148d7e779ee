import { fork } from 'node:child_process';
import { once } from 'node:events';
import { crowdOf } from './crowd.ts';
import { openServers, type ServerTraffic } from './servers.ts';
import { finding, type Finding, type Job } from './job.ts';
import type { Question } from './scenes.ts';

/** The cost of one question in a cluster of one size. */
export interface Measured extends ServerTraffic, Finding {
  readonly nodes: number;
}

const client = new URL('client.ts', import.meta.url);

/** Asks a new process, so that no answer is prepared by another one, and the memory is its own. */
const ask = async (job: Job): Promise<Finding> => {
  const child = fork(client, { execArgv: ['--expose-gc'] });
  const ended = once(child, 'exit');
  const answered = once(child, 'message');
  child.send(job);
  const [message]: unknown[] = await Promise.race([
    answered,
    ended.then(([code]) => Promise.reject(new Error(`the client ended with ${code} and no answer`))),
  ]);
  await ended;
  return finding.parse(message);
};

/** @throws if a run did not end as it should, because then its cost has no meaning */
export const measure = async ({ asks, scene }: Question, nodes: number): Promise<Measured> => {
  const { world, living, machine, ends } = await scene();
  const servers = await openServers(world, crowdOf(nodes - living, world.now()));
  try {
    const { kubernetes, ec2 } = servers;
    const found = await ask({ kubernetes, ec2, now: world.now(), machine });
    const said = found.outcomes.map(({ outcome }) => outcome).toSorted();
    if (said.join() !== ends.join()) throw new Error(`${asks}, at ${nodes} nodes: ${JSON.stringify(found.outcomes)}`);
    return { nodes, ...found, ...servers.through() };
  } finally {
    await servers.close();
  }
};
