import { expect, it } from 'vitest';
import { openConnection } from '../../kubernetes/cluster.ts';
import { transportLink } from '../../kubernetes/exchange.ts';
import { createDiagnosisReading } from '../../kubernetes/readings/diagnosis.ts';
import { ADMIN_TOKEN } from '../../sandbox/cluster/api/server.ts';
import { CLAIMS, made, unhurried } from '../contract/cluster/harness.ts';
import { inProcess } from '../sandbox/in-process.ts';
import { faultyCluster, patientClock } from './wire.ts';

it('a diagnosis reads up to 500 claims that are stuck', async () => {
  const cluster = faultyCluster({});
  const link = transportLink(inProcess(cluster.server), ADMIN_TOKEN);
  for (let nth = 0; nth < 501; nth += 1)
    await made(cluster, CLAIMS, { metadata: { name: `claim-${nth}` }, spec: { accessModes: ['ReadWriteOnce'] } });
  const connection = openConnection({ name: 'c', link, clock: patientClock() });
  const reading = createDiagnosisReading(connection, () => null, unhurried());
  expect(await reading.stuckClaims()).toHaveLength(500);
});
