import { inject } from 'vitest';
import type { MotoHand } from '../contract/provider/moto-bench.ts';
import { motoHand } from '../contract/provider/moto-bench.ts';
import type { Api } from './api.ts';
import { openApi } from './api.ts';
import type { BenchAccess } from './bench-setup.ts';
import type { Kubelets } from './kubelets.ts';
import { openKubelets } from './kubelets.ts';

/** What a file of scenarios works with: the run's shared control plane, its EC2, and kubelets of the file's own. */
export interface Bench {
  readonly access: BenchAccess;
  readonly admin: Api;
  readonly ec2: MotoHand;
  readonly kubelets: Kubelets;
  readonly close: () => Promise<void>;
}

export const openBench = async (): Promise<Bench> => {
  const access = inject('bench');
  const admin = openApi(access.server, access.ca, access.tokens.admin);
  const [ec2, kubelets] = await Promise.all([motoHand(access.ec2.endpoint), openKubelets(admin)]);
  return {
    access,
    admin,
    ec2,
    kubelets,
    close: async () => {
      kubelets.close();
      ec2.client.destroy();
      await admin.close();
    },
  };
};
