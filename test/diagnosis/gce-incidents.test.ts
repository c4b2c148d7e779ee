import type { DiagnosisTools } from '../../app/diagnose.ts';
import { viewDisks } from '../../providers/gcp/disks.ts';
import { apiOf } from '../../sandbox/gce-sandbox.ts';
import { suspend } from '../../sandbox/gce/instances.ts';
import { forgetDisk, shutdownTakes, stopGuest } from '../../sandbox/gce/scenario.ts';
import { instanceIn } from '../../sandbox/gce/state.ts';
import { nodeNameOf } from '../../sandbox/scenes/gce-database.ts';
import { portsOver, scene } from '../sandbox/gce/gce-runs.ts';
import { clientsOf } from '../sandbox/gce/gce-world.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { toolsWith } from './sandbox-diagnosis.ts';
import { describeIncidents, type Incident, incidentIn } from './incidents.ts';

const onGoogleCloud = (): Incident => {
  const { world, holder, disk } = scene();
  const view: DiagnosisTools['openedCloud']['viewDisks'] = (volumes, signal) =>
    viewDisks(clientsOf(world), volumes, signal);
  const tools = () => toolsWith(clusterIn(world, apiOf(world)), portsOver(world), view);
  return incidentIn(world, nodeNameOf(holder), tools, {
    stop: () => stopGuest(world, holder),
    hang: () => {
      shutdownTakes(world, holder, 3_600_000);
      stopGuest(world, holder);
    },
    suspend: () => {
      const instance = instanceIn(world, holder);
      if (instance) suspend(world, instance);
    },
    deleteDisk: () => forgetDisk(world, disk),
  });
};

describeIncidents('Google Cloud', onGoogleCloud);
