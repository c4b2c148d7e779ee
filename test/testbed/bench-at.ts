import type { MotoHand } from '../contract/provider/moto-bench.ts';
import { motoHand } from '../contract/provider/moto-bench.ts';
import type { Api } from './api.ts';
import { openApi } from './api.ts';
import type { BenchAccess } from './installation.ts';
import type { Kubelets } from '../control-plane/kubelet/kubelets.ts';
import { openKubelets } from '../control-plane/kubelet/kubelets.ts';

/** What scenarios work with: a running control plane, its EC2, and kubelets of their own. */
export interface Bench {
  readonly access: BenchAccess;
  readonly admin: Api;
  readonly ec2: MotoHand;
  readonly kubelets: Kubelets;
  readonly close: () => Promise<void>;
}

export const benchAt = async (access: BenchAccess): Promise<Bench> => {
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
