import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startMoto } from '../contract/provider/moto-server.ts';
import { openStrictProxy } from '../contract/provider/strict-proxy.ts';
import type { ControlPlaneAccess, Ec2Access } from './control-plane.ts';
import { startControlPlane } from './control-plane.ts';
import { openGuard } from './guard.ts';

/** One control plane and one EC2 for a whole run: its scenarios live side by side, on nodes and in namespaces of their own. */
export interface BenchAccess extends ControlPlaneAccess {
  readonly ec2: Ec2Access;
  /** Path of Cloudfence's configuration. */
  readonly settings: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly bench: BenchAccess;
  }
}

const region = 'us-east-1';

/** The defaults, but for the cap on fences under way: it would let only one scenario run at a time. */
const writeSettings = async (folder: string): Promise<string> => {
  const path = join(folder, 'cloudfence.json');
  await writeFile(path, JSON.stringify({ policy: { cap: { nodes: 100 } } }));
  return path;
};

/** moto behind the proxy that refuses what EC2 refuses. */
const startEc2 = async () => {
  const guard = openGuard();
  const moto = await startMoto();
  guard.watch(moto);
  const proxy = await openStrictProxy(moto.url, region);
  const stop = async (): Promise<void> => {
    await proxy.close();
    await guard.dismiss();
  };
  return { access: { endpoint: proxy.url, region }, stop };
};

const setUp = async (project: TestProject): Promise<() => Promise<void>> => {
  const begun = performance.now();
  const ec2 = await startEc2();
  const { access, stop } = await startControlPlane(ec2.access);
  console.log(`the control plane is up after ${((performance.now() - begun) / 1000).toFixed(1)} s: ${access.folder}`);
  project.provide('bench', { ...access, ec2: ec2.access, settings: await writeSettings(access.folder) });
  return async () => {
    const failed = project.vitest.state.getCountOfFailedTests() > 0;
    if (failed) console.log(`logs of the control plane: ${access.folder}`);
    await Promise.all([stop(failed ? 'keep' : 'remove'), ec2.stop()]);
  };
};

export default setUp;
