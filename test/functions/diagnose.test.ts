import { describe, expect, it } from 'vitest';
import { answerSchema } from '../../diagnosis/answer.ts';
import { diagnose as onAws } from '../../functions/aws/diagnose.ts';
import { diagnose } from '../../functions/diagnose.ts';
import { connectionOf, createCluster } from '../../kubernetes/cluster.ts';
import { createDiagnosisReading } from '../../kubernetes/diagnose-reading.ts';
import { viewDisks } from '../../providers/aws/disk-views.ts';
import { apiOf } from '../../sandbox/aws-sandbox.ts';
import { stopped } from '../simulation/incidents.ts';
import { clientsOver } from '../simulation/rig.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { installOver } from './install.ts';

const nothing = () => Promise.reject(new Error('not asked'));

/** A deployed function over the sandbox, with the shipped reading of the cluster and of the disks. */
const deployed = () => {
  const { world } = stopped();
  world.advance(120_000);
  const { dependencies } = installOver(world);
  const options = clusterIn(world, apiOf(world));
  const getDependencies = async () => ({
    ...dependencies,
    openedCloud: {
      cloud: dependencies.ports.cloud,
      readHints: () => ({ hints: [], faults: [], ignored: [] }),
      viewDisks: (volumes: Parameters<typeof viewDisks>[1], signal: AbortSignal) =>
        viewDisks(clientsOver(world).reads, volumes, signal),
      driverFaultOf: () => null,
      probes: [],
      access: { managedCluster: nothing, secret: nothing },
    },
    openClusters: [
      {
        cluster: createCluster(options),
        doctor: nothing,
        cap: nothing,
        diagnosis: async () => (faultOf: Parameters<typeof createDiagnosisReading>[1], signal: AbortSignal) =>
          createDiagnosisReading(connectionOf(options), faultOf, signal),
        open: async () => undefined,
        close: async () => undefined,
      },
    ],
  });
  return { getDependencies, limit: { getRemainingTimeInMillis: () => 60_000 } };
};

describe('the function diagnose', () => {
  it('gives the answer of the CLI, with the steps of a dry run', async () => {
    const { getDependencies, limit } = deployed();
    const answer = answerSchema.parse(await diagnose(getDependencies)({ target: 'pod/default/db-0' }, limit));
    expect(answer.findings).toMatchObject([
      {
        pod: 'default/db-0',
        cause: { kind: 'machine-off', confidence: 'proved' },
        rehearsal: { outcome: 'would-fence' },
      },
    ]);
    expect(await onAws(getDependencies)({ target: 'pod/default/db-0' }, limit)).toMatchObject({ unread: [] });
  });

  it.each([null, {}])('without a target (%j), looks at all pods that wait', async (event) => {
    const { getDependencies, limit } = deployed();
    expect((await diagnose(getDependencies)(event, limit)).findings).toHaveLength(1);
  });

  it.each([{ target: 'pod/a/b/c' }, { target: 7 }, { traget: 'pod/a/b' }, 'x'])('rejects %j', async (event) => {
    const { getDependencies, limit } = deployed();
    await expect(diagnose(getDependencies)(event, limit)).rejects.toThrow(/pod\/<namespace>\/<name>/);
  });
});
