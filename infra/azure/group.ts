import { z } from 'zod';
import { Refused } from '../../fencing/model/errors.ts';
import { DEPLOYMENTS_API } from './arm-template.ts';
import type { Arm } from './arm.ts';
import { OURS, type Install } from './install.ts';

/** The group of an install: everything in it goes with it, so it has to be ours. */

const group = z.object({ tags: z.record(z.string(), z.string()).nullish() });

/** Whether it is there. @throws Refused when it is, and does not bear our tag: it is somebody else's, to fill as much as to remove */
export const ownGroupStands = async (arm: Arm, { names, prefix }: Install): Promise<boolean> => {
  const answer = await arm.find({ method: 'GET', path: `${names.groupId}?api-version=${DEPLOYMENTS_API}` });
  if (answer === null) return false;
  if (group.parse(answer.body).tags?.[OURS] === prefix) return true;
  throw new Refused(`the resource group ${names.group} does not bear our tag ${OURS}: ${prefix}, so nothing was changed. If it is this install's, put the tag back on it; if it is not, choose another stage`);
};
