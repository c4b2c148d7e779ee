import type { AwsWorld } from '../../../sandbox/aws-sandbox.ts';
import type { DatabaseScene } from '../../../sandbox/scenes/ec2-database.ts';
import { stateOf } from '../../simulation/state.ts';

/** What must hold whatever happens to the machine that is off: its neighbor keeps everything, and nothing is harmed. */
export const violationsIn = (world: AwsWorld, scene: DatabaseScene): readonly string[] => {
  const { violations, nodes } = stateOf(world);
  const spareNode = scene.nodeOf(scene.spare);
  return [
    ...violations.map(({ what }) => what),
    ...nodes
      .filter((line) => line.startsWith(spareNode) && line !== `${spareNode} []`)
      .map((line) => `touches ${line}`),
  ];
};
