import { machineNamed, type NamedMachine } from '../../diagnosis/machine-named.ts';
import { InvalidInput } from '../../fencing/model/errors.ts';
import { runAll } from '../../fencing/loop/run.ts';
import { searchPorts } from '../../config/diagnose.ts';
import { newRunId } from '../../config/system.ts';
import { printOutcome, type Terminal } from '../answer.ts';
import { keepByHand } from '../incident-place.ts';
import { openCloudsOf, withSession, type CommonOptions } from '../session.ts';

/** Says which machine a name led to, so that a person sees which machine Cloudfence asks about. */
const sayWhere = (target: string, { machine, cluster, node }: NamedMachine, { complain }: Terminal): void => {
  if (target === machine) return;
  const place = [node === null ? '' : ` on Node ${node}`, cluster === null ? '' : ` in cluster ${cluster}`].join('');
  complain(`${target} leads to ${machine}${place}`);
};

/** Looks at one machine and fences it if it is off. The target is its id, or an object that leads to it. */
export const fence = (target: string, options: CommonOptions, terminal: Terminal): Promise<number> =>
  withSession(options, terminal, async (session) => {
    const { policy, deadline, ports, openedCloud, clusters: openClusters } = session;
    const named = await machineNamed(target, searchPorts({ openedCloud, openClusters, ports }));
    sayWhere(target, named, terminal);
    await openCloudsOf([named.machine], session);
    const [outcome] = await runAll([named.machine], { policy, deadline, newRunId }, ports);
    if (!outcome) throw new InvalidInput('name an instance or a Node');
    const code = printOutcome(outcome, options.json ?? false, terminal);
    await keepByHand('fence', [outcome], session, terminal);
    return code;
  });
