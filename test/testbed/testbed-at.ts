import type { MotoControl } from '../contract/provider/moto-harness.ts';
import { motoControl } from '../contract/provider/moto-harness.ts';
import type { Api } from './api.ts';
import { openApi } from './api.ts';
import type { TestbedAccess } from './installation.ts';
import type { Kubelets } from '../control-plane/kubelet/kubelets.ts';
import { openKubelets } from '../control-plane/kubelet/kubelets.ts';

/** What scenarios work with: a running control plane, its EC2, and their own kubelets. */
export interface Testbed {
  readonly access: TestbedAccess;
  readonly admin: Api;
  readonly ec2: MotoControl;
  readonly kubelets: Kubelets;
  readonly close: () => Promise<void>;
}

export const testbedAt = async (access: TestbedAccess): Promise<Testbed> => {
  const admin = openApi(access.server, access.ca, access.tokens.admin);
  const [ec2, kubelets] = await Promise.all([motoControl(access.ec2.endpoint), openKubelets(admin)]);
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
