import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { diagnosisPermissions } from '../../kubernetes/doctor.ts';
import { rollout } from './scenes.ts';
import { nodeGone, stopped } from '../simulation/incidents.ts';
import { diagnoseSandbox } from './ec2-diagnosis.ts';

/** infra/kubernetes/diagnose-rbac.yaml grants every read of a diagnosis, and no other. */

const role = z.object({
  kind: z.literal('ClusterRole'),
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});

const granted = (): ReadonlySet<string> => {
  const text = readFileSync(new URL('../../infra/kubernetes/diagnose-rbac.yaml', import.meta.url), 'utf8');
  const rules = parseAllDocuments(text).flatMap((document) => role.safeParse(document.toJS()).data?.rules ?? []);
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
      ),
    ),
  );
};

const PATH = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/?]+))?(?:\?.*)?$/;

const readOf = (path: string): string => {
  const [, group = '', resource = '', name] = PATH.exec(path) ?? [];
  return `${name === undefined ? 'list' : 'get'} ${group}/${resource}`;
};

it('grants what a diagnosis reads', async () => {
  const asked = new Set<string>();
  const watching = {
    api: {
      before: ({ path }: { readonly path: string }) => {
        if (path !== '/version') asked.add(readOf(path));
        return undefined;
      },
    },
  };
  const surge = rollout();
  for (const target of [undefined, `node/${surge.node}`, surge.disk, 'pvc/default/app-data'])
    await diagnoseSandbox(surge.world, target, watching);
  for (const { world } of [stopped(), nodeGone()]) {
    world.advance(120_000);
    await diagnoseSandbox(world, 'pod/default/db-0', watching);
  }
  const more = [...asked].filter((one) => !granted().has(one) && !one.includes('configmaps'));
  expect(more).toEqual([]);
  expect([...granted()].filter((one) => !asked.has(one))).toEqual(['list csiaddons.openshift.io/networkfences']);
});

it('grants what the doctor checks, and NetworkFences, which few clusters have', () => {
  const checked = diagnosisPermissions.map(({ verb, group, resource }) => `${verb} ${group}/${resource}`);
  expect([...checked, 'list csiaddons.openshift.io/networkfences'].toSorted()).toEqual([...granted()].toSorted());
});
