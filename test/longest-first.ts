import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take half a minute or more, or much processor time, the longest first. Others start after these have
 * started.
 */
const LONG: readonly string[] = [
  'control-plane/diagnosis/held.e2e',
  'control-plane/scenarios/many-at-once.e2e',
  'control-plane/scenarios/cloud-controller.e2e',
  'control-plane/permissions/permissions.e2e',
  'control-plane/faults/frozen.e2e',
  'control-plane/drill/drill.e2e',
  'control-plane/scenarios/sweep.e2e',
  'control-plane/diagnosis/diagnose.e2e',
  'control-plane/faults/faults.e2e',
  'control-plane/scenarios/stuck.e2e',
  'control-plane/scenarios/partition.e2e',
  'control-plane/scenarios/others-hands.e2e',
  'control-plane/scenarios/odd-nodes.e2e',
  'control-plane/scenarios/attacher.e2e',
  'control-plane/scenarios/stateful-set.e2e',
  'control-plane/scenarios/returning.e2e',
  'control-plane/scenarios/swap.e2e',
  'control-plane/scenarios/release.e2e',
  'control-plane/scenarios/mid-fence.e2e',
  'control-plane/scenarios/outlived-mark.e2e',
  'control-plane/permissions/admission-policy.e2e',
  'control-plane/faults/killed.e2e',
  'package/package',
  'deploy/roles.deploy',
  'deploy/events.deploy',
  'exploration/exploration.thorough',
  'infra/aws/packaged.thorough',
  'infra/gcp/commands.thorough',
  'architecture/without-a-cloud.thorough',
  'infra/azure/commands.thorough',
  'deploy/deploy.moto',
  'exploration/unsafe-variants.thorough',
  'fuzz/fuzz',
  'exploration/exploration',
  'random/random',
  'providers/events/bounds',
  'transport/answers',
  'simulation/stale',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return at === -1 ? LONG.length : at;
};

/** Runs the slowest files first. In a new checkout, the test runner does not know yet how long a file takes. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}
