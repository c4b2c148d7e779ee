import { inject } from 'vitest';
import type { Testbed } from './testbed-at.ts';
import { testbedAt } from './testbed-at.ts';
import type { Attacher, Restartable } from './control-plane.ts';
import { startControlPlane } from './control-plane.ts';
import { installCloudfence } from './installation.ts';

export type { Testbed } from './testbed-at.ts';

/** A control plane for one file, with the EC2 of the run. */
export interface OwnTestbed extends Testbed {
  readonly attacher: Attacher;
  readonly driver: Restartable;
  readonly apiServer: Restartable;
}

export const openTestbed = (): Promise<Testbed> => testbedAt(inject('testbed'));

/** For scenarios that would disturb others, or be disturbed. `flags` are those of the controller manager. */
export const openOwnTestbed = async (flags: readonly string[] = []): Promise<OwnTestbed> => {
  const { aws } = inject('testbed');
  const { access, attacher, driver, apiServer, stop } = await startControlPlane(aws.ec2, flags);
  const testbed = await testbedAt(await installCloudfence(access, aws));
  return {
    ...testbed,
    attacher,
    driver,
    apiServer,
    close: async () => {
      await testbed.close();
      await stop('remove');
    },
  };
};
