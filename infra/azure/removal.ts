import type { Say } from '../serverless/deployer.ts';
import { AUTHORIZATION_API } from './access.ts';
import { DEPLOYMENTS_API } from './arm-template.ts';
import type { Arm } from './arm.ts';
import { forgetDeployment } from './deployment.ts';
import { ownGroupStands } from './group.ts';
import type { Install } from './install.ts';
import { removeAssignments, removeStaleAssignments } from './leftovers.ts';
import { carriedOut } from './operation.ts';
import { roleNames } from './roles.ts';
import { EVENT_GRID_API } from './topics.ts';

const gone = async (arm: Arm, path: string, say: Say): Promise<void> => {
  if ((await arm.find({ method: 'GET', path })) === null) return;
  await carriedOut(arm, { method: 'DELETE', path });
  say(`${path.split('?')[0]}: removed`);
};

/** First nothing comes any more; last what the functions worked with. */
export const remove = async (arm: Arm, install: Install, say: Say): Promise<void> => {
  const { names, parameters, prefix } = install;
  const hasGroup = await ownGroupStands(arm, install);
  if (parameters.systemTopic !== null) await gone(arm, `${parameters.systemTopic}/eventSubscriptions/${prefix}?api-version=${EVENT_GRID_API}`, say);
  await removeAssignments(arm, install, null, say);
  await removeStaleAssignments(arm, install, say);
  for (const role of roleNames) await gone(arm, `${names.roleId(role)}?api-version=${AUTHORIZATION_API}`, say);
  if (hasGroup) await gone(arm, `${names.groupId}?api-version=${DEPLOYMENTS_API}`, say);
  await forgetDeployment(arm, install);
};
