import type { DiagnosisTools } from '../../app/diagnose.ts';
import { viewDisks } from '../../providers/azure/disks.ts';
import { apiOf, SANDBOX_SUBSCRIPTION } from '../../sandbox/azure-sandbox.ts';
import { deallocate } from '../../sandbox/azure/machines.ts';
import { shutdownTakes } from '../../sandbox/azure/scenario.ts';
import { diskIn } from '../../sandbox/azure/state.ts';
import { write } from '../../sandbox/history.ts';
import { nodeNameOf } from '../../sandbox/scenes/azure-database.ts';
import { change, portsOver, scene } from '../sandbox/azure/azure-runs.ts';
import { clientsOf } from '../sandbox/azure/azure-world.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { toolsWith } from './sandbox-diagnosis.ts';
import { describeIncidents, type Incident, incidentIn } from './incidents.ts';

const onAzure = (): Incident => {
  const { world, holder, disk } = scene([{ canHibernate: true }, { canHibernate: true }]);
  const clients = clientsOf(world, { subscription: SANDBOX_SUBSCRIPTION });
  const view: DiagnosisTools['openedCloud']['viewDisks'] = (volumes, signal) => viewDisks(clients, volumes, signal);
  const tools = () => toolsWith(clusterIn(world, apiOf(world)), portsOver(world, 100), view);
  return incidentIn(world, nodeNameOf(world, holder), tools, {
    stop: () => change(world, holder, deallocate, 0),
    hang: () => {
      shutdownTakes(world, holder, null);
      change(world, holder, deallocate, 0);
    },
    suspend: () => change(world, holder, (at, machine) => deallocate(at, machine, true), 0),
    deleteDisk: () => {
      if (diskIn(world, disk)) write(world.parts.azure.disks, disk, null, world.now());
    },
  });
};

describeIncidents('Azure', onAzure);
