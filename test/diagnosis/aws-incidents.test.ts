import type { DiagnosisTools } from '../../app/diagnose.ts';
import { viewDisks } from '../../providers/aws/disks.ts';
import { apiOf } from '../../sandbox/aws-sandbox.ts';
import { instanceIn } from '../../sandbox/ec2/state.ts';
import { write } from '../../sandbox/history.ts';
import { clusterIn } from '../sandbox/in-process.ts';
import { stage, stopMachine } from '../simulation/incidents.ts';
import { clientsOver, portsOver } from '../simulation/ports.ts';
import { toolsWith } from './sandbox-diagnosis.ts';
import { describeIncidents, type Incident, incidentIn } from './incidents.ts';

const onAws = (): Incident => {
  const { world, scene } = stage(1);
  const { holder, volume } = scene;
  const setHolder = (changes: object): void => {
    const [kept, instance] = [world.parts.ec2.instances[holder], instanceIn(world, holder)];
    if (kept && instance) world.parts.ec2.instances[holder] = { ...kept, present: { ...instance, ...changes } };
  };
  const view: DiagnosisTools['openedCloud']['viewDisks'] = (volumes, signal) =>
    viewDisks(clientsOver(world).reads, volumes, signal);
  const tools = () => toolsWith(clusterIn(world, apiOf(world)), portsOver(world), view);
  return incidentIn(world, scene.nodeOf(holder), tools, {
    stop: () => stopMachine(world, holder),
    hang: () => {
      setHolder({ shutdownTakes: 3_600_000 });
      stopMachine(world, holder);
    },
    suspend: () => {
      stopMachine(world, holder);
      world.advance(25_000);
      setHolder({ canHibernate: true, stateReason: { code: 'Client.UserInitiatedHibernate', message: '' } });
    },
    deleteDisk: () => write(world.parts.ec2.volumes, volume, null, world.now()),
  });
};

describeIncidents('EC2', onAws);
