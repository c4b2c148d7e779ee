import type { TestProject } from 'vitest/node';
import type { TestbedAccess } from './installation.ts';
import { ebsDriver } from './binaries.ts';
import { startWholeRun } from './whole-run.ts';

/**
 * One control plane and one EC2 for a whole run. Its scenarios run at the same time, on their own nodes and in their
 * own namespaces.
 */
declare module 'vitest' {
  interface ProvidedContext {
    readonly testbed: TestbedAccess;
  }
}

export type { TestbedAccess as BenchAccess } from './installation.ts';

const setUp = async (project: TestProject): Promise<() => Promise<void>> => {
  const begun = performance.now();
  const { access, stop, stopAws } = await startWholeRun();
  console.log(
    `the control plane is up after ${((performance.now() - begun) / 1000).toFixed(1)} s, ${ebsDriver === null ? 'with a stand-in for the EBS CSI driver' : `with the EBS CSI driver ${ebsDriver}`}: ${access.folder}`,
  );
  project.provide('testbed', access);
  return async () => {
    const failed = project.vitest.state.getCountOfFailedTests() > 0;
    if (failed) console.log(`logs of the control plane: ${access.folder}`);
    await Promise.all([stop(failed ? 'keep' : 'remove'), stopAws()]);
  };
};

export default setUp;
