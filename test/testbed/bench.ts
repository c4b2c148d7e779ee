import { inject } from 'vitest';
import type { Bench } from './bench-at.ts';
import { benchAt } from './bench-at.ts';
import type { Attacher, Restartable } from './control-plane.ts';
import { startControlPlane } from './control-plane.ts';
import { installCloudfence } from './installation.ts';

export type { Bench } from './bench-at.ts';

/** A control plane of one file's own, on the run's EC2. */
export interface OwnBench extends Bench {
  readonly attacher: Attacher;
  readonly driver: Restartable;
  readonly apiServer: Restartable;
}

export const openBench = (): Promise<Bench> => benchAt(inject('bench'));

/** For scenarios that would disturb others, or be disturbed: `flags` are the controller manager's. */
export const openOwnBench = async (flags: readonly string[] = []): Promise<OwnBench> => {
  const { aws } = inject('bench');
  const { access, attacher, driver, apiServer, stop } = await startControlPlane(aws.ec2, flags);
  const bench = await benchAt(await installCloudfence(access, aws));
  return {
    ...bench,
    attacher,
    driver,
    apiServer,
    close: async () => {
      await bench.close();
      await stop('remove');
    },
  };
};
