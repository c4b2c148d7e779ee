import { expect } from 'vitest';
import type { Testbed } from '../../testbed/testbed.ts';
import { beginCloudfence } from '../entry-points/programs.ts';
import { openGates } from '../faults/gates.ts';
import { strikeAt } from '../faults/strike.ts';
import { openStage, type Stage } from './stage.ts';
import { MARKED, worldOf } from './world.ts';

/** A database whose machine has stopped, and whose fence died right after its mark, before it deleted anything. */
export const diedAfterMark = async (testbed: Testbed, title: string): Promise<Stage> => {
  const stage = await openStage(testbed, title);
  const { scene, home, refuge } = stage;
  const gates = await openGates(testbed.access);
  await home.stop();
  const begun = beginCloudfence(gates.access, 'fence', home.instance);
  gates.handle(strikeAt({ change: 'mark', nth: 1 }, 'after', () => begun.kill('SIGKILL')));
  await begun.ended;
  await gates.close();
  expect((await worldOf(scene)).ours).toEqual({ [home.name]: MARKED, [refuge.name]: [] });
  return stage;
};
