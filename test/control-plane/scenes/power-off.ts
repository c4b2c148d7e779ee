import type { CliAnswer } from '../entry-points/programs.ts';
import { cloudfence, deliver, stateChanges } from '../entry-points/programs.ts';
import type { TestbedNode } from '../../testbed/machines.ts';
import type { Scene } from './scene.ts';
import { podsOn } from './world.ts';

interface Aftermath {
  /** Pods that ran on the other nodes when the power went off and that have changed since. */
  readonly harmed: () => readonly string[];
}

/** What Cloudfence said about a node whose machine was powered off. */
export interface Fence extends CliAnswer, Aftermath {
  /** What it says that it left alone, except the machine's root device. */
  readonly left: CliAnswer['says']['left'];
}

const stop = async (scene: Scene, dead: TestbedNode): Promise<Aftermath> => {
  const living = scene.nodes.filter((node) => node !== dead);
  const before = podsOn(scene, living);
  await dead.stop();
  return {
    harmed: () => {
      const now = new Set(podsOn(scene, living));
      return before.filter((pod) => !now.has(pod));
    },
  };
};

/** The power goes off, and a person runs the CLI. */
export const powerOff = async (scene: Scene, dead: TestbedNode): Promise<Fence> => {
  const { harmed } = await stop(scene, dead);
  const answer = await cloudfence(scene.testbed.access, 'fence', dead.instance);
  return { ...answer, left: answer.says.left.filter(({ why }) => why !== 'root device'), harmed };
};

/**
 * The power goes off, and EC2 sends an event to the AWS handler.
 * @throws Error if the handler requests the event again
 */
export const powerOffWithEvent = async (scene: Scene, dead: TestbedNode): Promise<Aftermath> => {
  const { access } = scene.testbed;
  const aftermath = await stop(scene, dead);
  const { batchItemFailures } = await deliver(access, stateChanges(dead.instance, ['stopping', 'stopped'], access.ec2));
  if (batchItemFailures.length > 0) throw new Error(`the handler could not see to ${dead.instance}`);
  return aftermath;
};
