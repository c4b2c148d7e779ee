import { InvalidInput } from '../../fencing/model/errors.ts';
import type { MachineId } from '../../fencing/model/machine.ts';
import { react } from '../../fencing/loop/run.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcome, type Terminal } from '../answer.ts';
import { machineOfNode, quoted } from '../machine-of-node.ts';
import { openCloudsOf, withSession, type CommonOptions, type Session } from '../session.ts';

/** Returns an instance id as it is, or the instance that a Node's name leads to. @throws InvalidInput */
const machineNamed = async (target: string, { openedCloud, ports }: Session): Promise<MachineId> => {
  const machine = openedCloud.cloud.machineOf({ source: 'providerID', driver: null, value: target });
  if (machine !== null) return machine;
  const found = await machineOfNode(target, ports);
  if (!found)
    throw new InvalidInput(
      `${quoted(target)} is neither an instance id nor a Node in ${ports.clusters.map(({ name }) => name).join(', ')}`,
    );
  return found.machine;
};

export const fence = (target: string, options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { policy, deadline, ports } = session;
    const machine = await machineNamed(target, session);
    await openCloudsOf([machine], session);
    const [outcome] = await react([machine], { policy, deadline, newRunId }, ports);
    if (!outcome) throw new InvalidInput('name an instance or a Node');
    return printOutcome(outcome, options.json ?? false, terminal);
  });
