import { startMoto } from '../contract/provider/moto-server.ts';
import { openStrictProxy } from '../contract/provider/strict-proxy.ts';
import type { BareControlPlane } from './control-plane.ts';
import { startControlPlane } from './control-plane.ts';
import { packageFunctions } from '../control-plane/entry-points/functions.ts';
import { openGuard } from './guard.ts';
import { installCloudfence, type AwsAccess, type TestbedAccess } from './installation.ts';
import { openMultiAttach } from '../control-plane/scenes/multi-attach.ts';

/** A control plane with Cloudfence. */
export interface Installed {
  readonly access: TestbedAccess;
  readonly stop: BareControlPlane['stop'];
}

/** The same, with the EC2 and the packaged functions that it uses, which can also serve other control planes. */
export interface WholeRun extends Installed {
  readonly stopAws: () => Promise<void>;
}

const region = 'us-east-1';

/**
 * Moto behind the proxy that rejects what EC2 rejects, and behind the one that lets several instances share a volume.
 */
const startAws = async () => {
  const guard = openGuard();
  const moto = await startMoto();
  guard.watch(moto);
  const proxy = await openStrictProxy(moto.url, region);
  const front = await openMultiAttach(proxy.url);
  const stop = async (): Promise<void> => {
    await Promise.all([front.close(), proxy.close()]);
    await guard.dismiss();
  };
  return { endpoint: moto.url, ec2: { endpoint: front.url, region }, stop };
};

/** One more control plane with the EC2 of a run. `flags` are those of the controller manager. */
export const startOn = async (aws: AwsAccess, flags: readonly string[]): Promise<Installed> => {
  const { access, stop } = await startControlPlane(aws.ec2, flags);
  return { access: await installCloudfence(access, aws), stop };
};

export const startWholeRun = async (): Promise<WholeRun> => {
  const { stop: stopEc2, ...cloud } = await startAws();
  const [{ access, stop }, functions] = await Promise.all([startControlPlane(cloud.ec2), packageFunctions()]);
  return {
    access: await installCloudfence(access, { ...cloud, functions: functions.folder }),
    stop,
    stopAws: async () => {
      await Promise.all([stopEc2(), functions.remove()]);
    },
  };
};
